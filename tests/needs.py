"""Optional packages that tests need: they are looked for when tests are collected, and loaded when they run."""

from importlib import import_module
from importlib.util import find_spec

import pytest


def needs(*packages):
    """A mark for tests, or a module's `pytestmark`: skipped, with the reason, where one of these is not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


class Later:
    """A package that is loaded when a name is first taken from it; pytest looks for private ones in all it collects."""

    def __init__(self, package):
        self._package = package

    def __getattr__(self, name):
        if name.startswith("_") and name != "_":
            raise AttributeError(name)
        return getattr(import_module(self._package), name)
