"""A world: how the secret, the data and the pairs of secrets that must not be told apart hang together.

The secret is not a row of the data; it is related to them by a law P(data | secret).  Several such laws can be given at
once, and every answer then holds under each of them.

Reference: seed 000 section II; theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.finite.channels import channel, independent, refuse_large, stacked_fractions
from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.pairs import ordered_pairs, protected, unordered
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import Laws, laws
from quiltwork.numbers.stated import fraction

if TYPE_CHECKING:
    from quiltwork.compose.loss import Loss
    from quiltwork.confounding.bounds import Amplified
    from quiltwork.confounding.design.design import Design
    from quiltwork.confounding.line.world import ContinuousWorld
    from quiltwork.confounding.papers.penalty import Penalised
    from quiltwork.curves.guarantee import Guarantee

MAX_VALUE = Fraction(10) ** 100  # of a value of the data from zero


class World:
    """P(secret), P(data | secret) and the protected pairs of secrets, on finite sets.

    `secret` is the prior of the secrets (it weighs costs, and a secret of probability zero is in no pair); `data` has a
    row P(x | s) for each secret, or several such tables stacked, one for each prior that may be true.  `values` are the
    numbers that the values of the data stand for (0, 1, 2, ... if not given).

    >>> world = World(secret=["1/2", "1/2"], data=[["3/4", "1/4"], ["1/4", "3/4"]])
    >>> world.release([["9/10", "1/10"], ["1/10", "9/10"]]).exact_odds()
    Fraction(7, 3)
    """

    def __init__(
        self,
        secret: Any = None,
        data: Any = None,
        pairs: Any = "all",
        *,
        values: Any = None,
        secrets: Sequence[str] | None = None,
        data_names: Sequence[str] | None = None,
    ) -> None:
        if data is None:
            raise InvalidParameter("data", None, "a table P(data | secret), one row for each secret")
        tables = _stacked(data)
        self.priors, self.count = len(tables), tables[0].shape[0]
        self.laws = _joined(tables)
        self.secret = _prior(secret, self.priors, self.count)
        self.exact_values = _values(values, self.laws.shape[1])
        self.values = np.array([float(value) for value in self.exact_values])
        self.secrets = _names("secrets", secrets, self.count, "secret")
        self.data_names = _names("data_names", data_names, self.laws.shape[1], "value")
        blocks = [
            ordered_pairs(pairs, self.count, self.secret.possible[theta], self.secrets) + theta * self.count
            for theta in range(self.priors)
        ]
        self.ordered = np.vstack(blocks)
        self.ordered.setflags(write=False)

    # ---- constructors of continuous worlds

    @staticmethod
    def gaussian(means: Any, sd: Any, *, secret: Any = None, pairs: Any = "all") -> ContinuousWorld:
        """Data that are normal given the secret: numbers or vectors, one standard deviation or a covariance."""
        from quiltwork.confounding.line.world import gaussian_world

        return gaussian_world(means, sd, secret=secret, pairs=pairs)

    @staticmethod
    def mixture(laws: Any, *, secret: Any = None, pairs: Any = "all") -> ContinuousWorld:
        """Data on the line whose law given each secret is a mixture of densities with known distribution functions."""
        from quiltwork.confounding.line.world import mixture_world

        return mixture_world(laws, secret=secret, pairs=pairs)

    # ---- words

    @property
    def inputs(self) -> int:
        """How many values the data can take."""
        return self.laws.shape[1]

    @property
    def data(self) -> FloatArray:
        """P(data | secret) as floats: one row for each secret, prior after prior."""
        return self.laws.values

    @cached_property
    def data_law(self) -> FloatArray:
        """P(data) under each prior, as floats: what costs are weighed with."""
        table = self.data.reshape(self.priors, self.count, self.inputs)
        return np.asarray(np.einsum("ts,tsx->tx", self.secret.values, table))

    @property
    def protects(self) -> str:
        """Which secrets are not told apart."""
        return protected(self.ordered, self.secrets)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What every number of this world rests on."""
        which = "the stated law" if self.priors == 1 else f"one of the {self.priors} stated laws"
        return (
            f"the data follow {which} given the secret; another law would give other numbers",
            "the mechanisms see the data only, draw from the stated tables, and nothing else is released",
        )

    def row_name(self, row: int) -> str:
        """A secret, and the prior it is under when there are several."""
        name = self.secrets[row % self.count]
        return name if self.priors == 1 else f"{name} (prior {row // self.count})"

    # ---- evaluation

    def release(self, *channels: Any, joint: Any = None, outputs: Sequence[int] | None = None) -> Any:
        """What these mechanisms tell together.

        Channels are tables P(y | x), independent given the data; `joint` is one table for mechanisms of any dependence,
        its columns in the order of itertools.product over `outputs` (the number of outputs of each).  Noise values
        (`quiltwork.confounding.line.readings`) give continuous outputs on `values`.
        """
        if joint is not None:
            if channels:
                raise InvalidParameter("channels", "channels and joint", "either channels or joint")
            return self._joint(channel("joint", joint, self.inputs), outputs)
        if outputs is not None:
            raise InvalidParameter("outputs", outputs, "given with joint only")
        if not channels:
            nothing = laws("nothing", [["1"]] * self.inputs)
            return Release(self, nothing, (1,), (nothing,), "nothing")
        from quiltwork.confounding.line.readings import Noise

        noises = [value for value in channels if isinstance(value, Noise)]
        if noises:
            return self._noisy(noises, len(channels))
        tables = [channel(f"channel {index}", value, self.inputs) for index, value in enumerate(channels)]
        refuse_large(self.inputs, math.prod(float(table.shape[1]) for table in tables))
        uses = sum(1 if table.uses is None else table.uses[1] for table in tables)
        words = "one mechanism" if uses == 1 else f"{uses} mechanisms, independent given the data"
        return Release(self, independent(*tables), [table.shape[1] for table in tables], tables, words)

    def _joint(self, table: Laws, outputs: Sequence[int] | None) -> Release:
        asked = [table.shape[1]] if outputs is None else checks.listed("outputs", outputs)
        sizes = [checks.count("outputs", size, least=1) for size in asked]
        if math.prod(sizes) != table.shape[1]:
            raise InvalidParameter("outputs", tuple(sizes), f"numbers whose product is {table.shape[1]}, the columns")
        words = "one joint mechanism" if len(sizes) == 1 else f"{len(sizes)} mechanisms with a stated joint law"
        return Release(self, table, sizes, None, words)

    def _noisy(self, noises: list[Any], count: int) -> Any:
        from quiltwork.confounding.line.world import noisy

        if len(noises) != count:
            raise InvalidParameter("channels", "tables and noises", "either tables or noises")
        return noisy(self, noises)

    def bound(self, loss: Loss | Guarantee, *, distance: Any = None) -> Amplified:
        """The guarantee about the secret of any composition that is private for the data (Theorem B).

        `loss` is what the mechanisms lose between any two values of the data, as the engine composes it; with
        `distance` (a table of whole numbers, or a function of two values) it is the loss between values at distance
        one, and farther values are groups. A guarantee of a table plan for one changed record is taken as it is: the
        data are then the content of that record.
        """
        from quiltwork.confounding.bounds import Amplified

        return Amplified(self, loss, distance)

    # ---- design

    def design(self, existing: Release | None = None, **options: Any) -> Design:
        """The next mechanism: the cheapest with which everything together meets (epsilon, delta).

        See `quiltwork.confounding.design.design.design` for the options.
        """
        from quiltwork.confounding.design.design import design

        return design(self, existing, **options)

    def calibrated(self, existing: Release | None = None, **options: Any) -> Design:
        """The best mechanism of a family of noise; see `quiltwork.confounding.design.noise_families.calibrated`."""
        from quiltwork.confounding.design.noise_families import calibrated

        return calibrated(self, existing, **options)

    def certified(self, channel: Any, existing: Release | None = None, **options: Any) -> Design:
        """A channel that was found elsewhere, learned for example, made to meet (epsilon, delta).

        It is rounded, and mixed with one that tells nothing as far as it takes.  Options as for `design`: epsilon or
        odds, delta, cost, outputs, reads.
        """
        from quiltwork.confounding.design.given_channel import certified

        return certified(self, channel, existing, **options)

    def penalised(self, existing: Release | None = None, **options: Any) -> Penalised:
        """The same task by the penalty method, to compare with; never certified.  Options as for `design`."""
        from quiltwork.confounding.papers.penalty import penalised_design

        return penalised_design(self, existing, options)

    def __repr__(self) -> str:
        many = "" if self.priors == 1 else f", {self.priors} priors"
        return f"<World: {self.count} secrets, {self.inputs} values of the data{many}>"


