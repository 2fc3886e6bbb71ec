"""A release as a form asks for it: a kind, its numbers, or the words of a plan file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import attrs

from quiltwork.compose.filters.opening import Filter
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, InvalidPlan, QuiltworkError
from quiltwork.web.pages.forms import number, whole
from quiltwork.web.service.limits import loss_from, loss_of_text

__all__ = ["KINDS", "WRITTEN", "Box", "Kind", "loss_of", "offered"]

WRITTEN = "written"
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


_SIGMA = Box("sigma", "Standard deviation (sigma)", "40")
_SCALE = Box("scale", "Scale", "40")
_NORM, _SUM = Box("sensitivity", "Sensitivity (l2)", "1"), Box("sensitivity", "Sensitivity (l1)", "1")
_STEP = Box("sensitivity", "Sensitivity (whole)", "1", counts=True)
_EPSILON, _DELTA = Box("epsilon", "Epsilon", "0.1"), Box("delta", "Delta", "1e-9")

KINDS = (
    Kind("gaussian", "Gaussian noise", (_SIGMA, _NORM)),
    Kind("laplace", "Laplace noise", (_SCALE, _SUM)),
    Kind("discrete_gaussian", "Discrete Gaussian noise", (_SIGMA, _STEP)),
    Kind("discrete_laplace", "Discrete Laplace noise", (_SCALE, _STEP)),
    Kind(
        "sampled_gaussian",
        "Gaussian noise on a Poisson sample",
        (Box("rate", "Sampling rate", "0.01"), Box("sigma", "Standard deviation (sigma)", "2"), _NORM),
        sampled="gaussian",
    ),
    Kind("pure", "Any release with a pure epsilon", (_EPSILON,)),
    Kind("approximate", "Any release with epsilon and delta", (_EPSILON, _DELTA)),
    Kind("zcdp", "Any release with a rho (zCDP)", (Box("rho", "Rho", "0.005"),)),
    Kind("gdp", "Any release with a mu (GDP)", (Box("mu", "Mu", "0.1"),)),
)
_BY_NAME = {kind.name: kind for kind in KINDS}


@lru_cache(maxsize=256)
def offered(kept: Filter | None) -> tuple[Kind, ...]:
    """The kinds whose cost a filter has a proof for; all of them without one."""
    if kept is None:
        return KINDS
    found = []
    for kind in KINDS:
        try:
            kept.cost(loss_from(kind.example()))
        except QuiltworkError:
            continue
        found.append(kind)
    return tuple(found)


def loss_of(typed: Mapping[str, str]) -> Loss:
    """The loss of the release that a form describes."""
    chosen = typed.get("kind", "")
    if chosen == WRITTEN:
        text = typed.get("written", "")
        if not text.strip():
            raise InvalidParameter("the release", text, "written as in a plan file", f"such as {EXAMPLE}")
        return loss_of_text(text)
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
