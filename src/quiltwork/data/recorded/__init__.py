"""Recorded people: the files of Foursquare and Capture24 as they are published, read by their own rules."""

from quiltwork.data.recorded.capture24 import capture24
from quiltwork.data.recorded.foursquare import foursquare
from quiltwork.data.recorded.recorded import Recorded

__all__ = ["Recorded", "capture24", "foursquare"]
