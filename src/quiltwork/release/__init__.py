"""A plan run on data: contribution bounds enforced, one scan, integer sums, OpenDP's noise, paid for beforehand."""

from quiltwork.release.released import Released

__all__ = ["Released"]
