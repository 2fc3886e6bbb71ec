"""Opacus: what an accountant wrote down while a model was trained, an accountant that does so itself, and canaries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from quiltwork.adapters.history import MECHANISMS, steps_of
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidParameter, Unsupported

if TYPE_CHECKING:
    from quiltwork.adapters.accountants.opacus import Accountant
    from quiltwork.adapters.canaries import Canaries

__all__ = ["Accountant", "Canaries", "from_opacus"]

LATER = {"Accountant": "accountants.opacus", "Canaries": "canaries"}  # which makes itself known to Opacus; needs torch

CHECKPOINT = "privacy_accountant_state_dict"  # where a checkpoint of a privacy engine keeps the state
ALLOWED = "an Opacus accountant, a PrivacyEngine, a checkpoint, a state_dict() or a history"


def from_opacus(record: Any) -> Loss:
    """The loss of a training run, from an Opacus accountant, its engine, its state dict, a checkpoint or a history.

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
    return compose(*(steps_of(place, triple) for place, triple in enumerate(_history(record), 1)))


def _history(record: Any) -> list[Any]:
    record = getattr(record, "accountant", record)  # of a PrivacyEngine
    if isinstance(record, Mapping):
        record = record.get(CHECKPOINT, record)
    if isinstance(record, Mapping):
        missing = [name for name in ("history", "mechanism") if name not in record]
        if missing:
            raise InvalidParameter("record", sorted(map(str, record)), ALLOWED, f"the state has no {missing[0]!r}")
        mechanism, record = record["mechanism"], record["history"]
        _check(mechanism, record)
    elif hasattr(record, "history"):
        named = getattr(record, "mechanism", None)
        if not callable(named):
            raise InvalidParameter("record", type(record).__name__, ALLOWED, "it does not name its mechanism")
        mechanism, record = named, record.history
        _check(mechanism, record)
    if not isinstance(record, (list, tuple)):
        raise InvalidParameter("record", type(record).__name__, ALLOWED)
    return list(record)


def _check(mechanism: Any, history: Any) -> None:
    if callable(mechanism):  # some versions store the method that names it
        mechanism = mechanism()
    if not isinstance(mechanism, str) or mechanism not in MECHANISMS:
        known = ", ".join(map(repr, MECHANISMS))
        because = f"only the records of the accountants {known} are known to be subsampled Gaussian steps"
        raise Unsupported(f"the Opacus mechanism {mechanism!r}", because)
    if mechanism == "gdp" and isinstance(history, (list, tuple)) and not history:
        because = "that accountant drops its history when it refuses a step of other noise or rate"
        raise Unsupported("an empty history of the Opacus mechanism 'gdp'", because, "leave out a run without steps")


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"quiltwork.adapters.{LATER[name]}"), name)


if "opacus" in sys.modules:  # whoever trains with it may want to name the accountant; nobody else waits for torch
    import_module("quiltwork.adapters.accountants.opacus")
