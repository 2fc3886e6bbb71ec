"""What may be sent to the interface, and what it answers where that is not a document of the library itself.

A loss is written as in a plan file, `{"gaussian": {"sigma": 40}}`; what the library refuses is refused in its words.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from quiltwork.checks import MAX_COUNT
from quiltwork.spec.notions import Notion
from quiltwork.spec.recipes import Recipe

Name = Annotated[str, Field(min_length=1, max_length=200, description="The name of a budget.")]
Note = Annotated[str, Field(max_length=2000)]
Times = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Seconds = Annotated[float, Field(gt=0, le=4e9, description="A length of time in seconds.")]
Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
Document = dict[str, Any]


class Sent(BaseModel):
    """Nothing unknown, nothing guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Health(BaseModel):
    """The service is there."""

    status: Literal["ok"]
    version: str
    ledger: bool


class Me(BaseModel):
    """Who asks, and what they may do."""

    name: str | None
    role: str | None
    reads: bool
    spends: bool
    manages: bool


class Asked(Sent):
    """A release of a budget: a loss, or the name of a release of its plan."""

    name: Name
    loss: Recipe | None = None
    release: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    times: Times = 1
    blocks: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = None

    def request(self, *, times: bool = True) -> dict[str, Any]:
        """For the ledger."""
        said: dict[str, Any] = {
            "loss": None if self.loss is None else self.loss.loss(), "release": self.release, "blocks": self.blocks
        }  # fmt: skip
        return {**said, "times": self.times} if times else said


class Spend(Asked):
    """A release that is about to run. The same key with the same request is done once."""

    note: Note = ""
    key: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class Reserve(Spend):
    """A release that will start within the lease, or not at all."""

    lease: Seconds


class Move(Sent):
    """A reservation, by the number of its entry."""

    reservation: Number
    note: Note = ""


class Change(Sent):
    """A budget is paused, resumed or closed."""

    name: Name
    act: Literal["pause", "resume", "close"]
    note: Note = ""


class BlocksOf(Sent):
    """A partition of the domain."""

    label: Annotated[str, Field(min_length=1, max_length=200)]
    names: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = None
    most: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Planned(Sent):
    """One release of a plan that is fixed at opening."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    loss: Recipe
    times: Times = 1


class Open(Sent):
    """A new budget: epsilon with or without delta, rho, or mu."""

    name: Name
    protects: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    neighbors: Notion | None = None
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    filter: str | None = None
    order: float | None = None
    reveal: float = 0.0
    plan: Annotated[list[Planned], Field(min_length=1, max_length=1000)] | None = None
    expires: datetime | None = None
    refresh: Seconds | None = None
    blocks: BlocksOf | None = None
    owners: Annotated[list[str], Field(max_length=100)] = []
    note: Note = ""

    def terms(self) -> dict[str, Any]:
        """For the ledger."""
        from quiltwork.errors import InvalidParameter
        from quiltwork.ledger.terms import Blocks

        if (self.protects is None) == (self.neighbors is None):
            raise InvalidParameter("protects", self.protects, "given, or else neighbors", "what must no release tell?")
        plan = None if self.plan is None else [(one.name, one.loss.loss(), one.times) for one in self.plan]
        blocks = None if self.blocks is None else Blocks(self.blocks.label, self.blocks.names, self.blocks.most)
        plain = ("epsilon", "delta", "rho", "mu", "filter", "order", "reveal", "expires", "owners", "note")
        return {
            **{name: getattr(self, name) for name in plain},
            "protects": self.protects if self.neighbors is None else self.neighbors.notion(),
            "kind": "adaptive" if plan is None else "planned",
            "plan": plan,
            "refresh": None if self.refresh is None else timedelta(seconds=self.refresh),
            "blocks": blocks,
        }


class Admit(Sent):
    """Somebody who may use the ledger."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    role: Literal["viewer", "spender", "admin"]
    expires: datetime | None = None


class Revoke(Sent):
    """Somebody whose token ends."""

    name: Annotated[str, Field(min_length=1, max_length=200)]


class Token(BaseModel):
    """A token, which is shown this once."""

    name: str
    role: str
    token: str


class Person(BaseModel):
    """Somebody who may use the ledger."""

    name: str
    role: str
    expires: str | None
    revoked: bool


class Exceeds(BaseModel):
    """Whether a spend would be refused now."""

    exceeds: bool


class Held(BaseModel):
    """Budget that is held for a job."""

    reservation: int
    budget: str
    status: str
    until: str
    times: int
