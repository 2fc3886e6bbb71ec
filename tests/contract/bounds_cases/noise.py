"""Noise that is drawn, without drawing it: scales, losses and sums; and counts of sequences."""

from typing import Any

from tests.contract.bounds_cases.draws import Draw, kind

from quiltwork import data, mechanisms


@kind("mechanisms/scales", 6)
def _(draw: Draw) -> Any:
    epsilon, delta, reach = draw.power(-2, 1), draw.power(-9, -4), draw.pick([1, 2, 0.3, 17.5])
    return {
        "laplace": mechanisms.laplace_scale(epsilon, reach), "histogram": mechanisms.histogram_scale(epsilon),
        "top k": mechanisms.top_k_scale(epsilon, draw.whole(1, 5)),
        "gaussian": mechanisms.gaussian_sigma(draw.share(0.3, 2), delta, reach),
    }  # fmt: skip


@kind("mechanisms/gaussian-histogram", 2)
def _(draw: Draw) -> Any:
    sigma = mechanisms.gaussian_histogram_sigma(draw.share(0.5, 2), draw.power(-8, -4))
    return {"sigma": sigma, "epsilon": mechanisms.gaussian_histogram_loss(sigma).epsilon(1e-6)}


@kind("mechanisms/losses", 4)
def _(draw: Draw) -> Any:
    scale, reach = draw.share(1, 20), draw.pick([1, 2, 1.5])
    losses = {
        "laplace": mechanisms.laplace_loss(scale, reach), "gaussian": mechanisms.gaussian_loss(scale, reach),
        "histogram": mechanisms.histogram_loss(scale), "top k": mechanisms.top_k_loss(draw.whole(1, 4), scale),
    }  # fmt: skip
    return {name: [repr(loss), loss.epsilon(1e-6), loss.delta(0.2)] for name, loss in losses.items()}


@kind("mechanisms/sums", 3)
def _(draw: Draw) -> Any:
    floats = mechanisms.bounded_sum([draw.share(-30, 30) for _ in range(9)], -10.0, draw.share(5, 20))
    whole = mechanisms.bounded_sum([draw.whole(-30, 30) for _ in range(9)], -10, 10)
    return [floats.value, floats.sensitivity, whole.value, whole.sensitivity]


@kind("data/sequences", 3)
def _(draw: Draw) -> Any:
    count = draw.whole(20, 40)
    visits = {
        "who": [draw.whole(0, 4) for _ in range(count)], "when": list(range(count)),
        "state": [draw.pick(["home", "work", "way"]) for _ in range(count)],
    }  # fmt: skip
    with data.Engine.open() as engine:
        found = engine.sequences(visits, who="who", when="when", state="state")
        steps, tally, lengths = found.transition_counts(), found.category_counts(), found.lengths()
    return {"states": steps.states, "matrix": steps.matrix, "first": steps.first, "tally": tally.counts,
            "longest": lengths.longest, "total": lengths.total}  # fmt: skip
