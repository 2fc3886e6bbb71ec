"""Every error that quiltwork raises on purpose.

    QuiltworkError
    +-- InvalidParameter  (ValueError)       a number, shape or name outside its domain
    +-- InvalidPlan       (ValueError)       a plan file that cannot be read as one
    +-- Unsupported       (TypeError)        a question this object has no proven answer to
    +-- NotCertified      (ArithmeticError)  an approximate number was used as a guarantee
    +-- Contradiction     (ArithmeticError)  two certified brackets do not meet: a bug of quiltwork
    +-- Unreachable       (ValueError)       no parameter value meets the target
    +-- UnboundedLossError (ValueError)      a plan for which no finite epsilon follows
    +-- BudgetExceeded    (ValueError)       a release was refused, and nothing was spent
    +-- NotOpen           (ValueError)       a budget, or the lease of a reservation, is not open
    +-- AlreadyRun        (ValueError)       a release ran, or its key stands for another one
    +-- AccessDenied      (PermissionError)  who asks may not do that
    +-- BrokenChain       (ValueError)       a ledger or a receipt is not what was written
    +-- ClockWentBack     (ValueError)       the clock is behind the last entry of a ledger
    +-- LedgerUnavailable (OSError)          the database of a ledger is locked, full, read only or gone
    +-- Unreadable        (OSError)          an engine failed on the data, and nothing that they hold is told
    +-- MissingExtra      (ImportError)      an optional dependency is not installed

    DisconnectedDomainWarning (UserWarning)  no two tables are neighbours, so that every promise is empty
    PrivateFitWarning         (UserWarning)  a prior was fitted on data that may be the private ones

Each message says what was given, what is allowed and what to do; the values are attributes of the error.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quiltwork.curves.bracket import Bracket

__all__ = [
    "AccessDenied",
    "AlreadyRun",
    "BrokenChain",
    "BudgetExceeded",
    "ClockWentBack",
    "Contradiction",
    "DisconnectedDomainWarning",
    "InvalidParameter",
    "InvalidPlan",
    "LedgerUnavailable",
    "MissingExtra",
    "NotCertified",
    "NotOpen",
    "PrivateFitWarning",
    "QuiltworkError",
    "UnboundedLossError",
    "Unreachable",
    "Unreadable",
    "Unsupported",
]


class QuiltworkError(Exception):
    """Root of the family: catch this to catch every deliberate refusal.

    Examples
    --------
    >>> from quiltwork import gaussian
    >>> try:
    ...     gaussian(-1.0)
    ... except QuiltworkError as refusal:
    ...     print(refusal)
    sigma must be a finite number > 0, got -1.0: it is the noise's standard deviation
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # the leaves take other arguments than their message: rebuild by state, so that errors cross process borders
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[QuiltworkError], args: tuple[Any, ...], state: dict[str, Any]) -> QuiltworkError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


def _shown(given: object, most: int = 1000) -> str:
    """What was given, cut short; also a value that cannot show itself, such as an integer of ten thousand digits."""
    try:
        text = repr(given)
    except (ValueError, TypeError, RecursionError):
        return f"a value of type {type(given).__name__}"
    return text if len(text) <= most else text[: most - 3] + "..."


class InvalidParameter(QuiltworkError, ValueError):
    """A parameter lies outside its domain; nothing was computed."""

    def __init__(self, name: str, given: object, allowed: str, hint: str = "") -> None:
        super().__init__(f"{name} must be {allowed}, got {_shown(given)}" + (f": {hint}" if hint else ""))
        self.name, self.given, self.allowed, self.hint = name, given, allowed, hint


class InvalidPlan(QuiltworkError, ValueError):
    """A plan file is malformed; `where` names the field, `problem` what is wrong with it, `others` is what else is."""

    def __init__(self, where: str, problem: str, line: int | None = None, others: Sequence[InvalidPlan] = ()) -> None:
        self.sentence = f"{where}: {problem}" if line is None else f"line {line}, {where}: {problem}"
        more = f" (and {len(others)} more problem{'s' if len(others) > 1 else ''})" if others else ""
        super().__init__(self.sentence + more)
        self.where, self.problem, self.line, self.others = where, problem, line, tuple(others)


class Unsupported(QuiltworkError, TypeError):
    """The question is well formed, but there is no proven answer for this object."""

    def __init__(self, asked: str, because: str, instead: str = "") -> None:
        super().__init__(f"{asked} is not available: {because}" + (f"; {instead}" if instead else ""))
        self.asked, self.because, self.instead = asked, because, instead


