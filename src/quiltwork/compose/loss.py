"""`Loss`: the immutable symbolic value that users hold. Nothing is computed until a question is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose.accountant.directions import ask
from quiltwork.compose.neighbors import check_neighbors, usual_words
from quiltwork.compose.releases import DIRECTIONS, Part, merged
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import BaseCurve, Ends, Question
from quiltwork.curves.guarantee import Guarantee, same_words
from quiltwork.curves.polygons.region import Region
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.losses.family import Family, family_from_json
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import Stated, typed_above

SCHEMA = "quiltwork/loss/1"


@document("loss/1", plain=True)
@attrs.frozen(eq=False, repr=False)
class Loss(BaseCurve):
    """Everything released so far, or about to be: a multiset of releases, and which neighbouring change is meant.

    `side` is "worst" (both adding and removing a record), "remove" or "add". `neighbors` says in words for which change
    of the data the losses were stated, where somebody said so (`stated_for`); what was stated for different changes is
    not composed.

    Parameters
    ----------
    parts
        Releases with counts; the functions that make losses fill them.
    side
        "worst", or the direction "remove" or "add".
    neighbors
        The change of the data that it was stated for, in words.

    Raises
    ------
    InvalidParameter
        A part is no release.

    Examples
    --------
    >>> from quiltwork import laplace
    >>> loss = 20 * laplace(10.0)
    >>> loss.count, round(loss.epsilon(1e-6).safe, 3)
    (20, 1.774)
    """

    parts: tuple[Part, ...] = attrs.field(converter=merged)
    side: str = "worst"
    neighbors: str = ""

    @classmethod
    def of(cls, family: Family) -> Loss:
        """One release."""
        return cls((Part(family, 1),))

    # ---- questions (this makes a Loss a Curve)

    def epsilon(self, delta: Any, *, rtol: float = 1e-3, method: str | None = None) -> Bracket:
        """The smallest epsilon >= 0 with delta(epsilon) <= delta; +inf when there is none."""
        return self._answer(Question.read("epsilon", delta, rtol, method=method))

    def delta(self, epsilon: Any, *, rtol: float = 1e-3, method: str | None = None) -> Bracket:
        """The hockey-stick divergence at e^epsilon; epsilon may be any real, or infinite."""
        return self._answer(Question.read("delta", epsilon, rtol, method=method))

    def beta(self, alpha: Any, *, method: str | None = None) -> Bracket:
        """The least type II error of a test of type I error alpha."""
        return self._answer(Question.read("beta", alpha, method=method))

    def _ends(self, question: Question) -> Ends:
        if any(part.family.several for part in self.parts):
            from quiltwork.compose.worst_vector import worst_ends

            return worst_ends(question, self)
        return ask(question, self.parts, self.side)

    def as_loss(self) -> Loss:
        """What a guarantee with this curve costs: the loss itself."""
        return self

    def to_prove(self) -> Loss:
        """What a proof of its answers is about: the loss itself."""
        return self

    def advantage(self, *, rtol: float = 1e-3) -> Bracket:
        """The largest advantage of a membership attacker, true minus false positive rate: the total variation."""
        return self.delta(0.0, rtol=rtol)

    def bayes_risk(self, prior: float, *, rtol: float = 1e-3) -> Bracket:
        """The least probability of a wrong guess when one of the two worlds has probability `prior`.

        (1 - prior) (1 - D(log(prior / (1 - prior)))) with the hockey-stick divergence D.
        """
        prior = checks.probability("prior", prior)
        if prior in (0.0, 1.0):
            return Bracket(0.0, 0.0, "beta", "closed form")
        odds = math.log(prior) - math.log1p(-prior)
        least, most = sorted(Stated(prior).readings)
        reading = float((most - least) / (1 - most))  # of 1 - prior, which priors near 1 leave in doubt
        hair = 8 * UNIT * (1.0 + abs(math.log(prior)) + abs(math.log1p(-prior))) + reading
        worst, best = self.delta(odds - hair, rtol=rtol), self.delta(odds + hair, rtol=rtol)
        low, high = ((1.0 - prior) * (1.0 - float(end)) for end in (worst.upper, best.lower))
        top = min(high * (1 + 8 * UNIT + reading), prior, typed_above(1 - least))
        return Bracket(min(low * (1 - 8 * UNIT - reading), top), top, "beta", worst.method, worst.met and best.met)

    def renyi(self, order: float) -> Bracket:
        """The Rényi divergence of this order of the worse direction; order 1 is the mean loss, infinity the largest."""
        from quiltwork.compose.accountant.moments import renyi_ends

        order = checks.positive_or_infinite("order", order)
        if any(part.family.several for part in self.parts):
            from quiltwork.compose.worst_vector import worst_renyi

            return worst_renyi(self, order)
        lower, upper = renyi_ends(self.parts, self.side, order)
        return Bracket(lower, upper, "epsilon", "Rényi moments")

    # ---- algebra

    def direction(self, side: str) -> Loss:
        """Only the test in which the record is removed, or only the one in which it is added."""
        if side not in DIRECTIONS:
            raise InvalidParameter("direction", side, "'remove' or 'add'")
        return attrs.evolve(self, side=side)

    def stated_for(self, neighbors: Any) -> Loss:
        """The same loss with the change of the data for which it holds: words, or a notion such as replace_one().

        A ledger compares it with what the budget protects, a plan with where the loss is said to hold.
        """
        said = getattr(neighbors, "protects", neighbors)
        return attrs.evolve(self, neighbors=checks.text("neighbors", said, "words, or a notion such as replace_one()"))

    def group(self, size: int) -> Loss:
        """The same releases, protecting a group of `size` records that change together: to be stated anew."""
        size = checks.count("size", size, least=1)
        return self if size == 1 else Loss(tuple(Part(p.family.group(size), p.count) for p in self.parts), self.side)

    def __add__(self, other: Loss | Guarantee) -> Loss:
        if isinstance(other, Guarantee):
            other = other.loss()
        if not isinstance(other, Loss):
            return NotImplemented
        return compose(self, other)

    def __mul__(self, count: int) -> Loss:
        count = checks.count("count", count)
        parts = tuple(Part(p.family, checks.count("count", p.count * count)) for p in self.parts)
        return attrs.evolve(self, parts=parts)

    __rmul__ = __mul__

    def __radd__(self, other: object) -> Loss:
        """So that sum(losses) works."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loss) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[frozenset[Part], str, str]:
        return frozenset(self.parts), self.side, self.neighbors

    # ---- single releases

    def single(self, purpose: str) -> Family:
        """The one family of a single release; compositions are refused with the reason."""
        if len(self.parts) != 1 or self.parts[0].count != 1 or self.side != "worst":
            raise Unsupported(f"{purpose} of {self}", "it is defined for one release", "apply it to each release first")
        if self.neighbors:
            raise Unsupported(
                f"{purpose} of a loss that was stated for {self.neighbors!r}",
                "for which change the result holds does not follow",
                "apply it to the bare loss, and say for which change the result was proved: stated_for(...)",
            )
        return self.parts[0].family

    @property
    def count(self) -> int:
        """How many releases there are."""
        return sum(part.count for part in self.parts)

    # ---- views

    def region(self, k: int = 1) -> Region:
        """The privacy region of k copies: every face that a finite loss has, or a fine outer polygon.

        `Region.method` says which.
        """
        from quiltwork.compose.regions import region

        total = k * self
        return region(total.parts, total.side)

    def guarantee(
        self, protects: str | None = None, assumes: Sequence[str] = (), witness: str | None = None
    ) -> Guarantee:
        """This loss with the words that make it a promise; by default for what it was stated for.

        Where nothing was said that is one record, added or removed, or replaced where a sensitivity belongs to that.
        """
        protects = usual_words(self) if protects is None else protects
        if self.neighbors and same_words(self.neighbors) != same_words(protects):
            raise InvalidParameter("protects", protects, f"what the loss was stated for, {self.neighbors!r}")
        check_neighbors(self, protects, "what the guarantee protects")
        because = tuple(dict.fromkeys(part.family.because for part in self.parts)) or ("nothing was released",)
        fixed = "the releases and their parameters were fixed before any result was seen"
        return Guarantee(self, protects=protects, assumes=(*assumes, fixed), because=because, witness=witness)

    def _heading(self) -> str:
        if not self.parts:
            return markup.paragraphs(["Nothing was released."])
        which = "" if self.side == "worst" else f", direction {self.side!r} only"
        many = "1 release" if self.count == 1 else f"{self.count:,} releases"
        rows = [(str(part.family), f"{part.count:,}") for part in self.parts]
        return markup.paragraphs([f"{many}{which}"]) + markup.capped(("release", "times"), rows)

    def to_json(self) -> dict[str, Any]:
        """Tagged, versioned, with scale and sensitivity apart."""
        releases = [{"count": part.count, **part.family.to_json()} for part in self.parts]
        said = {"neighbors": self.neighbors} if self.neighbors else {}
        return {"schema": SCHEMA, "side": self.side, **said, "releases": releases}

    @classmethod
    def from_json(cls, value: Any) -> Loss:
        """The inverse of to_json."""
        if not isinstance(value, dict) or value.get("schema") != SCHEMA:
            raise InvalidParameter("loss", value, f"an object with schema {SCHEMA!r}")
        side = value.get("side", "worst")
        if side not in ("worst", *DIRECTIONS):
            raise InvalidParameter("side", side, "'worst', 'remove' or 'add'")
        neighbors = value.get("neighbors", "")
        if not isinstance(neighbors, str):
            raise InvalidParameter("neighbors", neighbors, "words that name the change of the data")
        parts, releases = [], value.get("releases")
        if not isinstance(releases, list) or not all(isinstance(item, dict) for item in releases):
            raise InvalidParameter("releases", releases, "a list of objects, each with a kind")
        for item in releases:
            family = _family({name: field for name, field in item.items() if name != "count"})
            parts.append(Part(family, checks.count("count", item.get("count", 1))))
        return cls(tuple(parts), side, neighbors)

    def in_words(self) -> str:
        """What is released, for people: "20 times Laplace noise, scale 10, sensitivity 1"."""
        told = (p.family.in_words() if p.count == 1 else f"{p.count:,} times {p.family.in_words()}" for p in self.parts)
        return " and ".join(told) or "nothing"

    def __repr__(self) -> str:
        shown = " + ".join(str(p.family) if p.count == 1 else f"{p.count} * {p.family}" for p in self.parts)
        text = shown or "nothing released"
        text = text if self.side == "worst" else f"({text}).direction({self.side!r})"
        return text if not self.neighbors else f"({text}).stated_for({self.neighbors!r})"


