"""`quiltwork verify`: every number of a file that stands beside its loss, proved, refuted or not decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.options import AsJson, single
from quiltwork.errors import QuiltworkError


@single("quiltwork verify claim.json", "quiltwork verify proofs/readme.json --digits 4 --json")
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

    The file is JSON: claims, proofs (which are done again), or any document in which brackets stand beside their loss.
    Exit code 0 says that all are proved, 1 that one is refuted, 2 that one is not decided, or that the file cannot be
    read or claims nothing.
    """
    from quiltwork.proof.prove import prove_claim
    from quiltwork.proof.search import claims_of

    try:
        found = [(place, prove_claim(claim, digits)) for place, claim in claims_of(_read(file))]
    except QuiltworkError as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps([{"place": place, **proof.to_json()} for place, proof in found], indent=1))
    else:
        for place, proof in found:
            typer.echo(f"{place}: {proof}")
        typer.echo(_words([proof.verdict for _, proof in found], file))
    if any(proof.verdict == "refuted" for _, proof in found):
        raise typer.Exit(1)
    raise typer.Exit(0 if found and all(found_one for _, found_one in found) else 2)


def _read(file: Path) -> Any:
    from quiltwork.errors import InvalidParameter

    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidParameter("file", str(file), "a file that can be read", problem.strerror or "") from None
    except (ValueError, RecursionError):
        raise InvalidParameter("file", str(file), "JSON", "claims, proofs, or answers beside their loss") from None


def _words(verdicts: list[str], file: Path) -> str:
    if not verdicts:
        return f"{file.name} claims nothing: no bracket stands beside its loss and its delta, epsilon or alpha"
    counts = {word: verdicts.count(word) for word in ("proved", "refuted", "undecided") if word in verdicts}
    return ", ".join(f"{count} {word}" for word, count in counts.items())
