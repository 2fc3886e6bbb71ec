"""What the JSON of a release may say: the parameters of each kind, exact and in their domain; nothing else is read.

A field that is not known here is refused and not passed over: it could change what the release is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.proof.balls import stated

Node = dict[str, Any]
Read = Callable[[str, Any], Any]
MAX_DEPTH = 20
MAX_WHOLE = 10**18
SLIP = Fraction(1, 10**9)  # by which decimals of a law may miss 1: they are scaled


class Refused(Exception):
    """No method here can judge it."""


def _number(allowed: str, inside: Callable[[Fraction], bool]) -> Read:
    def read(name: str, value: Any) -> Fraction:
        found = stated(name, value)
        if not inside(found):
            raise InvalidParameter(name, value, allowed)
        return found

    return read


def whole(least: int) -> Read:
    """A whole number."""

    def read(name: str, value: Any) -> int:
        found = stated(name, value)
        if found.denominator != 1 or not least <= found <= MAX_WHOLE:
            raise InvalidParameter(name, value, f"a whole number from {least} to {MAX_WHOLE:.0e}")
        return int(found)

    return read


positive = _number("> 0", lambda x: x > 0)
not_negative = _number(">= 0", lambda x: x >= 0)
chance = _number("in [0, 1]", lambda x: 0 <= x <= 1)
order = _number("> 1", lambda x: x > 1)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidParameter(name, value, "true or false")
    return value


def _listed(name: str, value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)) or not value:
        raise InvalidParameter(name, value, "a list that is not empty")
    return list(value)


def _each(read: Read) -> Read:
    return lambda name, value: [read(name, one) for one in _listed(name, value)]


def _or_infinite(name: str, value: Any) -> Fraction | None:
    """A number >= 0; None where nothing is said."""
    return None if str(value).lower() in ("inf", "infinity") else not_negative(name, value)


def _law(name: str, value: Any) -> list[Fraction]:
    """Probabilities, as typed and then scaled to sum to 1 exactly."""
    masses = [chance(name, one) for one in _listed(name, value)]
    total = sum(masses)
    if not -SLIP <= total - 1 <= SLIP:
        raise InvalidParameter(name, f"a sum of {float(total):.12g}", "probabilities that sum to 1")
    return [mass / total for mass in masses]


def _points(name: str, value: Any) -> list[tuple[Fraction, Fraction]]:
    found = []
    for point in _listed(name, value):
        if not isinstance(point, (list, tuple)) or len(point) != 2:
            raise InvalidParameter(name, point, "pairs of epsilon and delta")
        found.append((not_negative("epsilon", point[0]), chance("delta", point[1])))
    return found


EPSILON: dict[str, Read] = {"epsilon": not_negative}
SAMPLE: dict[str, Read] = {"rate": chance}
FIELDS: dict[str, dict[str, Read]] = {
    "gaussian": {"sigma": positive, "sensitivity": not_negative},
    "gdp": {"mu": not_negative},
    "laplace": {"scale": positive, "sensitivity": not_negative},
    "discrete_gaussian": {"sigma": positive, "sensitivity": whole(1)},
    "discrete_laplace": {"scale": positive, "sensitivity": whole(1)},
    "exponential": EPSILON,
    "pure": EPSILON,
    "approximate": {**EPSILON, "delta": chance},
    "randomized_response": {**EPSILON, "values": whole(2)},
    "constraints": {"points": _points},
    "profile": {"points": _points},
    "pair": {"p": _law, "q": _law},
    "zcdp": {"rho": not_negative},
    "rdp": {"orders": _each(order), "epsilons": _each(_or_infinite)},
    "gaussian_mixture": {"sensitivities": _each(not_negative), "weights": _law, "sigma": positive},
    "poisson": SAMPLE,
    "sampled_group": {**SAMPLE, "size": whole(1), "exchanged": _flag},
    "truncated_poisson": {**SAMPLE, "most": whole(1), "of": whole(1), "exchanged": _flag, "zeroed": _flag},
    "fixed_size": {"batch": whole(1), "of": whole(1)},
    "random_allocation": {"steps": whole(1)},
}
MARKS = "worked_out_for"
SAMPLED = ("poisson", "sampled_group", "truncated_poisson", "fixed_size", "random_allocation")  # each has a base
DEFAULTS = {"sensitivity": 1, "values": 2, "exchanged": False, "zeroed": False}
SAME_LENGTH = (("p", "q"), ("orders", "epsilons"), ("sensitivities", "weights"))
NOT_MORE = (("batch", "of"), ("most", "of"))


def read(node: Any, depth: int = 0) -> Node:
    """A release with its parameters as exact numbers; Refused where its kind is not known here."""
    if not isinstance(node, Mapping) or not isinstance(node.get("kind"), str):
        raise InvalidParameter("a release of the loss", node, "an object with a kind")
    if depth > MAX_DEPTH:
        raise InvalidParameter("a release of the loss", "nested", f"at most {MAX_DEPTH} levels deep")
    kind = node["kind"]
    if kind == "turned":
        _only(node, {"base"})
        return {"kind": kind, "base": read(node.get("base"), depth + 1)}
    if kind == "mixture":
        _only(node, {"components"})
        pairs = _listed("components", node.get("components"))
        if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
            raise InvalidParameter("components", pairs, "pairs of a weight and a release")
        weights = _law("weights", [weight for weight, _ in pairs])
        inner = [read(one, depth + 1) for _, one in pairs]
        return {"kind": kind, "components": list(zip(weights, inner, strict=True))}
    fields = FIELDS.get(kind)
    if fields is None:
        raise Refused(f"no method for {kind[:40]}")
    _only(node, {*fields, "base"} if kind in SAMPLED else set(fields))
    found: Node = {"kind": kind}
    for name, reader in fields.items():
        if name not in node and name not in DEFAULTS:
            raise InvalidParameter(f"{kind}", sorted(node), f"a release with its {name}")
        found[name] = reader(name, node.get(name, DEFAULTS.get(name)))
    if kind in SAMPLED:
        found["base"] = read(node.get("base"), depth + 1)
        if found["base"]["kind"] == "turned":
            raise Refused("a sample of a release with its worlds exchanged")
    _agree(found)
    return found


def _only(node: Mapping[str, Any], names: set[str]) -> None:
    other = sorted(map(str, set(node) - names - {"kind", MARKS}))
    marks = node.get(MARKS, {})  # for which change of the data a sensitivity was worked out: the release is the same
    if not isinstance(marks, dict) or not set(marks) <= names or not all(isinstance(m, str) for m in marks.values()):
        raise InvalidParameter(MARKS, marks, "words, by the name of a field")
    if other:
        raise InvalidParameter(f"a release of kind {node['kind']}", other, f"without fields but {sorted(names)}")


def _agree(node: Node) -> None:
    for one, other in SAME_LENGTH:
        if one in node and other in node and len(node[one]) != len(node[other]):
            raise InvalidParameter(f"{one} and {other}", [len(node[one]), len(node[other])], "lists of one length")
    for one, other in NOT_MORE:
        if one in node and other in node and node[one] > node[other]:
            raise InvalidParameter(one, node[one], f"at most {node[other]}")
    if node["kind"] == "rdp" and node["orders"] != sorted(set(node["orders"])):
        raise InvalidParameter("orders", "a list", "increasing")
