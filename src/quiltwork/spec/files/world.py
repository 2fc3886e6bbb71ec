"""`WorldFile`: how secret and data hang together, what was released, and what the next release must keep."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from quiltwork.confounding.design.costs import NAMED, cost_of
from quiltwork.confounding.finite.channels import (
    independent,
    noise_channel,
    randomized_response,
    refuse_large,
    repeated,
)
from quiltwork.confounding.finite.joint import READS
from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.line.readings import KINDS
from quiltwork.confounding.world import World
from quiltwork.kinds import not_written
from quiltwork.numbers.laws import Laws, laws
from quiltwork.spec.fields.fields import (
    Choice,
    Count,
    Positive,
    Rate,
    Strict,
    Words,
    distinct,
    distinct_entries,
    located,
    refused,
)
from quiltwork.spec.fields.matrices import beside
from quiltwork.spec.fields.worlds import (
    ChanceTable,
    Data,
    Number,
    Numbers,
    Pairs,
    Secrets,
    Strength,
    exactly,
    pairs_of,
    word_or_table,
)
from quiltwork.spec.files.file import File
from quiltwork.spec.text.document import shown
from quiltwork.spec.text.read import made_from, parse_as, read_as
from quiltwork.spec.text.schema import model_schema

MOST_USES = 1_000_000

# ---- what was released before


class RandomizedResponse(Strength):
    """The true value with odds e^epsilon against each other value; `odds` states e^epsilon as a fraction."""

    def channel(self, values: tuple[Fraction, ...]) -> Any:
        """P(y | x)."""
        size, odds = len(values), self.exact_odds
        if odds is None:
            return randomized_response(size, self.epsilon or 0.0)
        lie = 1 / (odds + size - 1)
        return [[odds * lie if i == j else lie for j in range(size)] for i in range(size)]


class GridNoise(Strict):
    """Noise rounded to a grid: P(y | x) falls with |x - y| / scale (laplace) or its square (gaussian)."""

    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
    scale: Positive
    outputs: Numbers | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.kind not in KINDS:
            raise refused(f"must be {' or '.join(KINDS)}, got {shown(self.kind)}", ("kind",))
        return self

    def channel(self, values: tuple[Fraction, ...]) -> Any:
        """P(y | x); the outputs are the values of the data, unless said."""
        outputs = values if self.outputs is None else tuple(map(exactly, self.outputs))
        return noise_channel([float(x) for x in values], [float(y) for y in outputs], self.scale, self.kind)


class Joint(Strict):
    """Several outputs with a stated joint law: columns run over all of them, the last one fastest."""

    table: ChanceTable
    outputs: Annotated[tuple[Count, ...], Field(strict=False, min_length=2, max_length=64)]
    names: Annotated[tuple[Words, ...], Field(strict=False, min_length=2), AfterValidator(distinct)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if math.prod(self.outputs) != len(self.table[0]):
            problem = f"must be numbers whose product is {len(self.table[0])}, the columns of the table"
            raise refused(f"{problem}, got {shown(self.outputs)}", ("outputs",))
        if self.names is not None and len(self.names) != len(self.outputs):
            raise refused(f"must have {len(self.outputs)} names, one for each output", ("names",))
        return self


class Existing(Choice):
    """A mechanism that read the data: a table P(y | x), or one by name; used `times` times with fresh noise."""

    noun: ClassVar[str] = "kind of release"
    beside: ClassVar[frozenset[str]] = frozenset({"name", "times", "note"})

    name: Words
    table: ChanceTable | None = None
    randomized_response: RandomizedResponse | None = None
    noise: GridNoise | None = None
    joint: Joint | None = None
    times: Annotated[int, Field(ge=1, le=MOST_USES)] = 1
    note: Words | None = None

    def channel(self, values: tuple[Fraction, ...]) -> Laws:
        """One use of it, all its outputs together."""
        if self.table is not None or self.joint is not None:
            rows = self.table if self.table is not None else self.joint.table if self.joint is not None else ()
            if len(rows) != len(values):
                problem = f"must have {len(values)} rows, one for each value of the data, got {len(rows)}"
                raise refused(problem, ("table",) if self.table is not None else ("joint", "table"))
            return laws("channel", rows)
        with located(self.kind, fields={name: name for name in ("epsilon", "scale", "outputs")}):
            return laws("channel", self.chosen.channel(values))

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """How many outputs each part of a joint law has; None for a single one."""
        return None if self.joint is None else self.joint.outputs

    def part_names(self) -> tuple[str, ...]:
        """What each output is called."""
        if self.joint is None:
            return (self.name,)
        own = self.joint.names or tuple(f"output {index + 1}" for index in range(len(self.joint.outputs)))
        return tuple(f"{self.name}, {name}" for name in own)


@not_written("it belongs to a world file", "write the file: WorldFile.to_yaml()")
class Used(Release):
    """Mechanisms of a file, each used some number of times with fresh noise.

    The uses of one mechanism are seen through how often each output came, which loses nothing; what ignoring the
    confounder assumes is independence of every single use given the secret.
    """

    def __init__(self, world: World, mechanisms: tuple[Mechanism, ...]) -> None:
        self.mechanisms = mechanisms
        tables = [one.table for one in mechanisms]
        parts = [part for one in mechanisms for part in one.parts]
        words = ", ".join(one.name for one in mechanisms)
        super().__init__(world, independent(*tables), [part.shape[1] for part in parts], parts, words)

    @property
    def uses(self) -> int:
        """How many outputs are seen, counting every use."""
        return sum(one.times * len(one.single) for one in self.mechanisms)

    def product(self) -> Laws:
        """The law of outputs if every use drew on its own given the secret."""
        effective = [
            repeated(self.world.laws.through(part), one.times) for one in self.mechanisms for part in one.single
        ]  # fmt: skip
        return independent(*effective)


class Mechanism:
    """One entry of the file in tables: its outputs together and one by one, for one use and for all."""

    def __init__(self, world: World, entry: Existing, values: tuple[Fraction, ...]) -> None:
        self.name, self.names, self.times = entry.name, entry.part_names(), entry.times
        once = entry.channel(values)
        release = world.release(once) if entry.sizes is None else world.release(joint=once, outputs=entry.sizes)
        self.single = tuple(release.part(index) for index in range(len(self.names)))
        self.table = once if self.times == 1 else repeated(once, self.times)
        self.parts = self.single if self.times == 1 else (self.table,)


# ---- the file

_COSTS = tuple(NAMED)
if TYPE_CHECKING:
    Cost = Any
else:
    Cost = word_or_table(_COSTS, "a table with a row for each input")


class WorldTarget(Strength):
    """What everything together must keep: epsilon, or odds = e^epsilon as a fraction, at delta."""

    delta: Number = 0

    @model_validator(mode="after")
    def _holds(self) -> Self:
        if not 0 <= self.share < 1:
            raise refused(f"must be a number in [0, 1), got {shown(self.delta)}", ("delta",))
        return self

    @property
    def share(self) -> Fraction:
        """delta as it was typed."""
        return exactly(self.delta)


class Options(Strict):
    """How the search goes: when it stops, on how many clusters of earlier outputs, and whether in fractions."""

    time_limit: Positive | None = None
    gap: Rate = 1e-6
    clusters: Count | None = None
    exact: bool = False


class WorldFile(File):
    """A world file."""

    title: Words = "A secret and its data"
    assumes: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    secrets: Secrets
    data: Data
    pairs: Pairs = "all"
    existing: Annotated[tuple[Existing, ...], Field(strict=False)] = ()
    target: WorldTarget | None = None
    channel: ChanceTable | None = None
    cost: Cost = "squared"
    outputs: Numbers | None = None
    reads: Annotated[str, Field(json_schema_extra={"enum": list(READS)})] = "data"
    options: Options = Options()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        self._laws_fit()
        with located("pairs"):
            pairs_of(self.pairs, self.secrets.names)
        with located(fields={"pairs": "pairs", "data": "data", "values": "data", "secret": "secrets"}):
            world = self.world
        distinct_entries(self.existing, "release", "existing")
        total = 1.0
        for index, entry in enumerate(self.existing):
            with located("existing", index):
                outputs = entry.channel(world.exact_values).shape[1]
                total *= _counted(entry.times, outputs)
                refuse_large(world.inputs, total)
        if self.reads not in READS:
            raise refused(f"must be {', '.join(READS[:-1])}, or {READS[-1]}, got {shown(self.reads)}", ("reads",))
        with located(fields={"cost": "cost", "outputs": "outputs"}):
            self._priced(world, round(total))
        return self

    def _laws_fit(self) -> None:
        count = len(self.secrets.names)
        several = self.data.any_of is not None
        if self.secrets.prior is not None and len(self.secrets.prior) != count:
            raise refused(f"must have {count} entries, one for each secret", ("secrets", "prior"))
        for index, law in enumerate(self.data.laws):
            at = ("data", "any_of", index) if several else ("data",)
            if len(law.given_secret) != count:
                problem = f"must have {count} rows, one for each secret, got {len(law.given_secret)}"
                raise refused(problem, (*at, "given_secret"))
            if law.prior is not None and len(law.prior) != count:
                raise refused(f"must have {count} entries, one for each secret", (*at, "prior"))

    def _priced(self, world: World, outputs: int) -> None:
        """What the cost and the outputs must look like."""
        inputs = {"data": world.inputs, "secret": world.count}.get(self.reads, world.inputs * outputs)
        if not isinstance(self.cost, str) and len(self.cost) != inputs:
            problem = f"must be a table of {inputs:,} rows, one for each input that the new mechanism reads"
            raise refused(f"{problem} ({self.reads}), got {len(self.cost):,}", ("cost",))
        if self.outputs is not None and not isinstance(self.cost, str) and len(self.cost[0]) != len(self.outputs):
            problem = f"must have {len(self.cost[0])} numbers, one for each column of the cost, got {len(self.outputs)}"
            raise refused(problem, ("outputs",))
        if not isinstance(self.cost, str):
            cost_of(self.cost, (Fraction(0),) * inputs, self.outputs)

    @cached_property
    def world(self) -> World:
        """The world itself."""
        laws = self.data.laws
        tables = [law.given_secret for law in laws]
        names = self.secrets.names
        even = [f"1/{len(names)}"] * len(names)
        priors = [law.prior or self.secrets.prior or even for law in laws]
        return World(
            secret=priors,
            data=tables[0] if len(tables) == 1 else tables,
            pairs=pairs_of(self.pairs, names),
            values=self.data.numbers,
            secrets=names,
            data_names=self.data.labels,
        )

    def release(self) -> Release:
        """Everything that was released before."""
        if not self.existing:
            nothing: Release = self.world.release()
            return nothing
        return Used(self.world, tuple(Mechanism(self.world, one, self.world.exact_values) for one in self.existing))


def _counted(times: int, outputs: int) -> float:
    """How many results so many uses have, when only how often each output came is seen."""
    logs = math.lgamma(times + outputs) - math.lgamma(outputs) - math.lgamma(times + 1)
    return float(math.comb(times + outputs - 1, outputs - 1)) if logs < math.log(1e15) else math.inf


def read_world(path: str | os.PathLike[str]) -> WorldFile:
    """The world in a YAML or JSON file; a table may stand in a CSV file beside it."""
    with beside(Path(path).parent):
        return read_as(WorldFile, path)


def parse_world(text: str) -> WorldFile:
    """The world in a YAML or JSON text."""
    return parse_as(WorldFile, text)


def world_from(value: Mapping[str, Any]) -> WorldFile:
    """The world in plain values, such as `WorldFile.to_dict` gives."""
    return made_from(WorldFile, value)


def world_schema() -> dict[str, Any]:
    """JSON Schema of a world file."""
    return model_schema(WorldFile, "quiltwork world")
