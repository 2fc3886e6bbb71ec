"""`quiltwork ledger admit`, `revoke` and `principals`: who may use a ledger."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.files import secret_file
from quiltwork.cli.ledger.connection import Saved, Where, ledger_command
from quiltwork.cli.options import one_of

Role = Annotated[
    str,
    typer.Argument(
        metavar="ROLE",
        help="viewer, spender or admin.",
        show_default=False,
        autocompletion=one_of("viewer", "spender", "admin"),
    ),
]
Principal = Annotated[str, typer.Argument(metavar="NAME", help="Who it is.", show_default=False)]


@ledger_command(
    "quiltwork ledger admit ada admin --save ada.token",
    "quiltwork ledger admit jobs spender --expires 2027-01-01T00:00Z",
)
def admit(
    where: Where,
    name: Principal,
    role: Role,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="When the token ends: 2027-01-01T00:00Z.")] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the token to a new file, readable by you alone.")
    ] = None,
) -> None:
    """Name somebody who may use the ledger, and show the token this once.

    The first one must be an admin; from then on every use of the ledger asks for a token.
    """
    from quiltwork.cli.ledger import typed

    until = None if expires is None else typed.moment("expires", expires)

    def admitted() -> str:
        with where.reached() as ledger:
            return ledger.admit(name, role, expires=until)

    if save is None:
        token, saved = admitted(), False
    else:
        with secret_file("save", save) as write:  # before anybody is admitted: a token that is lost may lock all out
            token = admitted()
            saved = write(token + "\n")
    value: dict[str, Any] = {"schema": "quiltwork/admitted/1", "name": name, "role": role}
    value |= {"expires": None if until is None else until.isoformat()}
    value |= {"file": str(save)} if saved else {"token": token}

    def show(view: Any) -> None:
        if saved:
            view.say(f"admitted {name} as {role}; the token is in {save}")
            return
        print(token)
        print(f"admitted {name} as {role}; this token is shown only now", file=sys.stderr)

    where.answer(value, show)


@ledger_command("quiltwork ledger revoke ada")
def revoke(where: Where, name: Principal, receipt: Saved = None) -> int:
    """End somebody's token now."""
    return where.act(lambda ledger: ledger.revoke(name), receipt)


@ledger_command("quiltwork ledger principals --token-file ada.token")
def principals(where: Where) -> None:
    """Everybody who was admitted."""
    with where.reached() as ledger:
        found = ledger.principals()
    plain = [
        {"name": one.name, "role": one.role, "identity": one.identity, "expires": one.expires, "revoked": one.revoked}
        for one in found
    ]
    where.answer({"schema": "quiltwork/principals/1", "principals": plain}, lambda view: view.show_principals(found))
