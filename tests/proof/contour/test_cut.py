"""The cut in three: with any margin it encloses what one release has in closed form, and each part of it is needed."""

import pytest
from flint import arb

from quiltwork.proof.contour import cut
from quiltwork.proof.contour.balls import Budget, hi, lo, precision
from quiltwork.proof.contour.gaussians import MovedGaussians
from quiltwork.proof.contour.single import one_release

RATE = arb("0.01")


def found(margin: float, monkeypatch: pytest.MonkeyPatch) -> tuple[arb, arb]:
    """D of one rare release by a cut at this margin, and by its closed form."""
    monkeypatch.setattr(cut, "MARGIN", margin)
    with precision(128):
        whole = MovedGaussians([(1 - RATE, arb(0)), (RATE, arb(1))], [(arb(1), arb(0))])
        eps = arb("0.5")
        return cut._cut_at(whole, 1, eps, 1e-3, 0.12, 3.0, True, Budget(2e7)), one_release(whole, eps)


@pytest.mark.parametrize("margin", [2.5, 1.0, 0.5])
def test_any_margin_encloses(margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    enclosed, truth = found(margin, monkeypatch)
    assert lo(enclosed) <= lo(truth)
    assert hi(truth) <= hi(enclosed)


def test_what_lies_below_the_threshold_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "_missed", lambda *_: arb(0))
    enclosed, truth = found(0.5, monkeypatch)
    assert hi(enclosed) < lo(truth)
