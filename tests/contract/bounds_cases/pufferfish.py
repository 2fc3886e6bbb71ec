"""Correlated records: every prior, every theorem, releases without their draws, mechanisms that do not compose."""

from typing import Any

import numpy as np
from tests.contract.bounds_cases.draws import Draw, kind, refused

import quiltwork as qw
from quiltwork import pufferfish as pf


def _asked(prior: Any, draw: Draw, secrets: Any = None, sizes: int = 4, pure: bool = True) -> Any:
    """What entries leak about secrets, both ways, and for noise with a delta."""
    per, target = draw.power(-2, 0), draw.power(-0.7, 0.7)
    loss = draw.pick([
        lambda: qw.approximate(per, draw.power(-9, -5)), lambda: qw.gaussian(draw.share(5, 50)),
        lambda: draw.whole(2, 9) * qw.pure(draw.power(-2.5, -1.5)), lambda: qw.laplace(draw.share(5, 50)),
    ])()  # fmt: skip
    found = pf.guarantee(loss, prior, secrets)
    delta = draw.power(-8, -3)
    curve = refused(lambda: [float(prior.influence(secrets=secrets)(b)) for b in range(1, sizes + 1)])
    return {
        "translate": pf.translate(prior, per, secrets) if pure else None,
        "per entry": refused(pf.per_entry_epsilon, prior, target, secrets),
        "epsilon": refused(found.epsilon, delta),
        "delta": refused(lambda: found.delta(draw.share(0.1, 2))),
        "influence": curve,
        "words": found,
    }


@kind("pufferfish/chain", 7)
def _(draw: Draw) -> Any:
    states = draw.whole(2, 4)
    length = draw.pick([None, 3, 10, 100])
    return _asked(pf.MarkovChain(draw.rows(states, states, 200), length=length), draw, sizes=3)


@kind("pufferfish/chain-start", 6)
def _(draw: Draw) -> Any:
    states = draw.whole(2, 3)
    start = draw.pick(["any", draw.row(states, 100)])
    return _asked(pf.MarkovChain(draw.rows(states, states, 100), start, draw.pick([3, 6, 12])), draw, sizes=3)


@kind("pufferfish/chain-zeros", 4)
def _(draw: Draw) -> Any:
    first, second = draw.row(2, 100)
    return _asked(pf.MarkovChain([[0.0, 1.0], [first, second]], length=draw.pick([None, 8])), draw, sizes=5)


@kind("pufferfish/methods", 5)
def _(draw: Draw) -> Any:
    chain = pf.MarkovChain(draw.rows(2, 2, 300), length=draw.whole(4, 9))
    per = draw.power(-1.5, 0)
    names = ("best", "group", "theorem 6", "propagation", "closed form", "linear program")
    return {
        name: [
            refused(pf.translate, chain, per, method=name),
            refused(pf.per_entry_epsilon, chain, 1.0, method=name),
        ]
        for name in names
    }


@kind("pufferfish/binary-chains", 5)
def _(draw: Draw) -> Any:
    p, q = (tuple(sorted((draw.share(0.1, 0.9), draw.share(0.1, 0.9)))) for _ in range(2))
    return _asked(pf.BinaryChains(p, q, draw.pick([None, 6])), draw, sizes=3)


@kind("pufferfish/hidden", 5)
def _(draw: Draw) -> Any:
    states = draw.whole(2, 3)
    prior = pf.HiddenMarkov(
        draw.rows(states, states, 200), draw.rows(states, 2, 200), length=draw.pick([4, 6]),
        secret=draw.pick(["hidden", "emission"]),
    )  # fmt: skip
    return _asked(prior, draw, sizes=2)


@kind("pufferfish/tree", 6)
def _(draw: Draw) -> Any:
    count, states = draw.whole(3, 6), draw.whole(2, 3)
    parents = [None, *(draw.whole(0, i) for i in range(count - 1))]
    return _asked(pf.Tree(parents, draw.rows(states, states, 200), draw.row(states, 100)), draw, sizes=3)


