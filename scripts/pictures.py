"""Draw the pictures of README and documentation anew, all in the style of all figures, into docs/images."""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path

import numpy as np

import quiltwork as qw
from quiltwork import audit
from quiltwork.cli import main as quiltwork
from quiltwork.compose.accountant.moments import beta_bound, worst_moments
from quiltwork.document.blocks import Chart, Trace
from quiltwork.document.charts import ALARMS, MISSES, blind_guessing, cosine
from quiltwork.document.draw.svg import figure

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
TITLE = "10,000 steps of DP-SGD and 20 Laplace releases"


def tradeoff() -> None:
    """The README's example, beside the bound of its Rényi moments."""
    total = qw.compose(10_000 * qw.poisson(qw.gaussian(0.8), 0.01), 20 * qw.laplace(10.0))
    alpha = cosine(401)
    loose = beta_bound(*worst_moments(total.parts), alpha)
    traces = (
        blind_guessing(),
        Trace("what Rényi accounting can promise", alpha, loose, "bad", dash="dash"),
        Trace("quiltwork (both ends of the bracket)", alpha, total.beta(alpha).lower, under=True),
    )
    chart = Chart("tradeoff", TITLE, ALARMS, MISSES, traces, square=True)
    (IMAGES / "tradeoff.svg").write_bytes(figure([chart], "svg", "quiltwork", TITLE))


def audited() -> None:
    """The honest mechanism of docs/audit.md: noise of 2, said to be 2."""
    rng = np.random.default_rng(1)
    inside, outside = 1.0 + rng.normal(0, 2, 5000), rng.normal(0, 2, 5000)
    audit.report(qw.gaussian(2.0), inside, outside, delta=1e-5, method="both").figure(IMAGES / "audit.svg")


def designed() -> None:
    """The screening pipeline of docs/confounding.md."""
    world = str(ROOT / "examples" / "worlds" / "medical.yaml")
    quiltwork(["design", world, "--json", "--figure", str(IMAGES / "design.svg")])


def year() -> None:
    """A budget of examples/ledger_hospital.py, from opening to closing."""
    with tempfile.TemporaryDirectory() as folder:
        runpy.run_path(str(ROOT / "examples" / "ledger_hospital.py"))["main"](folder)
        (picture,) = Path(folder).glob("*.svg")
        shutil.copy(picture, IMAGES / "ledger.svg")


if __name__ == "__main__":
    for draw in (tradeoff, audited, designed, year):
        draw()
