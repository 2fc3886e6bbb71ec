"""Random laws in whole numbers, and questions about them: what exact answers need is drawn here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.soundness.claims import Check, ends, ordered
from benchmarks.soundness.listed import Listed, beta_check, delta_check, epsilon_check

Law = dict[str, Any]  # {"bits": b, "weights": [[p, q], ...]}: what is left to 2^b is a first outcome of both
SIDES = ("worst", "remove", "add")


def weights(rng: np.random.Generator, size: int, bits: int) -> list[int]:
    """Weights of outcomes that sum to less than 2^bits: even, uneven or steep."""
    kind = rng.integers(4)
    if kind == 0:
        shares = rng.dirichlet(np.ones(size + 1))
    elif kind == 1:
        shares = rng.dirichlet(np.full(size + 1, 0.3))
    elif kind == 2:  # steps of many powers of two
        shares = np.exp2(-rng.uniform(0, bits - 2, size + 1))
        shares /= shares.sum()
    else:  # rare outcomes only
        shares = np.append(np.exp2(-rng.uniform(2, bits, size)) / size, 0.0)
        shares[-1] = 1 - shares[:-1].sum()
    return [int(share * 2**bits) for share in shares[:-1]]


def law(rng: np.random.Generator, largest: int = 4, bits: int | None = None) -> Law:
    """Two laws on up to `largest` outcomes: unrelated, nearly the same, turned, or with outcomes of one side only."""
    size, bits = int(rng.integers(1, largest)), int(rng.integers(4, 41)) if bits is None else bits
    p, q = weights(rng, size, bits), weights(rng, size, bits)
    kind = rng.integers(6)
    if kind == 0:  # nearly the same: little is told
        most = 2 ** int(rng.integers(0, max(bits - 6, 1)))
        q = [max(0, w + int(rng.integers(-most, most + 1))) for w in p]
    elif kind == 1:
        q = p[::-1]
    elif kind == 2:
        q[int(rng.integers(size))] = 0
    elif kind == 3:
        p[int(rng.integers(size))] = 0
    if max(sum(p), sum(q)) > 2**bits:
        q = list(p)
    return {"bits": bits, "weights": [list(both) for both in zip(p, q, strict=True)]}


def outcomes(given: Law) -> list[list[int]]:
    """All outcomes, the rest first."""
    unit, listed = 1 << given["bits"], given["weights"]
    rest = [unit - sum(both[side] for both in listed) for side in (0, 1)]
    if min(rest) < 0 or given["bits"] < 0:
        raise ValueError("weights pass the unit")
    return [rest, *listed]


def masses(given: Law) -> tuple[list[float], list[float]]:
    """The same as doubles, without rounding."""
    unit = 1 << given["bits"]
    shown = [both for both in outcomes(given) if any(both)]
    return [p / unit for p, _ in shown], [q / unit for _, q in shown]


def losses_of(listed: Sequence[Listed]) -> list[float]:
    """The finite losses, to ask near them."""
    found = {math.log(p) - math.log(q) for one in listed for p, q in one.outcomes if p and q}
    return sorted(found)


def places(rng: np.random.Generator, listed: Sequence[Listed], count: int) -> list[float]:
    """Epsilons: between the losses, next to them, on them, beyond them, below zero, infinite."""
    losses = losses_of(listed) or [0.0]
    low, high = losses[0], losses[-1]
    span = high - low or 1.0
    found = [0.0, math.inf, -math.inf, high, low]
    kinds = rng.integers(0, 5, count)
    for kind in kinds.tolist():
        if kind == 0:
            found.append(float(rng.uniform(low - 0.1 * span, high + 0.1 * span)))
        elif kind == 1:
            found.append(losses[int(rng.integers(len(losses)))])
        elif kind == 2:
            found.append(
                losses[int(rng.integers(len(losses)))]
                * (1 + float(rng.choice([-1, 1])) * 2.0 ** -int(rng.integers(8, 53)))
            )
        elif kind == 3:
            found.append(float(rng.uniform(0, max(high, 1e-9))))
        else:
            found.append(high * (1 - 10.0 ** -rng.uniform(0, 12)))
    return list(dict.fromkeys(found))


def shares(rng: np.random.Generator, listed: Sequence[Listed], count: int) -> list[float]:
    """Deltas: any size, and the very values of the curve."""
    found = [0.0, 1.0, float(max(one.revealed for one in listed))]
    found += (10.0 ** -rng.uniform(0, 14, count // 2)).tolist() + rng.uniform(0, 1, count // 4).tolist()
    for place in places(rng, listed, count // 4)[-(count // 4) :]:
        low, _, shift = max((one.stick(place) for one in listed), key=lambda each: each[0] / (1 << each[2]))
        found.append(min(1.0, low / (1 << shift)))
    return list(dict.fromkeys(found))


def alphas(rng: np.random.Generator, listed: Sequence[Listed], count: int) -> list[float]:
    """Type I errors: any size, and corners."""
    found = [0.0, 1.0, *rng.uniform(0, 1, count // 2).tolist(), *(10.0 ** -rng.uniform(0, 14, count // 4)).tolist()]
    for one in listed:
        found += [one.above[int(rng.integers(len(one.above)))][1] / (1 << one.bits) for _ in range(count // 8)]
    return list(dict.fromkeys(min(1.0, value) for value in found))


def sides(listed: Listed, side: str) -> list[Listed]:
    """The pairs that a direction means."""
    return {"worst": [listed, listed.mirrored], "remove": [listed], "add": [listed.mirrored]}[side]


def asked(
    name: str, curve: Any, laws: Sequence[Listed], case: dict[str, Any], options: dict[str, Any] | None = None,
    outward: bool = False,
) -> Iterator[Check]:  # fmt: skip
    """Every question of a case to one curve, in vectors, and the order of the answers.

    `outward`: the curve promises its safe ends only.
    """
    more, note = options or {}, str(options or "")
    if case["epsilons"]:
        found = curve.delta(np.array(case["epsilons"]), **more)
        for place, (lower, upper) in zip(case["epsilons"], ends(found), strict=True):
            yield delta_check(
                f"{name}: delta", laws, place, 0.0 if outward else lower, upper, f"epsilon {place!r} {note}"
            )
        yield ordered(f"{name}: delta falls", found, case["epsilons"])
    if case["deltas"]:
        found = curve.epsilon(np.array(case["deltas"]), **more)
        for share, (lower, upper) in zip(case["deltas"], ends(found), strict=True):
            yield epsilon_check(
                f"{name}: epsilon", laws, share, 0.0 if outward else lower, upper, f"delta {share!r} {note}"
            )
        yield ordered(f"{name}: epsilon falls", found, case["deltas"])
    if case["alphas"]:
        more = {key: value for key, value in more.items() if key != "rtol"}
        found = curve.beta(np.array(case["alphas"]), **more)
        for alpha, (lower, upper) in zip(case["alphas"], ends(found), strict=True):
            yield beta_check(f"{name}: beta", laws, alpha, lower, 1.0 if outward else upper, f"alpha {alpha!r} {note}")
        yield ordered(f"{name}: beta falls", found, case["alphas"])


def questions(rng: np.random.Generator, listed: Sequence[Listed], count: int) -> dict[str, Any]:
    """Epsilons, deltas and alphas of a case."""
    return {
        "epsilons": places(rng, listed, count),
        "deltas": shares(rng, listed, count // 2),
        "alphas": alphas(rng, listed, count // 2),
    }