@kind("pufferfish/ising", 5)
def _(draw: Draw) -> Any:
    count = draw.whole(3, 6)
    couplings = {(i, i + 1): draw.share(-0.8, 0.8) for i in range(count - 1)}
    return _asked(pf.Ising(couplings, [draw.share(-0.5, 0.5) for _ in range(count)]), draw, sizes=3)


@kind("pufferfish/blocks", 5)
def _(draw: Draw) -> Any:
    return _asked(pf.Blocks(draw.whole(1, 6), draw.share(0.3, 5), draw.share(0.3, 5), draw.whole(1, 3)), draw, sizes=3)


@kind("pufferfish/joint-law", 3)
def _(draw: Draw) -> Any:
    rows = draw.rows(3, 2, 8)
    share = draw.row(3, 64)
    law = [[share[i] * rows[i][j] for j in range(2)] for i in range(3)]
    if draw.flip():
        cells = draw.row(8, 16)
        law = [[cells[0:2], cells[2:4]], [cells[4:6], cells[6:8]]]  # type: ignore[assignment, list-item]
    return _asked(pf.JointLaw(law), draw, sizes=2)  # type: ignore[arg-type]


@kind("pufferfish/any-of", 4)
def _(draw: Draw) -> Any:
    return _asked(pf.AnyOf([pf.MarkovChain(draw.rows(2, 2, 300), length=5) for _ in range(3)]), draw, sizes=3)


@kind("pufferfish/independent", 3)
def _(draw: Draw) -> Any:
    return _asked(pf.Independent(draw.pick([None, 4])), draw, sizes=2)


@kind("pufferfish/gaussian", 6)
def _(draw: Draw) -> Any:
    rho = draw.share(-0.6, 0.6)
    prior = draw.pick(
        [
            lambda: pf.GaussianPrior([[1.0, rho, 0.1], [rho, 1.5, 0.2], [0.1, 0.2, 2.0]], gap=draw.share(0.3, 2)),
            lambda: pf.AutoRegressive(
                rho or 0.3, sigma=draw.share(0.5, 2), gap=draw.share(0.3, 2), length=draw.pick([None, 6])
            ),
        ]
    )()
    leaks = [prior.leak(b) for b in range(1, 4)]
    return {**_asked(prior, draw, pure=False, sizes=2), "leak": leaks}


@kind("pufferfish/gaussian-box", 3)
def _(draw: Draw) -> Any:
    box = pf.GaussianBox(
        pf.kernel_covariance(draw.whole(3, 5), draw.share(0.3, 0.8)), bound=1.0, width=draw.share(0.05, 0.3)
    )
    return {
        "influence": [float(box.influence()(b)) for b in (1, 2, 3)],
        "printed": [float(box.printed()(b)) for b in (1, 2)],
        "translate": refused(lambda: pf.translate(box, draw.share(0.05, 0.5))),
    }


@kind("pufferfish/secrets", 6)
def _(draw: Draw) -> Any:
    law = pf.MarkovChain(draw.rows(2, 2, 300), states=["home", "away"]).joint(4)
    secrets = draw.pick([
        pf.entry_values([0, 2]), pf.joint_values([1, 2]),
        pf.function_values(lambda x: sum(v == "away" for v in x) >= 2, name="mostly away"),
        pf.entry_values(pairs=[("home", "away")]),
    ])  # fmt: skip
    return _asked(law, draw, secrets, sizes=2)


@kind("pufferfish/totals", 5)
def _(draw: Draw) -> Any:
    chain = pf.MarkovChain(draw.rows(2, 2, 300), length=draw.pick([None, 12]))
    found = pf.totals(chain, [draw.power(-2, -0.5) for _ in range(draw.whole(2, 10))])
    return [found.naive, found.theorem_7, found.one_size, found.best]


