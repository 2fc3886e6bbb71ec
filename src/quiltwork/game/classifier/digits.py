"""The MNIST game: who is among the images that a public digit classifier was asked about?

The images are shuffled and cut into three parts that share nothing: the classifier's training set, the candidates, and
a reference sample of other images.

Reference: seed 004 appendix P.5, Figure 1h and Table 4.  The paper states neither the number of queries, nor what is
released, nor the classifier: its figures (0.7422, 0.6609, 0.5226) cannot be compared with those of this game.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.classifier.rows import QueryRows
from quiltwork.game.classifier.shares import EDGES, query_shares
from quiltwork.game.classifier.training import Kind, PublicClassifier, train_classifier
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.population import Population
from quiltwork.game.populations.digits import digit_images
from quiltwork.game.priors import Half, Prior

__all__ = ["DigitsGame", "digits_game"]


@attrs.frozen(eq=False)
class DigitsGame:
    """A trained classifier, the people of the game, and what is published."""

    classifier: PublicClassifier
    accuracy: float
    images: FloatArray = attrs.field(repr=False)
    labels: NDArray[np.int64] = attrs.field(repr=False)
    release: QueryRows

    @property
    def population(self) -> Population:
        """Candidates and reference by their exact class probabilities."""
        return self.release.population

    def with_noise(self, noise: Gaussian | Laplace, *, clip: bool = True) -> QueryRows:
        """The same table under other noise."""
        return QueryRows(self.population, noise, clip)

    def shares(self, edges: Any = EDGES) -> Population:
        """The population of the other release: shares of the query set in bins of each class probability."""
        return query_shares(self.population, edges)


def digits_game(
    kind: Literal["digits", "mnist"] = "digits",
    candidates: int = 100,
    noise: Gaussian | Laplace | None = None,
    *,
    classifier: Kind = "logistic",
    train: int = 1000,
    reference: int | None = None,
    prior: Prior | None = None,
    seed: int = 0,
) -> DigitsGame:
    """Train the classifier, choose candidates (1 to `candidates`) and reference (default: all others).

    `noise` is Gaussian(0.2) unless stated; `accuracy` is that on the reference images.
    """
    images, labels = digit_images(kind)
    first, people = checks.count("train", train, 2), checks.count("candidates", candidates, 2)
    rest = len(images) - first - people
    others = rest if reference is None else checks.count("reference", reference, 1)
    if others < 1 or others > rest:
        given = f"{first} for training, {people} candidates and {others} reference"
        raise InvalidParameter("images", given, f"at most {len(images)} in all, with one reference at least")
    order = np.random.default_rng(checks.count("seed", seed)).permutation(len(images))
    public, inside, outside = np.split(order[: first + people + others], [first, first + people])
    model = train_classifier(images[public], labels[public], classifier, seed=seed)
    population = Population(
        model.probabilities(images[inside]),
        model.probabilities(images[outside]),
        Half() if prior is None else prior,
        f"class probabilities of {kind} by a {classifier} classifier",
        [f"P(digit {label})" for label in model.classes],
    )
    return DigitsGame(
        model,
        model.accuracy(images[outside], labels[outside]),
        images[inside],
        labels[inside],
        QueryRows(population, Gaussian(0.2) if noise is None else noise),
    )
