"""What may be sent to the interface, and what it answers where that is not a document of the library itself.

A loss is written as in a plan file, `{"gaussian": {"sigma": 40}}`; what the library refuses is refused in its words.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from quiltwork.checks import MAX_COUNT
from quiltwork.errors import InvalidParameter
from quiltwork.ledger.book.balances import Balance
from quiltwork.ledger.book.terms import Blocks
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.spec.fields.losses import Recipe
from quiltwork.spec.fields.notions import Notion
from quiltwork.spec.text.read import made_from
from quiltwork.web.service.limits import loss_from

MOST_FIELDS = 64
Name = Annotated[str, Field(min_length=1, max_length=200, description="The name of a budget.")]
Note = Annotated[str, Field(max_length=2000)]
Spenders = Annotated[list[str], Field(max_length=100, description="Who may spend, and nobody else; empty: everybody.")]
Quotas = Annotated[
    dict[str, Annotated[str, Field(max_length=40)]],
    Field(max_length=100, description='Shares of the limit by principal, in each period: {"nightly": "1/4"}.'),
]
Times = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Seconds = Annotated[float, Field(gt=0, le=4e9, description="A length of time in seconds.")]
Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
Moment = Annotated[datetime, Field(strict=False)]
Document = dict[str, Any]


class Described:
    """Plain values that are described as a model, and read as one later.

    Some losses take a while to build. A request is checked before it has a thread of its own; there nothing may take
    long, or everybody waits.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(self.model.__pydantic_core_schema__)


StatedLoss = Annotated[dict[str, Any], Described(Recipe)]
StatedNotion = Annotated[dict[str, Any] | str, Described(Notion)]


def notion_of(given: dict[str, Any] | str) -> Any:
    """The notion of neighbour that a request states, by its name or with its fields."""
    return made_from(Notion, {given: {}} if isinstance(given, str) else given).notion()


class Sent(BaseModel):
    """Nothing unknown, nothing guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few(cls, given: Any) -> Any:
        """A complaint about each of a hundred thousand unknown fields would keep everybody waiting."""
        if isinstance(given, dict) and len(given) > MOST_FIELDS:
            raise PydanticCustomError("fields", "must have at most {most} fields", {"most": MOST_FIELDS})
        return given


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
    """A release of a budget: a loss, everything in a file of any kind, or the name of a release of its plan."""

    name: Name
    loss: StatedLoss | None = None
    file: Annotated[str | Document, Field(description="A file's text, or the same as an object.")] | None = None
    release: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    times: Times = 1
    blocks: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = None

    def request(self, *, times: bool = True) -> dict[str, Any]:
        """For the ledger."""
        said: dict[str, Any] = {
            "loss": None if self.loss is None else loss_from(self.loss), "release": self.release, "blocks": self.blocks
        }  # fmt: skip
        return {**said, "times": self.times} if times else said


class Spend(Asked):
    """A release that is about to run. The same key with the same request is done once."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}, "times": 3, "key": "job-7"}]
        }
    )

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


class SetRights(Sent):
    """Who may spend from a budget from now on."""

    name: Name
    spenders: Spenders = []
    quotas: Quotas = {}
    note: Note = ""


class BlocksOf(Sent):
    """A partition of the domain."""

    label: Annotated[str, Field(min_length=1, max_length=200)]
    names: Annotated[list[str], Field(min_length=1, max_length=1000)] | None = None
    most: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Planned(Sent):
    """One release of a plan that is fixed at opening."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    loss: StatedLoss
    times: Times = 1


class Open(Sent):
    """A new budget: epsilon with or without delta, rho, or mu."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "patients", "epsilon": 2.0, "delta": 1e-6, "protects": "one patient, added or removed"}
            ]
        }
    )

    name: Name
    protects: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    neighbors: StatedNotion | None = None
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    mu: float | None = None
    filter: str | None = None
    order: float | None = None
    reveal: float = 0.0
    plan: Annotated[list[Planned], Field(min_length=1, max_length=100)] | None = None
    expires: Moment | None = None
    refresh: Seconds | None = None
    blocks: BlocksOf | None = None
    owners: Annotated[list[str], Field(max_length=100)] = []
    spenders: Spenders = []
    quotas: Quotas = {}
    note: Note = ""

    def terms(self) -> dict[str, Any]:
        """For the ledger."""
        if (self.protects is None) == (self.neighbors is None):
            raise InvalidParameter("protects", self.protects, "given, or else neighbors", "what must no release tell?")
        plan = None if self.plan is None else [(one.name, loss_from(one.loss), one.times) for one in self.plan]
        blocks = None if self.blocks is None else Blocks(self.blocks.label, self.blocks.names, self.blocks.most)
        plain = (
            "epsilon",
            "delta",
            "rho",
            "mu",
            "filter",
            "order",
            "reveal",
            "expires",
            "owners",
            "note",
            "spenders",
            "quotas",
        )
        return {
            **{name: getattr(self, name) for name in plain},
            "protects": self.protects if self.neighbors is None else notion_of(self.neighbors),
            "kind": "adaptive" if plan is None else "planned",
            "plan": plan,
            "refresh": None if self.refresh is None else timedelta(seconds=self.refresh),
            "blocks": blocks,
        }


class Admit(Sent):
    """Somebody who may use the ledger."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    role: Literal["viewer", "spender", "admin"]
    expires: Moment | None = None


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


class Refused(BaseModel):
    """A spend that was refused for its cost."""

    number: int
    time: str
    budget: str
    principal: str | None
    what: str = Field(description="The loss as JSON, or the name of a planned release.")
    times: int
    requested: str
    remaining: str


class Held(BaseModel):
    """Budget that is held for a job."""

    reservation: int
    budget: str
    status: str
    until: str
    times: int


def balance_answer(found: Balance) -> Document:
    """A balance, with what it says in words."""
    return {**found.to_json(), "percent": found.percent, "explanation": found.explain().splitlines()}


def written(receipt: Receipt, status: int = 200) -> Response:
    """A receipt in its one spelling: what is saved from the answer can be checked by whoever trusts nobody."""
    return Response(receipt.to_text(), status, media_type="application/json")
