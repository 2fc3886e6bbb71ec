"""A plan run on data: contribution bounds enforced, one scan, integer sums, OpenDP's noise, paid for beforehand."""

from quiltwork.release.channel import release_channel
from quiltwork.release.least_squares import consistent
from quiltwork.release.released import Released

__all__ = ["Released", "consistent", "release_channel"]
