"""`quiltwork verify`: every number of a file that stands beside its loss, proved, refuted or not decided."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.options import AsJson, single
from quiltwork.errors import InvalidParameter, QuiltworkError


@single("quiltwork verify claim.json", "quiltwork verify report.html --digits 4")
def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Claims, proofs, or answers beside their loss.", show_default=False)
    ],
    digits: Annotated[
        int | None, typer.Option(help="Prove the ends rounded outward to so many digits, as people print them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove or refute the numbers of a file by ball arithmetic, apart from what computed them.

    The file holds claims, proofs (which are done again), saved brackets or releases, a report of `quiltwork report`
    (.html or .json), the JSON of `quiltwork account` or `quiltwork tables`, or any document in which brackets stand
    beside their loss.
    Exit code 0 says that all are proved, 1 that one is refuted, 2 that one is not decided, or that the file cannot be
    read or claims nothing.
    """
    from quiltwork.progress import reporting
    from quiltwork.proof.prove import Proof, prove_claim
    from quiltwork.proof.search import claims_of, unjudged

    found: list[tuple[str, Proof]] = []
    try:
        document = _read(file)
        listed = claims_of(_with_loss(document))
        left = unjudged(document, [claim for _, claim in listed])
        with reporting("proofs") as progress:
            for place, claim in listed:
                if progress is not None:
                    progress(len(found), len(listed), place)
                found.append((place, prove_claim(claim, digits)))
    except QuiltworkError as problem:
        typer.echo(f"quiltwork: {problem}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps([{"place": place, **proof.to_json()} for place, proof in found], indent=1))
    else:
        for place, proof in found:
            typer.echo(f"{place}: {proof}\n  about {_about(proof.claim.loss)}")
        if found and left:
            typer.echo(f"not judged: {left} more, beside no loss, or about something else")
        typer.echo(_words([proof.verdict for _, proof in found], file))
    if any(proof.verdict == "refuted" for _, proof in found):
        raise typer.Exit(1)
    raise typer.Exit(0 if found and all(found_one for _, found_one in found) else 2)


def _read(file: Path) -> Any:
    from quiltwork.document.page import data_in
    from quiltwork.spec import loads

    try:
        text = file.read_text(encoding="utf-8")
        kept = data_in(text, _exactly)
        if kept is not None:
            return kept
        try:
            told = _exactly(text)
        except ValueError:
            return _of_object(loads(text))
        return _of_object(loads(text)) if isinstance(told, dict) and told.get("schema") == DESIGN else told
    except OSError as problem:
        raise InvalidParameter("file", str(file), "a file that can be read", problem.strerror or "") from None
    except _Twice as problem:
        raise InvalidParameter("file", str(file), f"JSON that says {problem} once in an object") from None
    except (ValueError, AttributeError, TypeError, RecursionError, QuiltworkError):
        raise InvalidParameter(
            "file", str(file), "JSON", "claims, proofs, reports, answers beside their loss"
        ) from None


def _exactly(text: str | bytes) -> Any:
    """JSON as a person reads it: every digit counts, and nothing is said twice."""
    return json.loads(text, object_pairs_hook=_once, parse_float=_typed)


def _typed(text: str) -> float | str:
    """A double where it is the number as typed, else its digits: 0.29999999999999999999 is not 0.3."""
    value = float(text)
    try:
        return value if math.isfinite(value) and Decimal(repr(value)) == Decimal(text) else text
    except ArithmeticError:  # an exponent that no decimal has
        return text


class _Twice(Exception):
    """A member that an object has twice: who reads it may take the first, and a program takes the last."""


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise _Twice(repr(name))
        found[name] = value
    return found


def _with_loss(document: Any, depth: int = 0) -> Any:
    """Accounts of plans, of tables and of worlds, by themselves or in a report: what they say of everything together,
    beside the loss that their plan states.
    """
    if isinstance(document, list) and depth < MAX_DEPTH:
        return [_with_loss(one, depth + 1) for one in document]
    if not isinstance(document, dict) or depth >= MAX_DEPTH:
        return document
    schema = document.get("schema")
    if schema in (ACCOUNT, TABLES) and "plan" in document:
        about = {name: document[name] for name in ("delta", "epsilon", "targets") if name in document}
        if schema == TABLES:
            return {"loss": _of_tables(document["plan"]), **about}
        return {**about, **_complete(document, _of_plan, "quiltwork account")}
    if schema == WORLD:
        return _complete(document, _of_world, "quiltwork design")
    return {name: _with_loss(one, depth + 1) for name, one in document.items()}


def _complete(document: Any, read: Callable[[Any], Any], command: str) -> Any:
    """What is said in an answer, where nothing of it is missing."""
    try:
        return read(document)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, QuiltworkError):
            raise
        raise InvalidParameter("the answer", "incomplete", f"what `{command}` wrote") from None


def _of_plan(told: Any) -> Any:
    """The loss of all releases, and each release with its own."""
    from quiltwork.spec.files.plan import plan_from

    plan = plan_from(told["plan"])
    own = {one.name: one.loss().to_json() for one in plan.releases}
    each = [{"loss": own[one["name"]], "epsilon": one["epsilon"]} for one in told.get("releases", [])]
    return {"loss": plan.loss().to_json(), "releases": each}


def _of_tables(plan: Any) -> Any:
    """Every vector by which neighbours may move the statistics, with what some of them attain."""
    from quiltwork.spec.files.table_plan import table_plan_from

    curve: Any = table_plan_from(plan).plan().guarantee().curve
    return curve.to_prove().to_json()


def _of_world(told: Any) -> Any:
    """What was released before at its delta, and everything together with a designed table at its target."""
    import numpy as np

    from quiltwork.confounding.design.certificate import Counts
    from quiltwork.confounding.design.task import claimed, together
    from quiltwork.spec.files.world import world_from

    release, target, made = world_from(told["world"]).release(), told.get("target"), told.get("design")
    found = [{"loss": release.to_prove(), "delta": told["delta"], "epsilon": told["existing"]["epsilon"]}]
    if made is not None:
        odds = None if target["odds"] is None else Fraction(target["odds"])
        loss = together(release, Counts(np.array(made["counts"]), made["bits"]), made["reads"])
        found.append(claimed(loss, target["epsilon"], odds, Fraction(str(target["delta"]))))
    return found


def _of_object(made: Any) -> Any:
    """A document: a design claims that it meets its target."""
    from quiltwork.confounding.design.design import Design

    return made.task.claims(made.table) if isinstance(made, Design) else made.to_json()


MAX_DEPTH, LONGEST = 60, 200
WORLD, DESIGN = "quiltwork/design_view/1", "quiltwork/design/2"
ACCOUNT, TABLES = "quiltwork/account/1", "quiltwork/tables/1"


def _about(loss: Any) -> str:
    """What was released, in words: a verdict is worth nothing without it."""
    from quiltwork.compose.loss import Loss

    try:
        read = Loss.from_json(loss)
    except QuiltworkError:
        text = json.dumps(loss)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    side = "" if read.side == "worst" else f", one direction only: {read.side}"
    return f"{read.in_words()}{side}"


def _words(verdicts: list[str], file: Path) -> str:
    if not verdicts:
        return f"{file.name} claims nothing: no bracket stands beside its loss and its delta, epsilon or alpha"
    counts = {word: verdicts.count(word) for word in ("proved", "refuted", "undecided") if word in verdicts}
    return ", ".join(f"{count} {word}" for word, count in counts.items())
