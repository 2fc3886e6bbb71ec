"""`quiltwork attack`: retrain every attacker against one defence or more, and say what the best of them can tell."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from quiltwork.cli.options import AsJson, one_of, single
from quiltwork.errors import InvalidParameter

if TYPE_CHECKING:
    from quiltwork.curves.bracket import Bracket
    from quiltwork.game.learned import Generative, Trained
    from quiltwork.game.people.population import Population
    from quiltwork.game.releases import Defence, SummaryStatistics
    from quiltwork.report.pages.attack import Attacked

SOURCES = ("genotypes", "independent", "adult-like", "digits", "mnist", "adult", "vcf", "rows")
REFERENCE = 400  # people, where as many as one likes can be had
DEFENCES = (
    "none, constant, constant-reference, gaussian:SIGMA, laplace:SCALE, rate-distortion:ERROR, water-filling:ERROR, "
    "sup-norm:EPSILON, peeling:EPSILON, generative:KAPPA, paper:KAPPA, fixed-response:KAPPA, adaptive-response:KAPPA, "
    "optimal-response:KAPPA, score-response:KAPPA"
)


@single(
    "quiltwork attack --from independent --defence gaussian:0.1 --quick",
    "quiltwork attack --defence gaussian:0.1 --defence rate-distortion:0.025 --figure roc.svg",
    "quiltwork attack rows.csv --defence laplace:0.05 --at-most 0.6 --html attack.html",
)
def attack(
    data: Annotated[
        Path | None, typer.Argument(help="Rows of 0 and 1 (csv, npy, npz), genotypes (vcf), or the Adult file.")
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="Whose rows: genotypes, independent, adult-like (simulated), digits, mnist, adult, vcf, rows (DATA).",
            show_default="genotypes, or rows when DATA is given",
            autocompletion=one_of(*SOURCES),
        ),
    ] = "",
    defence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:SIZE]",
            help=f"{DEFENCES}; repeat to compare.",
            show_default="gaussian:0.1",
            autocompletion=one_of(*re.sub("[A-Z]+", "", DEFENCES).split(", ")),
        ),
    ] = None,
    candidates: Annotated[int, typer.Option(help="People who may be in the data.")] = 100,
    reference: Annotated[
        int | None,
        typer.Option(help="Other people, whom attackers may know.", show_default="400, or all other rows of DATA"),
    ] = None,
    attributes: Annotated[int, typer.Option(help="Attributes of simulated people.")] = 500,
    prior: Annotated[
        str,
        typer.Option(
            help="Who is in the data: half of the candidates, or independent coins.",
            autocompletion=one_of("half", "independent"),
        ),
    ] = "half",
    quick: Annotated[bool, typer.Option("--quick", help="Only attackers that train no network.")] = False,
    delta: Annotated[float, typer.Option(help="Answer certified epsilons at this delta.")] = 1e-5,
    at_most: Annotated[
        float | None, typer.Option(help="Exit with 1 when the best attacker's interval reaches above this AUC.")
    ] = None,
    gate: Annotated[bool, typer.Option(help="A learned defence that loses to a closed form is replaced by it.")] = True,
    steps: Annotated[
        int | None, typer.Option(help="Training steps of a learned defence.", show_default="as it needs")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
    cache: Annotated[Path | None, typer.Option(help="Keep simulated genomes in this .npz file.")] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write a report, one self-contained page.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the ROC curves: .svg, .png or .pdf; one numbered file a defence.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Also write scores of an informed attacker for `quiltwork audit`.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Runs of the mechanism behind --scores.")] = 10000,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep the training of a learned defence in this file.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from --checkpoint.")] = False,
    weights: Annotated[
        Path | None, typer.Option(help="File of prices, one number an attribute; 0 says that nobody needs it.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
) -> None:
    """Attack a release of shares: every attacker is retrained against the frozen defence.

    Prints what each attacker knows and reaches, beside what is certified. With `paper:0` it shows how a learned defence
    fools the attacker it was trained with, and no other (add --no-gate to attack it nevertheless).
    """
    from quiltwork import checks
    from quiltwork.cli.files import check_writable
    from quiltwork.cli.terminal import detail, figure_kind, told
    from quiltwork.game.learned import Generative
    from quiltwork.game.measures import confident
    from quiltwork.report.pages.attack import attack_report

    chosen = source or ("genotypes" if data is None else "rows")
    prices = None if weights is None else prices_in(weights)
    # all of it is refused before the work, not after it
    defenders = [(words, defender(words, prices)) for words in defence or ["gaussian:0.1"]]
    confident(confidence)
    learned = sum(isinstance(made, Generative) for _, made in defenders)
    if steps is not None and not learned:
        raise InvalidParameter("steps", steps, "left out", "none of these defences is trained")
    if checkpoint is not None and learned != 1:
        raise InvalidParameter("checkpoint", str(checkpoint), "left out unless exactly one defence is trained")
    if resume and checkpoint is None:
        raise InvalidParameter("resume", resume, "left out without --checkpoint")
    if cache is not None and chosen != "genotypes":
        raise InvalidParameter("cache", str(cache), "left out", "it keeps simulated genomes")
    figure_kind(figure)
    check_writable(html=html, figure=figure, scores=scores)
    checks.count("trials", trials, 2)
    if at_most is not None:
        checks.probability("at-most", at_most)
    checks.probability("delta", delta)
    if scores is not None and len(defenders) > 1:
        raise InvalidParameter("scores", str(scores), "written for one defence at a time")
    people = population_of(chosen, data, candidates, reference, attributes, prior, seed, cache)
    training = {"gate": gate, "steps": steps, "checkpoint": checkpoint, "resume": resume}
    how = {"seed": seed, "confidence": confidence}
    found = [_attacked(words, made, people, quick, delta, how, training) for words, made in defenders]
    if scores is not None:
        _write_scores(found[0].release, scores, trials, seed)
    report = attack_report(found, people, delta, at_most, detail(html))
    code = told(report, as_json, html=html)
    if figure is not None:
        for place, entry in enumerate(found):
            name = figure if len(found) == 1 else figure.with_name(f"{figure.stem}_{place + 1}{figure.suffix}")
            entry.board.plot(name)
            print(f"wrote {name}", file=sys.stderr)
    raise typer.Exit(code)


def prices_in(path: Path) -> tuple[float, ...]:
    """Prices of the attributes from a text file: numbers, separated by commas, blanks or line ends."""
    words = path.read_text(encoding="utf-8").replace(",", " ").split()
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise InvalidParameter("weights", str(path), "a file of numbers, one an attribute") from None


def defender(words: str, weights: tuple[float, ...] | None = None) -> Any:
    """A defender from its name and, after a colon, its size; with prices of the attributes where it knows any."""
    import attrs

    from quiltwork import checks
    from quiltwork.game import defenders, learned

    plain: dict[str, Callable[[], Any]] = {
        "none": defenders.Exact,
        "constant": defenders.Constant,
        "constant-reference": partial(defenders.Constant, at="reference"),
    }
    sized: dict[str, Callable[[float], Any]] = {
        "gaussian": defenders.Gaussian,
        "laplace": defenders.Laplace,
        "rate-distortion": defenders.RateDistortion,
        "water-filling": defenders.WaterFilling,
        "sup-norm": defenders.SupNormNoise,
        "peeling": defenders.PeelingMean,
        "generative": lambda kappa: learned.Generative(kappa=kappa),
        "paper": lambda kappa: learned.Generative(architecture="paper", kappa=kappa),
        "fixed-response": lambda kappa: learned.FixedResponse(kappa=kappa),
        "adaptive-response": lambda kappa: learned.AdaptiveResponse(kappa=kappa),
        "optimal-response": lambda kappa: learned.OptimalResponse(kappa=kappa),
        "score-response": lambda kappa: learned.ScoreResponse(kappa=kappa),
    }
    name, colon, size = words.partition(":")
    if name in plain and not colon:
        if weights is not None:
            raise InvalidParameter("weights", words, "left out", "this defence has no use for prices of attributes")
        return plain[name]()
    if name in sized and colon:
        try:
            number = float(size)
        except ValueError:
            raise InvalidParameter("defence", words, f"{name}: and a number, such as {name}:0.1") from None
        made = sized[name](checks.real(f"the size of {name}", number))
        if weights is not None and not hasattr(made, "weights"):
            raise InvalidParameter("weights", words, "left out", "this defence has no use for prices of attributes")
        return made if weights is None else attrs.evolve(made, weights=weights)
    raise InvalidParameter("defence", words, f"one of {DEFENCES}")


def population_of(
    source: str,
    path: Path | None,
    candidates: int,
    reference: int | None,
    attributes: int,
    prior: str,
    seed: int,
    cache: Path | None,
) -> Population:
    """The people of the game, simulated or read."""
    from quiltwork.game import populations
    from quiltwork.game.people.population import Half, Independent

    if prior not in ("half", "independent"):
        raise InvalidParameter("prior", prior, "'half' or 'independent'")
    read = source in ("adult", "vcf", "rows")
    if read and path is None:
        raise InvalidParameter("data", None, f"the path of a file for --from {source}")
    if not read and path is not None:
        hint = "use --from rows, vcf or adult"
        raise InvalidParameter("data", str(path), f"no file: --from {source} needs none", hint)
    makers: dict[str, Callable[..., Population]] = {
        "genotypes": partial(populations.genotypes, sites=attributes, cache=cache, progress=_notice),
        "independent": partial(populations.independent, attributes=attributes),
        "adult": partial(populations.adult, path or Path()),
        "adult-like": populations.adult_like,
        "digits": populations.digits,
        "mnist": populations.mnist,
        "vcf": partial(populations.from_vcf, path or Path()),
        "rows": partial(populations.from_csv, path or Path()),
    }
    if source not in makers:
        raise InvalidParameter("from", source, " or ".join(makers))
    return makers[source](
        candidates=candidates,
        reference=REFERENCE if reference is None and not read else reference,
        prior=Half() if prior == "half" else Independent(0.5),
        seed=seed,
    )


def _notice(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


def _attacked(
    words: str, made: Any, people: Population, quick: bool, delta: float, how: dict[str, Any], training: dict[str, Any]
) -> Attacked:
    from quiltwork.game.ladder import default_attackers, ladder
    from quiltwork.game.learned import Generative
    from quiltwork.game.releases import SummaryStatistics
    from quiltwork.report.pages.attack import Attacked

    in_loop = None
    if isinstance(made, Generative):
        trained = _trained(made, people, how["seed"], training)
        defence: Defence = trained.defence
        in_loop = _training_words(trained)
    else:
        defence = made.prepare(people)
    release = SummaryStatistics(defence)
    board = ladder(default_attackers(quick=quick), release, **how)
    epsilon, certified, holds_for = _certified(defence, delta)
    return Attacked(words, release, board, epsilon, certified, in_loop, holds_for)


def _trained(made: Generative, people: Population, seed: int, training: dict[str, Any]) -> Trained:
    from quiltwork.game.learned import train

    try:
        return cast("Trained", train(made, None, people, seed=seed, **training))  # nothing exists that it follows
    except KeyboardInterrupt:
        if training["checkpoint"] is not None and training["checkpoint"].exists():
            print(f"stopped: --resume continues from {training['checkpoint']}", file=sys.stderr)
        raise


def _training_words(trained: Trained) -> str:
    """What training showed, and what the gate decided."""
    lines = []
    if trained.in_loop is not None:
        lines.append(
            f"Against the attacker it was trained with it ends at AUC {trained.in_loop.auc:.3f}. That is no measure of "
            "protection: see the attackers below, trained afterwards."
        )
    if trained.verdict is not None:
        used = "The learned defence is used" if trained.verdict.accepted else "The closed form is used instead"
        lines.append(f"{used}, because {trained.verdict.reason}.")
    return " ".join(lines)


def _certified(defence: Defence, delta: float) -> tuple[Bracket | None, str, str]:
    """The certificate's epsilon at delta and whose rows it holds for, or why there is none."""
    from quiltwork.errors import NotCertified, Unsupported
    from quiltwork.game.defenders.noise import POOL

    try:
        promise = defence.certificate()
    except (NotCertified, Unsupported) as error:
        return None, str(error), "-"
    words = f"protects {promise.protects}; assumes: {'; '.join(promise.assumes) or 'nothing else'}"
    return promise.epsilon(delta), words, "this pool" if POOL in promise.assumes else "any rows"


def _write_scores(release: SummaryStatistics, path: Path, count: int, seed: int) -> None:
    """Trials of the worst pair, for `quiltwork audit`."""
    import numpy as np

    from quiltwork.game.trials import trials

    drawn = trials(release, count, np.random.default_rng([seed, 1]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "member"])
        writer.writerows((repr(float(score)), 1) for score in drawn.inside)
        writer.writerows((repr(float(score)), 0) for score in drawn.outside)
    print(f"wrote {path}: {count} trials, {drawn.pair}", file=sys.stderr)
