"""Faults to put into the rooms: what the campaign must notice, by kind of case."""

from __future__ import annotations

import attrs
import numpy as np
from benchmarks.soundness.rooms import (
    compose,
    confounding,
    curves,
    dyadic,
    game,
    ledger,
    losses,
    mechanisms,
    proofs,
    pufferfish,
    regions,
    report,
    spec,
    tables,
)

import quiltwork as qw

LESS = 1.0 - 1e-9


def shrunk(answer, factor=LESS):
    """A bracket whose upper end is too small by a part, and whose lower end follows it."""
    upper = np.asarray(answer.upper) * factor
    return attrs.evolve(answer, lower=np.minimum(answer.lower, upper), upper=upper)


class Faulty:
    """A curve with one wrong answer; all else is passed on."""

    def __init__(self, curve, question):
        self.curve, self.question = curve, question

    def __getattr__(self, name):
        real = getattr(self.curve, name)
        return (lambda *given, **more: shrunk(real(*given, **more))) if name == self.question else real

    def __rmul__(self, count):
        return Faulty(count * self.curve, self.question)


def faulty(maker, question="delta"):
    """The same function, whose curves answer one question wrongly."""
    return lambda *given, **more: Faulty(maker(*given, **more), question)


def one_direction(parts, side):
    """Removing a record is forgotten."""
    return qw.compose(*(part["count"] * qw.pair(*dyadic.masses(part)) for part in parts)).direction("add")


def lost_tail(parts, side):
    """The rarest outcome of the first law is taken for the first one."""
    changed = [{**part, "weights": part["weights"][:-1]} if len(part["weights"]) > 1 else part for part in parts]
    return compose_loss(changed, side)


compose_loss = compose.loss_of


def doubled_leak(prior, entry):
    answer = pufferfish_translate(prior, entry)
    return attrs.evolve(answer, lower=0.0, upper=float(answer.upper) * LESS)


pufferfish_translate = pufferfish.translate


class SmallWorld:
    """A world whose releases answer delta too low."""

    def __init__(self, data):
        self.world = qw.confounding.World(data=data)

    def release(self, *channels):
        return Faulty(self.world.release(*channels), "delta")


class Miser:
    """A filter that charges too little."""

    def __init__(self, *given):
        self.kept = pure(*given)

    def cost(self, loss):
        return tuple(amount * (1 - amount / 10**12) for amount in self.kept.cost(loss))


pure = ledger.pure_filter


FAULTS = {
    "curves: one law in every form": (curves, "forms", lambda real: lambda law: _one_form(real(law))),
    "curves: envelopes of points": (curves.qw, "constraints", faulty),
    "losses: closed forms": (losses, "built", lambda real: lambda *given: _sided(real(*given))),
    "losses: edges": (losses, "built", lambda real: lambda *given: _sided(real(*given))),
    "compose: finite laws, any engine": (compose, "loss_of", faulty),
    "compose: proofs by ball arithmetic": (proofs, "built", lambda real: faulty(real, "epsilon")),
    "confounding: proofs of worlds": (proofs, "world_of", lambda real: faulty(real, "epsilon")),
    "pufferfish: proofs of secrets of chains": (proofs, "chain_of", lambda real: faulty(real, "epsilon")),
    "regions: several constraints": (regions.qw, "compose", faulty),
    "tables: overlapping counts": (tables, "plan_of", lambda real: lambda case: _Planned(real(case))),
    "pufferfish: listed laws, every mechanism": (pufferfish, "translate", lambda real: doubled_leak),
    "confounding: finite worlds": (confounding, "World", lambda real: SmallWorld),
    "mechanisms: scales": (mechanisms.mechanisms, "histogram_scale", lambda real: lambda e: real(e) * LESS),
    "audit: coverage": (game, "Counts", lambda real: lambda *counts: _Sure(real(*counts))),
    "ledger: costs": (ledger, "pure_filter", lambda real: Miser),
    "spec: written and read": (spec, "loads", lambda real: lambda text: Faulty(real(text), "delta")),
    "report: digits": (report, "printed_at_most", lambda real: report.at_least),
}  # fmt: skip


def _one_form(forms):
    return {"profile": Faulty(forms["profile"], "delta")}


def _sided(loss):
    made = Faulty(loss, "epsilon")
    made.direction = lambda side: Faulty(loss.direction(side), "epsilon")
    return made


class _Planned:
    def __init__(self, plan):
        self.plan = plan

    def guarantee(self):
        return Faulty(self.plan.guarantee(), "delta")


class _Sure:
    """Limits at far less confidence than was asked for."""

    def __init__(self, counts):
        self.counts = counts

    def limits(self, confidence):
        return self.counts.limits(0.01)
