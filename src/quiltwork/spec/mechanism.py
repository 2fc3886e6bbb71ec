"""What every family of losses in a plan file can do: be a loss, describe itself, and refuse what the engine refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.spec.fields.fields import Strict
from quiltwork.spec.text.document import shown

__all__ = ["Fields", "Mechanism", "shown"]

Fields = Mapping[str, Any]


class Mechanism(Strict):
    """One release of a named family."""

    def loss(self) -> Loss:
        """The symbolic loss."""
        raise NotImplementedError

    def describe(self) -> str:
        """A few words for tables."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The inverse of `loss`, from what the family writes about itself."""
        return cls(**fields)

    @model_validator(mode="after")
    def _holds(self) -> Self:
        """What the engine refuses is refused here, where the line is known."""
        try:
            for part in self.loss().parts:
                part.family.pairs()
        except InvalidParameter as error:
            problem = f"must be {error.allowed}, got {shown(error.given)}" + (f": {error.hint}" if error.hint else "")
            own = error.name in type(self).model_fields
            context: dict[str, Any] = {"at": (error.name,) if own else ()}
            text = problem if own else f"{error.name} {problem}"
            raise PydanticCustomError("refused", "{problem}", {"problem": text, **context}) from None
        except QuiltworkError as error:
            raise PydanticCustomError("refused", "{problem}", {"problem": str(error)}) from None
        return self
