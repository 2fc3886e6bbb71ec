"""`quiltwork schema`: the JSON Schema of every kind of file, for editors and checks."""

from __future__ import annotations

from typing import Annotated

import typer

from quiltwork.cli.options import single


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

    kinds = {
        spec.table_schema: for_tables, spec.prior_schema: for_priors, spec.world_schema: for_worlds,
        spec.budget_schema: for_budgets, spec.any_schema: for_all,
    }  # fmt: skip
    wanted = [kind for kind, asked in kinds.items() if asked] or [spec.schema]
    if len(wanted) > 1:
        raise typer.BadParameter("give --tables, --priors, --worlds, --budgets or --all, not both")
    typer.echo(json.dumps(wanted[0](), indent=2))
