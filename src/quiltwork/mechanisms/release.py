"""`Release`: what a mechanism gives back, with the loss that its noise is known to have."""

from __future__ import annotations

from typing import Generic, TypeVar

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.kinds import document

Value_co = TypeVar("Value_co", covariant=True)


@document("drawn_noise/1")
@attrs.frozen
class Noise:
    """What was drawn: the law by name, the scale handed to the sampler, and how many independent draws."""

    law: str
    scale: float
    draws: int = 1

    def __str__(self) -> str:
        return f"{self.law}, scale {self.scale!r}, {self.draws} draw{'' if self.draws == 1 else 's'}"


@document("drawn_release/1")
@attrs.frozen(eq=False)
class Release(Generic[Value_co]):
    """A released value.

    `loss` bounds what it tells about one entry of the data that changes to another value (replace one), everything else
    being fixed; of a total whose sensitivity is for entries that come and go, about one of these. `noise` says what was
    drawn. The value may be published; what it was computed from may not.
    """

    value: Value_co
    loss: Loss
    noise: Noise