@kind("pufferfish/released", 3)
def _(draw: Draw) -> Any:
    prior, epsilon = pf.MarkovChain(draw.rows(3, 3, 300)), draw.share(0.5, 2)
    found = {
        "laplace": pf.laplace(1234, prior, epsilon, sensitivity=1),
        "histogram": pf.histogram([52, 31, 9], prior, epsilon),
        "top k": pf.top_k([52, 31, 9], 2, prior, epsilon),
        "markov quilt": pf.markov_quilt([52, 31, 9], prior, epsilon),
    }
    return {
        name: [one.noise.law, one.noise.scale, one.noise.draws, one.guarantee.epsilon(1e-6)]
        for name, one in found.items()
    }


@kind("pufferfish/released-gaussian", 1)
def _(draw: Draw) -> Any:
    one = pf.gaussian(1234, pf.MarkovChain(draw.rows(2, 2, 300), length=5), 1.0, 1e-6, sensitivity=1)
    return [one.noise.law, one.noise.scale, one.noise.draws, one.guarantee.epsilon(1e-6)]


@kind("pufferfish/collapse", 4)
def _(draw: Draw) -> Any:
    smoothing = draw.share(0.02, 0.3)
    labels = pf.case_labels(sorted(draw.row(2, 400)), sorted(draw.row(2, 400)), smoothing=smoothing)
    bits = pf.xor_of_bits(draw.whole(3, 4))
    verdict = labels.composable()
    return {
        "labels": [labels.leakage(runs).epsilon for runs in (1, 2, 3)],
        "bits": [bits.leakage(runs).epsilon for runs in (1, 2)],
        "status": [verdict.status, verdict.excess, verdict.rate, verdict.rates, verdict.constant, verdict.linear_rates],
        "pairs": pf.paired_datasets().leakage(2).revealed,
        "revealed": bits.revealed(2),
    }


@kind("pufferfish/composable", 4)
def _(draw: Draw) -> Any:
    channel, prior = draw.rows(3, 2, 300), draw.row(3, 300)
    verdict = pf.composable(channel, ([0, 1], [2]), prior=prior)
    return [verdict.status, verdict.excess, verdict.rate, verdict.rates, verdict.constant,
            pf.leakage(channel, ([0, 1], [2]), prior, draw.whole(1, 4)).epsilon, refused(verdict.bound, 5)]  # fmt: skip


@kind("pufferfish/fails", 2)
def _(draw: Draw) -> Any:
    found = {"bits": pf.xor_of_bits(draw.whole(3, 4)).composable(), "pairs": pf.paired_datasets().composable()}
    found["sharp"] = pf.composable(
        [[1.0, 0.0], draw.row(2, 300), draw.row(2, 300)], ([0, 1], [2]), prior=draw.row(3, 300)
    )
    return {
        name: [
            one.status,
            one.words,
            one.witness and [one.witness.outputs, one.witness.runs, one.witness.loss, one.witness.probability],
        ]
        for name, one in found.items()
    }


@kind("pufferfish/fitted", 2)
def _(draw: Draw) -> Any:
    traces = [[draw.pick("ab") for _ in range(draw.whole(5, 20))] for _ in range(3)]
    chain = pf.MarkovChain.fit(traces, public=True, smoothing=draw.pick([None, 0.05]))
    return {"transition": chain.transition, "note": chain.note, "translate": pf.translate(chain, draw.share(0.05, 0.5))}


@kind("pufferfish/hidden-endless", 2)
def _(draw: Draw) -> Any:
    prior = pf.HiddenMarkov(draw.rows(2, 2, 400), draw.rows(2, 2, 400), secret=draw.pick(["hidden", "emission"]))
    return {
        "translate": pf.translate(prior, draw.share(0.05, 0.3)),
        "influence": [float(prior.influence(4)(b)) for b in (1, 3)],
    }


@kind("pufferfish/larger-law", 1)
def _(draw: Draw) -> Any:
    cells = np.array(draw.row(64, 16)).reshape((2,) * 6)
    prior = pf.JointLaw(cells)
    return {"influence": [float(prior.influence()(b)) for b in range(1, 7)],
            "theorem 6": pf.translate(prior, 0.2, method="theorem 6")}  # fmt: skip
