"""Settings shared by every test.

Choose how hypothesis searches with HYPOTHESIS_PROFILE: `default` draws new examples on every run, `ci` draws the same
ones each time and prints how to reproduce a failure, `dev` is a quick look while writing code.
"""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("dev", deadline=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
