"""A release as a form asks for it: a kind, its numbers, or the words of a plan file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import attrs

from quiltwork.compose.filters.opening import Filter
from quiltwork.errors import InvalidParameter, InvalidPlan, QuiltworkError
from quiltwork.losses.family import WHOLE, families
from quiltwork.web.pages.forms import number, whole
from quiltwork.web.service.limits import loss_from, loss_of_text

WRITTEN = "written"
SAMPLED = "sampled_gaussian"
FIRST = ("gaussian", "laplace", "discrete_gaussian", "discrete_laplace", SAMPLED, "pure", "approximate", "zcdp", "gdp")
WHOLE_FILE = re.compile(r"""^\s*\{?\s*["']?(quiltwork|schema)["']?\s*:""", re.MULTILINE)
EXAMPLE = "poisson: {rate: 0.01, of: {laplace: {scale: 2}}}"


@attrs.frozen
class Box:
    """One number of a kind: how it is called in a plan file, what people read, and an example."""

    name: str
    label: str
    example: str
    counts: bool = False  # whether it is a whole number

    def read(self, typed: Mapping[str, str], kind: str) -> float | int:
        """What was typed; an empty box is an error that names it."""
        text = typed.get(f"{kind}.{self.name}", "")
        return whole(self.label, text) if self.counts else number(self.label, text)


@attrs.frozen
class Kind:
    """A family of releases; `sampled` ones run on a Poisson sample."""

    name: str
    label: str
    boxes: tuple[Box, ...]
    sampled: str = ""

    def recipe(self, values: Mapping[str, float | int]) -> dict[str, Any]:
        """As a plan file writes it."""
        if not self.sampled:
            return {self.name: dict(values)}
        inner = {name: value for name, value in values.items() if name != "rate"}
        return {"poisson": {"rate": values["rate"], "of": {self.sampled: inner}}}

    def example(self) -> dict[str, Any]:
        """The recipe of its examples."""
        return self.recipe(
            {box.name: box.read({f"{self.name}.{box.name}": box.example}, self.name) for box in self.boxes}
        )


def _kinds() -> tuple[Kind, ...]:
    """Every family with a label, noise first, and beside it Gaussian noise on a sample."""
    found = {}
    for kind, family in families().items():
        if family.label:
            boxes = (Box(one.name, one.label, one.example, counts=one.domain == WHOLE) for one in family.entries())
            found[kind] = Kind(kind, family.label, tuple(boxes))
    sigma, norm = found["gaussian"].boxes
    sample = (Box("rate", "Sampling rate", "0.01"), attrs.evolve(sigma, example="2"), norm)
    found[SAMPLED] = Kind(SAMPLED, "Gaussian noise on a Poisson sample", sample, sampled="gaussian")
    return tuple(found[kind] for kind in (*FIRST, *(kind for kind in found if kind not in FIRST)))


KINDS = _kinds()
_BY_NAME = {kind.name: kind for kind in KINDS}


@lru_cache(maxsize=256)
def offered(kept: Filter | None) -> tuple[Kind, ...]:
    """The kinds whose cost a filter has a proof for; all of them without one."""
    if kept is None:
        return KINDS
    found = []
    for kind in KINDS:
        try:
            loss = loss_from(kind.example())
            kept.chosen_for(loss).cost(loss)  # a budget that chooses with its first release: for this one
        except QuiltworkError:
            continue
        found.append(kind)
    return tuple(found)


def loss_of(typed: Mapping[str, str], read: Callable[[str], Any]) -> Any:
    """The loss of the release that a form describes; what a whole file says is worked out by `read`."""
    chosen = typed.get("kind", "")
    if chosen == WRITTEN:
        text = typed.get("written", "")
        if not text.strip():
            raise InvalidParameter("the release", text, "written as in a plan file", f"such as {EXAMPLE}")
        return read(text) if WHOLE_FILE.search(text) else loss_of_text(text)
    kind = _BY_NAME.get(chosen)
    if kind is None:
        raise InvalidParameter("the kind of release", chosen, "one of " + ", ".join([*_BY_NAME, WRITTEN]))
    try:
        return loss_from(kind.recipe({box.name: box.read(typed, kind.name) for box in kind.boxes}))
    except InvalidPlan as error:
        raise InvalidParameter(*_named(kind, error)) from None


def _named(kind: Kind, error: InvalidPlan) -> tuple[str, object, str]:
    """The refusal of a box by its label: people read that, not the path of a plan file."""
    last = error.where.rpartition(".")[2]
    label = next((box.label for box in kind.boxes if box.name == last), error.where)
    problem, _, given = error.problem.removeprefix("must be ").partition(", got ")
    return label, _Said(given), problem


class _Said(str):
    """What was given, already as it is to be shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