def _stacked(data: Any) -> list[Laws]:
    """One table, or several of one shape."""
    if isinstance(data, Laws):
        return [data]
    if isinstance(data, list) and data and all(isinstance(table, Laws) for table in data):
        if len({table.shape for table in data}) > 1:
            raise InvalidParameter("data", [table.shape for table in data], "tables of one shape")
        return data
    try:
        deep = np.ndim(data) == 3
    except ValueError:
        deep = False
    tables = [laws("data", table, row_word="secret") for table in data] if deep else [laws("data", data)]
    if not tables:
        raise InvalidParameter("data", "no table", "a table P(data | secret), or several")
    if tables[0].shape[0] < 2:
        raise InvalidParameter("data", f"{tables[0].shape[0]} secret", "at least two secrets, a row each")
    return tables


def _joined(tables: list[Laws]) -> Laws:
    if len(tables) == 1:
        return tables[0]

    low, high = (np.vstack([getattr(table, end) for table in tables]) for end in ("low", "high"))
    return Laws(low, high, None, lambda: stacked_fractions(tables, np.vstack))


def _prior(secret: Any, priors: int, count: int) -> Laws:
    if secret is None:
        secret = [["1/" + str(count)] * count]
    elif not isinstance(secret, Laws):
        secret = checks.listed("secret", secret)
        nested = bool(secret) and not isinstance(secret[0], str) and hasattr(secret[0], "__iter__")
        secret = secret if nested else [secret]
    table = laws("secret", secret)
    if table.shape[1] != count:
        raise InvalidParameter("secret", f"{table.shape[1]} probabilities", f"{count}, one for each secret")
    if table.shape[0] == 1 and priors > 1:
        table = table.rows([0] * priors)
    if table.shape[0] != priors:
        raise InvalidParameter("secret", f"{table.shape[0]} priors", f"{priors}, one for each table of the data")
    return table


