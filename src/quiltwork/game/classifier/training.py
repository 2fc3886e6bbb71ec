"""The public classifier: trained on images that nobody in the game is in.

Multinomial logistic regression, or a small network with one hidden layer, both from scikit-learn.  What it answers is
made exact rows of probabilities: in [0, 1], with sums of 1 up to rounding.

Reference: seed 004 appendix P.5 (a classifier trained on the training set, queried with other images).
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, MissingExtra

__all__ = ["Kind", "PublicClassifier", "train_classifier"]

Kind = Literal["logistic", "network"]
_HIDDEN = 64


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
    if kind not in ("logistic", "network"):
        raise InvalidParameter("kind", kind, "'logistic' or 'network'")
    values = _images(images, None)
    truth = np.asarray(labels)
    if truth.shape != (len(values),) or truth.dtype.kind not in "iu":
        raise InvalidParameter("labels", f"{truth.dtype} of shape {truth.shape}", "one whole number an image")
    if len(np.unique(truth)) < 2:
        raise InvalidParameter("labels", np.unique(truth).tolist(), "at least two classes")
    model = _model(kind, checks.count("seed", seed))
    with warnings.catch_warnings():
        # a limit on iterations stops the fit early, which is no fault of a public classifier
        warnings.simplefilter("ignore")
        model.fit(values, truth)
    return PublicClassifier(kind, tuple(int(label) for label in model.classes_), values.shape[1], model)


def _model(kind: Kind, seed: int) -> Any:
    try:
        linear: Any = import_module("sklearn.linear_model")
        networks: Any = import_module("sklearn.neural_network")
    except ImportError:
        raise MissingExtra("scikit-learn", "game") from None
    if kind == "logistic":
        return linear.LogisticRegression(max_iter=300)
    return networks.MLPClassifier((_HIDDEN,), max_iter=100, random_state=seed % 2**32)


def _images(images: Any, pixels: int | None) -> FloatArray:
    allowed = "a matrix of pixels in [0, 1], one row an image"
    values = checks.numbers("images", images, allowed, 0.0, 1.0)
    if values.ndim != 2 or (pixels is not None and values.shape[1] != pixels):
        wanted = allowed if pixels is None else f"{allowed}, with {pixels} columns"
        raise InvalidParameter("images", f"shape {values.shape}", wanted)
    return values
