"""Sequences of people in tables of any size: counts on DuckDB or Spark.

Counts are facts about the data and carry no privacy.  A prior that is fitted on the same private data is itself a
function of the secrets: what is then proved under that prior is no guarantee.
"""

from quiltwork.data.counts import Counts, Lengths, Tally
from quiltwork.data.engines.engine import Engine
from quiltwork.data.recorded import Recorded, capture24, foursquare
from quiltwork.data.sequences import Sequences

__all__ = ["Counts", "Engine", "Lengths", "Recorded", "Sequences", "Tally", "capture24", "foursquare"]