def _values(values: Any, count: int) -> tuple[Fraction, ...]:
    """The numbers that the data stand for, as they were typed."""
    if values is None:
        return tuple(Fraction(index) for index in range(count))
    given = checks.listed("values", values)
    if len(given) != count:
        raise InvalidParameter("values", f"{len(given)} numbers", f"{count}, one for each value of the data")
    read = [fraction(value) for value in given]
    if any(value is None or abs(value) > MAX_VALUE for value in read):
        raise InvalidParameter("values", values, "numbers of size at most 1e100")
    return tuple(value for value in read if value is not None)


def _names(name: str, given: Sequence[str] | None, count: int, word: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{word} {index}" for index in range(count))
    names = tuple(checks.text(f"a name in {name}", str(part)) for part in checks.listed(name, given))
    if len(names) != count:
        raise InvalidParameter(name, f"{len(names)} names", f"{count}")
    if len(set(names)) != count:
        raise InvalidParameter(name, names, "different names")
    return names


# ---- as a document


def _written(world: World) -> dict[str, Any]:
    rows = [slice(start, start + world.count) for start in range(0, world.priors * world.count, world.count)]
    return {
        "secret": world.secret,
        "data": tuple(world.laws.rows(part) for part in rows) if world.priors > 1 else (world.laws,),
        "pairs": tuple(unordered(world.ordered, world.count)),
        "values": world.exact_values,
        "secrets": world.secrets,
        "data_names": world.data_names,
    }


def _read(data: tuple[Any, ...], **fields: Any) -> World:
    return World(data=data[0] if len(data) == 1 else list(data), **fields)


document("world/1", fields="data", optional="secret pairs values secrets data_names", write=_written, read=_read)(World)