def _family(value: dict[str, Any]) -> Family:
    if value.get("kind") == "worst_vector":
        from quiltwork.compose.worst_vector import worst_vector_from_json

        return worst_vector_from_json(value)
    return family_from_json(value)


def loss_of(given: Any) -> Loss:
    """A loss, or that of a guarantee about neighbouring data; anything else is refused."""
    found = given.loss() if isinstance(given, Guarantee) else given
    if not isinstance(found, Loss):
        raise InvalidParameter("loss", given, "a quiltwork loss, or a guarantee that has one")
    return found


def compose(*losses: Loss | Guarantee) -> Loss:
    """All of these releases together; with none, nothing was released (epsilon 0).

    Guarantees of plans on one table under one notion are joined query by query before they become a loss: a pair of
    neighbours has one vector for all of them.

    Parameters
    ----------
    *losses
        Losses and guarantees; none is a release of nothing.

    Returns
    -------
    Loss
        All of them together, in any order.

    Raises
    ------
    InvalidParameter
        Something is no loss, or two were stated for different changes of the data.

    Examples
    --------
    >>> from quiltwork import gaussian, laplace
    >>> round(compose(100 * gaussian(20.0), laplace(10.0)).epsilon(1e-6).safe, 3)
    2.297
    """
    found = [loss_of(one) for one in _joined(losses)]
    if not found:
        return Loss(())
    sides = {loss.side for loss in found}
    if len(sides) > 1:
        raise InvalidParameter("direction", sorted(sides), "the same for all releases of a composition")
    stated = {same_words(loss.neighbors): loss.neighbors for loss in found if loss.neighbors}
    if len(stated) > 1:
        one, other = sorted(stated.values())[:2]
        raise InvalidParameter(
            "neighbors", (one, other), "the same for all releases of a composition",
            "what was stated for different changes of the data does not add up: state each loss for the same one",
        )  # fmt: skip
    return Loss(tuple(part for loss in found for part in loss.parts), found[0].side, *stated.values())


def _joined(given: Sequence[Loss | Guarantee]) -> list[Loss | Guarantee]:
    """The same with every guarantee joined to an earlier one where both know that they belong together."""
    found: list[Loss | Guarantee] = []
    for one in given:
        for place, before in enumerate(found):
            if isinstance(one, Guarantee) and isinstance(before, Guarantee):
                both = before.beside(one)
                if both is not None:
                    found[place] = both
                    break
        else:
            found.append(one)
    return found


class ComposingRoom(ModuleType):
    """Importing a file of the room binds its name on the package; calling `quiltwork.compose` must work as well."""

    def __call__(self, *losses: Loss | Guarantee) -> Loss:
        """All of these releases together; with none, nothing was released (epsilon 0)."""
        return compose(*losses)
