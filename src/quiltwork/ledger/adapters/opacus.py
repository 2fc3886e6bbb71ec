"""Opacus: what an accountant wrote down while a model was trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiltwork import checks
from quiltwork.compose.constructors import gaussian, poisson
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidParameter, Unsupported

MECHANISMS = ("rdp", "gdp", "prv")  # the accountants of Opacus; all three keep the same triples
CHECKPOINT = "privacy_accountant_state_dict"  # where a checkpoint of a privacy engine keeps the state
ALLOWED = "an Opacus accountant, its state_dict() or its history"
TRIPLE = "a triple (noise multiplier, sample rate, steps)"


def from_opacus(record: Any) -> Loss:
    """The loss of a training run, from an Opacus accountant, its state dict or its history.

    A history is a list of (noise_multiplier, sample_rate, steps): that many steps of Gaussian noise of standard
    deviation noise_multiplier on a sum of l2 sensitivity 1, each on a Poisson sample of that rate, for one record added
    or removed. So the loss is the sum of steps * poisson(gaussian(noise_multiplier), sample_rate), whichever accountant
    wrote it down: only the triples are read, none of its own bounds.

    The record does not say how the batches were drawn. Like the accountants of Opacus it is read as Poisson sampling
    with every record in at most one batch of a step: shuffled batches, or gradients accumulated over several samples,
    are not covered. Nor can what an accountant forgot be seen: "gdp" (Opacus 1.6) drops its history when it refuses a
    step whose noise or rate changed, so an empty one is refused here.

    Reference: Yousefpour et al. 2021 (Opacus); Zhu, Dong and Wang 2022, Theorem 11 (the dominating pair of a step).
    """
    return compose(*(_steps(place, triple) for place, triple in enumerate(_history(record), 1)))


def _history(record: Any) -> list[Any]:
    if isinstance(record, Mapping):
        if CHECKPOINT in record:
            raise InvalidParameter("record", sorted(map(str, record)), ALLOWED, f"pass its entry {CHECKPOINT!r}")
        missing = [name for name in ("history", "mechanism") if name not in record]
        if missing:
            raise InvalidParameter("record", sorted(map(str, record)), ALLOWED, f"the state has no {missing[0]!r}")
        mechanism, record = record["mechanism"], record["history"]
        _check(mechanism, record)
    elif hasattr(record, "history"):
        named = getattr(record, "mechanism", None)
        if not callable(named):
            raise InvalidParameter("record", type(record).__name__, ALLOWED, "it does not name its mechanism")
        mechanism, record = named(), record.history
        _check(mechanism, record)
    if not isinstance(record, (list, tuple)):
        raise InvalidParameter("record", type(record).__name__, ALLOWED)
    return list(record)


def _check(mechanism: Any, history: Any) -> None:
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        because = "only the records of the accountants 'rdp', 'gdp' and 'prv' are known to be subsampled Gaussian steps"
        raise Unsupported(f"the Opacus mechanism {mechanism!r}", because)
    if mechanism == "gdp" and isinstance(history, (list, tuple)) and not history:
        because = "that accountant drops its history when it refuses a step of other noise or rate"
        raise Unsupported("an empty history of the Opacus mechanism 'gdp'", because, "leave out a run without steps")


def _steps(place: int, triple: Any) -> Loss:
    where = f"of entry {place} of the history"
    if not isinstance(triple, (list, tuple)) or len(triple) != 3:
        raise InvalidParameter(f"entry {place} of the history", triple, TRIPLE, "give the list of all entries")
    noise, rate, steps = triple
    sigma = checks.positive(f"the noise multiplier {where}", noise, "without noise nothing bounds the loss")
    share = checks.rate(f"the sample rate {where}", rate, "it is the chance that a record is sampled")
    return checks.count(f"the steps {where}", steps) * poisson(gaussian(sigma), share)
