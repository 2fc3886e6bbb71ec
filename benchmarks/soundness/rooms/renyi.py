"""Rényi curves and calibration: between the Gaussian, which has the curve, and the conversion of one order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, ends

NEAR = mp.mpf(10) ** -40


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """rho of zCDP, or orders of a Gaussian's Rényi curve; a count; deltas."""
    orders = sorted({round(float(1 + 10.0 ** rng.uniform(-1, 2.5)), 3) for _ in range(int(rng.integers(1, 6)))})
    deltas = (10.0 ** -np.append(rng.uniform(1, 10, 4), rng.uniform(10, 90, 1))).tolist()
    return {
        "rho": float(10.0 ** rng.uniform(-5, 0.5)), "count": int(rng.integers(1, 200)), "deltas": deltas,
        "orders": orders if rng.random() < 0.6 else [],
    }  # fmt: skip


def converted(case: dict[str, Any]) -> Iterator[Check]:
    """A Gaussian has this curve: the upper end is no less than its epsilon; nor does it pass the usual conversion."""
    rho, count, orders = case["rho"], case["count"], case["orders"]
    if rho <= 0 or count < 1 or not case["deltas"] or (orders and min(orders) <= 1):
        return
    loss = count * (qw.rdp(orders, [rho * order for order in orders]) if orders else qw.zcdp(rho))
    mu = mp.sqrt(2 * count * min(mp.mpf(rho), *(mp.mpf(rho * order) / mp.mpf(order) for order in orders or [1])))
    name = "rdp" if orders else "zcdp"
    for delta, (lower, upper) in zip(case["deltas"], ends(loss.epsilon(np.array(case["deltas"]))), strict=True):
        most = (
            min(closed.renyi_epsilon(order, count * mp.mpf(rho * order), delta) for order in orders)
            if orders
            else closed.concentrated_epsilon(count * mp.mpf(rho), delta)
        )
        note = f"delta {delta!r}, said [{lower!r}, {upper!r}]"
        if math.isfinite(upper):
            left = closed.gaussian_delta(mu, upper)
            room = float(abs(1 - left / delta)) or math.nan
            yield Check(f"{name}: not below the Gaussian", left <= delta * (1 + NEAR), room, note)
        yield Check(f"{name}: lower end", lower <= most * (1 + NEAR) + NEAR, note=note)
        yield Check(
            f"{name}: not above the conversion", upper <= most * (1 + mp.mpf("2e-3")) + mp.mpf("1e-9"), note=note
        )


def wanted(rng: np.random.Generator) -> dict[str, Any]:
    """Targets for Gaussian noise, alone or on samples, and for Laplace noise."""
    kind = str(rng.choice(["gaussian", "laplace", "sampled"]))
    return {
        "kind": kind, "count": 1 if kind != "gaussian" else int(rng.integers(1, 500)),
        "epsilon": float(10.0 ** rng.uniform(-1.5, 1)), "delta": float(10.0 ** -rng.uniform(3, 10)),
        "rate": float(10.0 ** -rng.uniform(0.3, 3)),
    }  # fmt: skip


def reached(case: dict[str, Any]) -> Iterator[Check]:
    """With the noise that was found the true delta at epsilon is within the target; with a little less it is not."""
    kind, count, epsilon, delta, rate = (case[name] for name in ("kind", "count", "epsilon", "delta", "rate"))
    if count < 1 or epsilon <= 0 or not 0 < delta < 1 or not 0 < rate < 1:
        return
    make = {
        "gaussian": lambda sigma: count * qw.gaussian(sigma),
        "laplace": qw.laplace,
        "sampled": lambda sigma: qw.poisson(qw.gaussian(sigma), rate),
    }[kind]
    found = qw.calibrate(make, epsilon, delta)

    def truth(size: Any) -> Any:
        if kind == "gaussian":
            return closed.gaussian_delta(mp.sqrt(count) / size, epsilon)
        if kind == "laplace":
            return closed.laplace_delta(1 / size, epsilon)
        return max(
            closed.subsampled_delta(lambda e: closed.gaussian_delta(1 / size, e, 700), rate, side, epsilon, 700)
            for side in ("remove", "add")
        )

    spent = truth(mp.mpf(found))
    note = f"noise {found!r}"
    room = float(abs(1 - spent / delta)) or math.nan
    yield Check(f"calibrate, {kind}: keeps the target", spent <= delta * (1 + NEAR), room, note)
    less = truth(mp.mpf(float(Fraction(found) * Fraction(99, 100))))
    yield Check(f"calibrate, {kind}: no more than needed", less > delta, note=note)


KINDS = [Kind("compose", "Rényi curves", drawn, converted), Kind("compose", "calibrate", wanted, reached)]
