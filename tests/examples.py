"""How many examples hypothesis draws: as many as a test asks for, scaled by HYPOTHESIS_PROFILE."""

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
SHARES = {"ci": 0.4, "dev": 0.15, "default": 1.0, "campaign": 20.0}
FEWEST = 5


def examples(number):
    """This many examples under the profile `default`, fewer in `ci`, many more in a campaign."""
    return max(min(number, FEWEST), round(number * SHARES.get(PROFILE, 1.0)))
