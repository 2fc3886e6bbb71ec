from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.mechanisms import (
    Release,
    gaussian,
    gaussian_histogram,
    histogram,
    laplace,
    sampling,
    top_k,
    top_k_of_histogram,
)

RELEASES: list[Callable[[], object]] = [
    lambda: laplace(3, 1.0, 1),
    lambda: laplace(3.0, 1.0, 1.0),
    lambda: gaussian(3, 1.0, 1),
    lambda: gaussian(3.0, 1.0, 1.0),
    lambda: histogram([3, 4], 1.0),
    lambda: gaussian_histogram([3, 4], 1.0),
    lambda: top_k([3, 4], 1, 1.0),
    lambda: top_k_of_histogram([3, 4], 1, 1.0),
]


@pytest.mark.parametrize("release", RELEASES)
def test_without_opendp_the_extra_is_named(release: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(MissingExtra, match=r"quiltwork\[noise\]"):
        release()


TYPED: list[tuple[str, Callable[[], Release[Any]]]] = [
    ("discrete_laplace", lambda: laplace(3, 0.3, 1)),
    ("lattice_laplaces", lambda: laplace(3.0, 0.3, 1.0)),
    ("discrete_gaussian", lambda: gaussian(3, 0.3, 1)),
    ("lattice_gaussians", lambda: gaussian(3.0, 0.3, 1.0)),
    ("discrete_laplace", lambda: histogram([3, 4], 0.3)),
    ("discrete_gaussian", lambda: gaussian_histogram([3, 4], 0.3)),
    ("peel", lambda: top_k([3, 4], 1, 0.3)),
    ("discrete_laplace", lambda: top_k_of_histogram([3, 4], 1, 0.3)),
]


@pytest.mark.parametrize(("sampler", "release"), TYPED)
def test_samplers_get_no_less_than_the_typed_scale(
    sampler: str, release: Callable[[], Release[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The double 0.3 is less than three tenths: noise of that scale would have more loss than is claimed."""
    real, scales = getattr(sampling, sampler), []

    def noted(*args: Any) -> Any:
        scales.append(args[-1])
        return real(*args)

    monkeypatch.setattr(sampling, sampler, noted)
    noise = release().noise
    assert scales == [noise.scale]
    assert Fraction(3, 10) <= Fraction(noise.scale) < Fraction(3001, 10000)


def test_bad_input_is_named_before_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(InvalidParameter):
        histogram([-1], 1.0)


def test_losses_need_no_sampler() -> None:
    code = (
        "import sys, quiltwork.mechanisms as m\n"
        "m.histogram_loss(1.0), m.top_k_loss(2, 1.0), m.laplace_loss(1.0, 1.0), m.gaussian_loss(1.0, 1)\n"
        "m.top_k_scale(1.0, 2), m.histogram_scale(1.0)\n"
        "assert not {'opendp', 'pandas', 'matplotlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
