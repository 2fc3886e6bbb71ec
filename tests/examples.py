"""How many examples a test draws: as many as it asks for, scaled by HYPOTHESIS_PROFILE."""

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
SHARES = {"ci": 0.15, "dev": 0.1, "default": 1.0, "campaign": 20.0}
FEWEST = 5


def examples(number):
    """This many examples under the profile `default`, fewer in `ci`, many more in a campaign."""
    return max(min(number, FEWEST), round(number * SHARES.get(PROFILE, 1.0)))


def some(cases, number):
    """So many of these cases, evenly among them from the first to the last; all under `default` and in a campaign."""
    cases = list(cases)
    if SHARES.get(PROFILE, 1.0) >= 1.0 or number >= len(cases):
        return cases
    return [cases[round(at * (len(cases) - 1) / max(number - 1, 1))] for at in range(number)]


def seeds(number, least=2):
    """The seeds of a test that draws its case by itself: this many under `default`, no fewer than `least` in `ci`."""
    return range(max(min(number, least), round(number * SHARES.get(PROFILE, 1.0))))