class NotCertified(QuiltworkError, ArithmeticError):
    """An approximate value was asked to stand as a guarantee."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} is only approximate ({why}) and must not be published as a guarantee")
        self.what, self.why = what, why


class Contradiction(QuiltworkError, ArithmeticError):
    """Two certified brackets of one number do not meet: at least one certificate is wrong, and that is a bug."""

    def __init__(self, one: Bracket, two: Bracket) -> None:
        super().__init__(
            f"{one!r} and {two!r} claim to hold the same {one.quantity} but do not meet: "
            "use neither, and report this as a bug"
        )
        self.one, self.two = one, two


class Unreachable(QuiltworkError, ValueError):
    """No value of the searched parameter meets the target."""

    def __init__(self, target: str, searched: str, hint: str = "") -> None:
        super().__init__(f"no value in {searched} reaches {target}" + (f": {hint}" if hint else ""))
        self.target, self.searched, self.hint = target, searched, hint


class MissingExtra(QuiltworkError, ImportError):
    """An optional dependency is missing; the message is the one line that installs it."""

    def __init__(self, package: str, extra: str, command: str | None = None) -> None:
        super().__init__(f"{package} is not installed: " + (command or f"pip install 'quiltwork[{extra}]'"))
        self.package, self.extra = package, extra


EXTRAS = {  # packages that not every installation has, with the extra that brings each
    **dict.fromkeys(("typer", "rich", "yaml", "pydantic"), "cli"),
    "matplotlib": "report",
    **dict.fromkeys(("fastapi", "starlette", "uvicorn", "jinja2", "plotly", "python_multipart"), "web"),
    "highspy": "design",
    "flint": "proof",
    **dict.fromkeys(("sqlalchemy", "alembic", "psycopg", "cryptography", "argon2"), "ledger"),
}


def missing(error: ImportError) -> ImportError:
    """A failed import in the words of MissingExtra; the error itself when no extra brings what is missing."""
    package = str(error.name).partition(".")[0]
    return MissingExtra(package, EXTRAS[package]) if package in EXTRAS else error


def imported(module: str, package: str, extra: str, command: str | None = None) -> Any:
    """A module of an optional dependency; without it, the error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(package, extra, command) from None


class UnboundedLossError(QuiltworkError, ValueError):
    """One step of the table moves a query's input farther than its guarantee reaches: no finite epsilon follows."""

    def __init__(self, message: str, queries: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.queries = queries


class BudgetExceeded(QuiltworkError, ValueError):
    """A release was refused; nothing was spent and no noise was drawn."""

    def __init__(self, *, budget: object, requested: str, remaining: str, hint: str = "") -> None:
        super().__init__(
            f"budget {budget} has {remaining} left, this release needs {requested}: "
            + (hint or "lower its cost, or open a new budget")
        )
        self.budget, self.requested, self.remaining, self.hint = budget, requested, remaining, hint


class NotOpen(QuiltworkError, ValueError):
    """A budget is paused, closed or past its time, or a lease has lapsed; nothing was spent."""

    def __init__(self, what: str, state: str, hint: str = "") -> None:
        super().__init__(f"{what} is {state}; nothing was spent" + (f": {hint}" if hint else ""))
        self.what, self.state, self.hint = what, state, hint


class AlreadyRun(QuiltworkError, ValueError):
    """What was asked for happened before, or may have: it is not done a second time, and not undone."""

    def __init__(self, what: str, why: str, hint: str = "") -> None:
        super().__init__(f"{what}: {why}" + (f"; {hint}" if hint else ""))
        self.what, self.why, self.hint = what, why, hint


class AccessDenied(QuiltworkError, PermissionError):
    """Who asks is not known, or may not do that; nothing was done."""

    def __init__(self, act: str, why: str) -> None:
        super().__init__(f"{act} is not allowed: {why}")
        self.act, self.why = act, why


class BrokenChain(QuiltworkError, ValueError):
    """Something is not what was written; `seq` is the first entry that does not hold, when it is known."""

    def __init__(self, problem: str, seq: int | None = None) -> None:
        super().__init__(problem if seq is None else f"entry {seq}: {problem}")
        self.problem, self.seq = problem, seq


class ClockWentBack(QuiltworkError, ValueError):
    """The clock shows a time before the last entry: periods, leases and expiry would be wrong, so nothing was done."""

    def __init__(self, now: str, last: str) -> None:
        super().__init__(
            f"the clock shows {now}, the ledger's last entry is of {last}: set the clock; nothing was done"
        )
        self.now, self.last = now, last


class LedgerUnavailable(QuiltworkError, OSError):
    """The database cannot do it now. `certain` is False when a commit may or may not have happened.

    `key` is then the key to ask again with: the same request under the same key is done once.
    """

    def __init__(self, problem: str, hint: str = "", *, certain: bool = True, key: str | None = None) -> None:
        again = "ask again" if key is None else f"ask again with key={key!r}"
        done = "nothing was changed" if certain else f"it is not known whether it was written: {again}"
        super().__init__(f"{problem}; {done}" + (f": {hint}" if hint else ""))
        self.problem, self.hint, self.certain, self.key = problem, hint, certain, key


class Unreadable(QuiltworkError, OSError):
    """An engine failed while it read private data; its own words may quote them and are not passed on."""

    def __init__(self, stage: str, kind: str, key: str | None = None) -> None:
        again = "" if key is None else f" with key {key!r}, which is paid for"
        hint = f"see that the data can be read, then try again{again}"
        super().__init__(f"the engine failed while {stage} ({kind}): {hint}")
        self.stage, self.kind, self.key = stage, kind, key


class DisconnectedDomainWarning(UserWarning):
    """No two tables of the domain are neighbours, so that a guarantee would say nothing."""


class PrivateFitWarning(UserWarning):
    """A prior was fitted on data that may be the private ones: numbers that rest on it are no guarantee."""
