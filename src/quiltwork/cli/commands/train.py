"""`quiltwork train`: what a run of DP-SGD costs, or the noise or the epochs that a target leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from quiltwork.cli.options import AsJson, Html, Markdown, single
from quiltwork.errors import InvalidParameter, InvalidPlan, imported

if TYPE_CHECKING:
    from quiltwork.compose.loss import Loss

ARCHIVE = b"PK"  # how files of torch.save begin
UNKNOWNS = "two of --epochs, --noise-multiplier and --epsilon (the third is found), or all three to check them"


Sampling = Literal["poisson", "fixed_size", "random_allocation", "shuffle"]  # how batches are drawn


@single(
    "quiltwork train --examples 60000 --batch 256 --epochs 20 --epsilon 3 --delta 1e-5",
    "quiltwork train --examples 60000 --batch 256 --epochs 20 --noise-multiplier 1.1 --delta 1e-5 --sampling shuffle",
    "quiltwork train --examples 60000 --batch 256 --noise-multiplier 1.1 --epsilon 3 --delta 1e-5",
    "quiltwork train --from-opacus checkpoint.pt --delta 1e-5",
)
def train(
    delta: Annotated[float, typer.Option(help="Answer at this delta.", show_default=False)],
    examples: Annotated[int | None, typer.Option(help="Examples in the training set.")] = None,
    batch: Annotated[int | None, typer.Option(help="Size of a batch; of Poisson batches the expected one.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the training set.")] = None,
    noise_multiplier: Annotated[
        float | None, typer.Option(help="Standard deviation of the noise on the sum, over the clipping norm.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Target epsilon of the whole run.")] = None,
    sampling: Annotated[Sampling | None, typer.Option(help="How batches are drawn.", show_default="poisson")] = None,
    from_opacus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of Opacus: a checkpoint, or accountant.state_dict() as JSON.")
    ] = None,
    as_json: AsJson = False,
    html: Html = None,
    markdown: Markdown = None,
) -> None:
    """Price a training run with DP-SGD, or find the noise multiplier or the epochs that meet a target.

    Of --epochs, --noise-multiplier and --epsilon give two, and the third is found from the safe side. Exit code 1 says
    that the target is missed or cannot be met.
    """
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, told, waiting
    from quiltwork.report.answers import training as answers
    from quiltwork.report.pages.training import training_report

    check_writable(html=html, markdown=markdown)
    at = checks.probability("delta", delta)
    goal = None if epsilon is None else checks.positive("epsilon", epsilon)
    if from_opacus is not None:
        if (examples, batch, epochs, noise_multiplier, sampling) != (None,) * 5:
            raise InvalidParameter(
                "--from-opacus", str(from_opacus), "with --delta and --epsilon only", "it says the rest itself"
            )
        recorded = _recorded(from_opacus)
        with waiting("accounting"):
            found = answers.train_recorded(recorded, at, goal)
    else:
        if examples is None or batch is None:
            raise InvalidParameter("the run", "too little", "given by --examples and --batch, or by --from-opacus")
        if sum(one is None for one in (epochs, noise_multiplier, goal)) > 1:
            raise InvalidParameter("the run", "too little", UNKNOWNS)
        asked = answers.Asked(examples, batch, sampling or "poisson", at, epochs, noise_multiplier, goal)
        with waiting("accounting"):
            found = answers.train(asked)
    raise typer.Exit(told(training_report(found, detail(html, markdown)), as_json, html=html, markdown=markdown))


def _recorded(path: Path) -> Loss:
    """The loss of a run from a checkpoint of Opacus, or from the state of its accountant as JSON."""
    from quiltwork.adapters.opacus import from_opacus

    with path.open("rb") as file:
        saved_by_torch = file.read(len(ARCHIVE)) == ARCHIVE
    return from_opacus(_checkpoint(path) if saved_by_torch else _state(path))


def _state(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidPlan(str(path), f"must be JSON, or a checkpoint that torch wrote ({error})") from None


def _checkpoint(path: Path) -> Any:
    """What torch.save wrote; weights stay on disk, and nothing in it is executed."""
    torch = imported("torch", "torch", "game", "pip install torch==2.13.0")
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # of torch, of pickle, of the archive
        line = " ".join(str(error).split()).partition(". ")[0][:200]  # advice to trust the file follows
        raise InvalidPlan(str(path), f"must be a checkpoint of plain values that torch wrote ({line})") from None
