# ruff: noqa: E501
"""Priors, secrets, influence curves and guarantees for correlated entries as documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from quiltwork.spec.objects.kinds import Kind, Refusal

__all__ = ["KINDS", "REFUSED"]

_ROOM = "quiltwork.pufferfish."


def _stored(home: str) -> Any:
    """Builds a class whose probabilities were divided by their sums before they were written."""

    def build(**fields: Any) -> Any:
        from quiltwork.numbers.matrices import as_stored

        with as_stored():
            return Kind("", home).type(**fields)

    return build


def _attributes(*names: str) -> Any:
    return lambda value: {name: getattr(value, name) for name in names}


def _tree(value: Any) -> dict[str, Any]:
    """One matrix when every edge has the same."""
    found = [matrix for matrix in value.transition if matrix is not None]
    shared = bool(found) and all(np.array_equal(matrix, found[0]) for matrix in found)
    return {
        "parents": value.parents,
        "transition": found[0] if shared else value.transition,
        "root": value.root,
        "states": value.states,
    }


def _joint(value: Any) -> dict[str, Any]:
    law = value.law if value.fractions is None else value.fractions
    return {"law": law, "values": value.values, "relative_error": value.relative_error, "gauge": value.gauge}


def _read_joint(law: Any, relative_error: float = 0.0, **fields: Any) -> Any:
    """The error is that of the stored numbers: what the constructor adds for fractions is in it already."""
    from quiltwork.pufferfish.priors.joint.law import JointLaw

    found = JointLaw(law, relative_error=relative_error, **fields)
    object.__setattr__(found, "relative_error", float(relative_error))
    return found


def _influence(value: Any) -> dict[str, Any]:
    from quiltwork.pufferfish.translation.influence import MOST_NAMES

    few = len(value.cases) <= MOST_NAMES
    names = tuple(value.name_of(index) for index in range(len(value.cases))) if few else None
    return {
        "sizes": value.sizes, "cases": value.cases, "status": value.status, "names": names, "method": value.method
    }  # fmt: skip


def _read_influence(sizes: Any, cases: Any, status: str, names: tuple[str, ...] = (), method: str = "") -> Any:
    from quiltwork.errors import InvalidParameter
    from quiltwork.pufferfish.translation.influence import _rebuilt

    found = _rebuilt(sizes, cases, status, list(names), method)
    if names and (len(names) != len(found.cases) or not all(isinstance(name, str) for name in names)):
        raise InvalidParameter("names", len(names), f"{len(found.cases)} texts, one for each case")
    return found


def _leaks(value: Any) -> dict[str, Any]:
    return {
        "loss": value.loss,
        "prior": value.translator.prior,
        "secrets": value.secrets,
        "method": value.translator.asked[1],
    }


def _read_leaks(loss: Any, prior: Any, secrets: Any = None, method: Any = "best") -> Any:
    from quiltwork.pufferfish.translation.curve import Leaks
    from quiltwork.pufferfish.translation.translate import Translator

    return Leaks(_loss(loss), Translator.of(prior, secrets, method), secrets)


def _read_gaussian_leaks(loss: Any, prior: Any, secrets: Any = None) -> Any:
    from quiltwork.pufferfish.priors.gaussian.curve import GaussianLeaks

    return GaussianLeaks(_loss(loss), prior, secrets)


def _loss(given: Any) -> Any:
    from quiltwork.compose.loss import Loss
    from quiltwork.errors import InvalidParameter

    if not isinstance(given, Loss):
        raise InvalidParameter("loss", given, "the document of a loss")
    return given


def _stochastic(
    name: str, home: str, fields: tuple[str, ...], optional: tuple[str, ...] = (), write: Any = None
) -> Kind:
    write = write or _attributes(*fields, *optional)
    return Kind(name, _ROOM + home, fields=fields, optional=optional, write=write, read=_stored(_ROOM + home))


_PLAIN = {
    "any_of": "priors.any_of:AnyOf",
    "binary_chains": "priors.binary_chains:BinaryChains",
    "blocks_prior": "priors.blocks:Blocks",
    "independent_entries": "priors.blocks:Independent",
    "auto_regressive": "priors.gaussian.prior:AutoRegressive",
    "gaussian_prior": "priors.gaussian.prior:GaussianPrior",
    "gaussian_box": "priors.gaussian.box:GaussianBox",
    "ising": "priors.ising:Ising",
    "gauge": "priors.joint.supermodular:Gauge",
    "entry_values": "secrets:EntryValues",
    "joint_values": "secrets:JointValues",
    "collapse": "papers.collapse:Collapse",
    "leakage": "composable.leakage:Leakage",
    "composable": "composable.verdict:Verdict",
    "kernel_certificate": "composable.verdict:Certificate",
    "breaking_outputs": "composable.witness:Witness",
    "pufferfish_totals": "papers.simple_rules:Totals",
    "released": "releases:Released",
}
KINDS = (
    *(Kind(name, _ROOM + home) for name, home in _PLAIN.items()),
    _stochastic("markov_chain", "priors.chain.chain:MarkovChain", ("transition",), ("initial", "length", "states", "note")),
    _stochastic(
        "hidden_markov", "priors.hidden_chain:HiddenMarkov", ("transition", "emission"), ("length", "states", "symbols", "secret")
    ),
    _stochastic("tree", "priors.tree:Tree", ("parents", "transition", "root"), ("states",), _tree),
    Kind("joint_law", _ROOM + "priors.joint.law:JointLaw", fields=("law",), optional=("values", "relative_error", "gauge"),
         write=_joint, read=_read_joint),
    Kind("influence", _ROOM + "translation.influence:InfluenceCurve", plain=True),  # the worst case alone
    Kind("influence", _ROOM + "translation.influence:InfluenceCurve", 2, fields=("sizes", "cases", "status"),
         optional=("names", "method"), write=_influence, read=_read_influence),
    Kind("leaks", _ROOM + "translation.curve:Leaks", fields=("loss", "prior"), optional=("secrets", "method"), write=_leaks,
         read=_read_leaks),
    Kind("gaussian_leaks", _ROOM + "priors.gaussian.curve:GaussianLeaks", fields=("loss", "prior"), optional=("secrets",),
         write=_attributes("loss", "prior", "secrets"), read=_read_gaussian_leaks),
)  # fmt: skip
REFUSED = {
    _ROOM + "prior:Prior": Refusal("it is what priors have in common, not a value"),
    _ROOM + "secrets:FunctionValues": Refusal(
        "a Python function is not data", "keep it in your program, or list the values in a JointLaw with one more entry"
    ),
}
