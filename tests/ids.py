"""Names of test cases that are the same in every process, so that several may share the work."""

import re


def named(value: object) -> str:
    """The repr of a value without addresses.

    >>> named(object())
    '<object object>'
    """
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
