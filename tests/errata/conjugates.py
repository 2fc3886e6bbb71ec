"""Conjugates of maxima of lines, with the corners that exist."""

import math


def conjugate(lines, s):
    """Proposition 5, corrected: corners t_1 ... t_(m-1) only; one line has its conjugate at its own slope alone."""
    slopes, offsets = zip(*lines, strict=True)
    if not slopes[0] <= s <= slopes[-1]:
        return math.inf
    if len(lines) == 1:
        return -offsets[0]
    corners = [-(lines[j + 1][1] - lines[j][1]) / (lines[j + 1][0] - lines[j][0]) for j in range(len(lines) - 1)]
    return max(t * s - max(a * t + b for a, b in lines) for t in corners)
