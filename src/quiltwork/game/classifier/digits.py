"""The MNIST game: who is among the images that a public digit classifier was asked about?

The images are shuffled and cut into three parts that share nothing: the classifier's training set, the candidates, and
a reference sample of other images.  The classifier is multinomial logistic regression, or a small network with one
hidden layer, both from scikit-learn; what it answers is made exact rows of probabilities: in [0, 1], with sums of 1 up
to rounding.

Reference: seed 004 appendix P.5, Figure 1h and Table 4.  The paper states neither the number of queries, nor what is
released, nor the classifier: its figures (0.7422, 0.6609, 0.5226) cannot be compared with those of this game.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, imported
from quiltwork.game.classifier.table import QueryRows
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.people.population import Half, Population, Prior, rows_of_people
from quiltwork.game.people.sources.digits import digit_images
from quiltwork.kinds import not_written

EDGES = (0.01, 0.1, 0.5, 0.9, 0.99)  # class probabilities crowd at both ends


def query_shares(population: Population, edges: Any = EDGES) -> Population:
    """The same people, described by the bins of their class probabilities: [0, e1), [e1, e2), ..., [last, 1].

    >>> rows = Population([[0.05, 0.95], [0.6, 0.4]], [[0.5, 0.5]])
    >>> binned = query_shares(rows, [0.5])
    >>> binned.candidates.astype(int).tolist(), binned.attributes[:2]
    ([[1, 0, 0, 1], [0, 1, 1, 0]], ('P(class 0) in [0, 0.5)', 'P(class 0) in [0.5, 1]'))
    """
    if not isinstance(population, Population):
        raise InvalidParameter("population", population, "a Population of class probabilities")
    cuts = checks.numbers("edges", edges, "increasing numbers in (0, 1)", 0.0, 1.0)
    if cuts.ndim != 1 or cuts[0] <= 0.0 or cuts[-1] >= 1.0 or bool(np.any(np.diff(cuts) <= 0)):
        raise InvalidParameter("edges", edges, "increasing numbers in (0, 1)")
    ends = ["0", *(f"{cut:g}" for cut in cuts), "1"]
    bins = [f"[{low}, {high}{']' if high == '1' else ')'}" for low, high in pairwise(ends)]
    names = population.attributes or tuple(f"P(class {label})" for label in range(population.size[1]))
    attributes = [f"{name} in {each}" for name in names for each in bins]
    return Population(
        _binned(population.candidates, cuts),
        _binned(population.reference, cuts),
        population.prior,
        f"{population.source}, in {len(bins)} bins a class",
        attributes,
    )


def _binned(rows: FloatArray, cuts: FloatArray) -> FloatArray:
    place = np.searchsorted(cuts, rows, side="right")
    return np.asarray(np.eye(len(cuts) + 1)[place].reshape(len(rows), -1))


Kind = Literal["logistic", "network"]
_HIDDEN = 64


@not_written("it holds a trained network", "keep the options and the seed, and train it again")
@attrs.frozen(eq=False)
class PublicClassifier:
    """A trained model that anybody may run."""

    kind: str
    classes: tuple[int, ...]
    pixels: int
    _model: Any = attrs.field(repr=False)

    def probabilities(self, images: Any) -> FloatArray:
        """Class probabilities, one row an image."""
        values = _images(images, self.pixels)
        shares = np.clip(np.asarray(self._model.predict_proba(values), dtype=float), 0.0, 1.0)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def accuracy(self, images: Any, labels: Any) -> float:
        """The share of images whose likeliest class is right."""
        named = np.asarray(self.classes)[self.probabilities(images).argmax(axis=1)]
        return float(np.mean(named == np.asarray(labels)))


def train_classifier(images: Any, labels: Any, kind: Kind = "logistic", *, seed: int = 0) -> PublicClassifier:
    """Train on images (one a row, pixels in [0, 1]) and their classes (whole numbers)."""
    checks.one_of("kind", kind, ("logistic", "network"))
    values = _images(images, None)
    truth = np.asarray(labels)
    if truth.shape != (len(values),) or truth.dtype.kind not in "iu":
        raise InvalidParameter("labels", f"{truth.dtype} of shape {truth.shape}", "one whole number an image")
    if len(np.unique(truth)) < 2:
        raise InvalidParameter("labels", np.unique(truth).tolist(), "at least two classes")
    start = checks.count("seed", seed) % 2**32
    linear, networks = (
        imported(f"sklearn.{name}", "scikit-learn", "game") for name in ("linear_model", "neural_network")
    )
    model = linear.LogisticRegression(max_iter=300)
    if kind == "network":
        model = networks.MLPClassifier((_HIDDEN,), max_iter=100, random_state=start)
    with warnings.catch_warnings():
        # a limit on iterations stops the fit early, which is no fault of a public classifier
        warnings.simplefilter("ignore")
        model.fit(values, truth)
    return PublicClassifier(kind, tuple(int(label) for label in model.classes_), values.shape[1], model)


def _images(images: Any, pixels: int | None) -> FloatArray:
    allowed = "a matrix of pixels in [0, 1], one row an image"
    values = checks.numbers("images", images, allowed, 0.0, 1.0)
    if values.ndim != 2 or (pixels is not None and values.shape[1] != pixels):
        wanted = allowed if pixels is None else f"{allowed}, with {pixels} columns"
        raise InvalidParameter("images", f"shape {values.shape}", wanted)
    return values


@rows_of_people
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
