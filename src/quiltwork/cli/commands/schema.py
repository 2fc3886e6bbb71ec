"""`quiltwork schema`: the JSON Schema of every kind of file, for editors and checks."""

from __future__ import annotations

from typing import Annotated

import typer

from quiltwork.cli.options import single

KINDS = {
    "plans": "schema",
    "tables": "table_schema",
    "priors": "prior_schema",
    "worlds": "world_schema",
    "budgets": "budget_schema",
    "all": "any_schema",
}


@single(
    "quiltwork schema > plan.schema.json",
    "quiltwork schema --all > quiltwork.schema.json",
)
def schema(
    for_tables: Annotated[bool, typer.Option("--tables", help="Of table plan files instead.")] = False,
    for_priors: Annotated[bool, typer.Option("--priors", help="Of prior files instead.")] = False,
    for_worlds: Annotated[bool, typer.Option("--worlds", help="Of world files instead.")] = False,
    for_budgets: Annotated[bool, typer.Option("--budgets", help="Of budget files instead.")] = False,
    for_all: Annotated[bool, typer.Option("--all", help="Of every kind at once.")] = False,
) -> None:
    """Print the JSON Schema of plan files."""
    import json

    from quiltwork import spec

    given = {
        "tables": for_tables, "priors": for_priors, "worlds": for_worlds, "budgets": for_budgets, "all": for_all,
    }  # fmt: skip
    wanted = [kind for kind, asked in given.items() if asked] or ["plans"]
    if len(wanted) > 1:
        raise typer.BadParameter("give --tables, --priors, --worlds, --budgets or --all, not both")
    typer.echo(json.dumps(getattr(spec, KINDS[wanted[0]])(), indent=2))
