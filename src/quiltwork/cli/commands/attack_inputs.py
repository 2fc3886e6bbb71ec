"""What `quiltwork attack` is told on the command line: a population and defences, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.game import populations
from quiltwork.game.defenders import Constant, Exact, Gaussian, Laplace, RateDistortion, WaterFilling
from quiltwork.game.learned import Generative
from quiltwork.game.people.population import Population
from quiltwork.game.people.priors import Half, Independent, Prior

__all__ = ["DEFENCES", "SOURCES", "defender", "population_of", "prices_in"]

DEFENCES = (
    "none, constant, constant-reference, gaussian:SIGMA, laplace:SCALE, rate-distortion:ERROR, water-filling:ERROR, "
    "generative:KAPPA, paper:KAPPA"
)
REFERENCE = 400  # people, where as many as one likes can be had
SOURCES = ("genotypes", "independent", "adult", "adult-like", "digits", "mnist", "rows")
_PLAIN: dict[str, Callable[[], Any]] = {
    "none": Exact,
    "constant": Constant,
    "constant-reference": lambda: Constant(at="reference"),
}
_SIZED: dict[str, Callable[[float], Any]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "rate-distortion": RateDistortion,
    "water-filling": WaterFilling,
    "generative": lambda kappa: Generative(kappa=kappa),
    "paper": lambda kappa: Generative(architecture="paper", kappa=kappa),
}


def prices_in(path: Path) -> tuple[float, ...]:
    """Prices of the attributes from a text file: numbers, separated by commas, blanks or line ends."""
    words = path.read_text(encoding="utf-8").replace(",", " ").split()
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise InvalidParameter("weights", str(path), "a file of numbers, one an attribute") from None


def defender(words: str, weights: tuple[float, ...] | None = None) -> Any:
    """A defender from its name and, after a colon, its size; with prices of the attributes where it knows any."""
    name, colon, size = words.partition(":")
    if name in _PLAIN and not colon:
        if weights is not None:
            raise InvalidParameter("weights", words, "left out", "this defence has no use for prices of attributes")
        return _PLAIN[name]()
    if name in _SIZED and colon:
        try:
            number = float(size)
        except ValueError:
            raise InvalidParameter("defence", words, f"{name}: and a number, such as {name}:0.1") from None
        made = _SIZED[name](checks.real(f"the size of {name}", number))
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
    notice: Callable[[str], None],
) -> Population:
    """The people of the game, simulated or read."""
    chosen = _prior(prior)
    if source in ("adult", "rows") and path is None:
        raise InvalidParameter("data", None, f"the path of a file for --from {source}")
    if source not in ("adult", "rows") and path is not None:
        raise InvalidParameter("data", str(path), f"no file: --from {source} needs none", "use --from rows or adult")
    if reference is None and source not in ("adult", "rows"):
        reference = REFERENCE
    people: dict[str, Any] = {"candidates": candidates, "reference": reference, "prior": chosen, "seed": seed}
    if source == "genotypes":
        return populations.genotypes(sites=attributes, cache=cache, progress=notice, **people)
    if source == "independent":
        return populations.independent(attributes=attributes, **people)
    if source == "rows":
        return populations.from_csv(path or Path(), **people)
    if source == "adult":
        return populations.adult(path or Path(), **people)
    makers: dict[str, Callable[..., Population]] = {
        "adult-like": populations.adult_like,
        "digits": populations.digits,
        "mnist": populations.mnist,
    }
    if source not in makers:
        raise InvalidParameter("from", source, " or ".join(SOURCES))
    return makers[source](**people)


def _prior(name: str) -> Prior:
    if name == "half":
        return Half()
    if name == "independent":
        return Independent(0.5)
    raise InvalidParameter("prior", name, "'half' or 'independent'")
