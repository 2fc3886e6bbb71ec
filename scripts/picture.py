"""Draw the README's picture: the trade-off curve of its example, beside perfect privacy and the Rényi bound."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

import quiltwork as qw
from quiltwork.compose.accountant.moments import beta_bound, worst_moments

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "quiltwork"
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)


def main() -> None:
    total = qw.compose(10_000 * qw.poisson(qw.gaussian(0.8), 0.01), 20 * qw.laplace(10.0))
    alpha = np.linspace(0.0, 1.0, 401)
    exact = total.beta(alpha)
    moments, reveal = worst_moments(total.parts)
    loose = beta_bound(moments, reveal, alpha)
    figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.plot(alpha, 1 - alpha, color="0.6", linewidth=1, linestyle="--", label="perfect privacy")
    axes.fill_between(alpha, exact.lower, 1 - alpha, color="#2a6f97", alpha=0.10)
    axes.plot(alpha, exact.lower, color="#2a6f97", linewidth=2.2, label="quiltwork (both ends of the bracket)")
    axes.plot(alpha, exact.upper, color="#2a6f97", linewidth=2.2)
    axes.plot(alpha, loose, color="#c1666b", linewidth=1.4, label="what Rényi accounting can promise")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="type I error", ylabel="least type II error")
    axes.set_title("10,000 steps of subsampled Gaussian noise and 20 Laplace releases", fontsize=11)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    target = Path(__file__).parent.parent / "docs" / "images" / "tradeoff.svg"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
