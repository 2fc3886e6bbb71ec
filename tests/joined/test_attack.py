"""The best attacker on one entry of a chain: scores against listed laws, and its bounds against the promise."""

import itertools
import math

import numpy as np
import pytest
from benchmarks.soundness.rooms import joined
from tests.joined.test_under_chain import hourly, stays, under

import quiltwork as qw
from quiltwork import audit
from quiltwork import pufferfish as pf
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.attack import attack_scores


def test_scores_are_the_likelihood_ratios_of_all_outputs():
    """Randomised responses at four hours: every output listed, the ratio and its chance."""
    epsilon, chain, entry = 0.8, stays(0.9, 4), 1
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    say = np.array([[right, 1 - right], [1 - right, right]])
    laws = []
    for value in (1, 0):
        law = np.zeros((2,) * 4)
        for rows in itertools.product((0, 1), repeat=4):
            if rows[entry] == value:
                chance = math.prod(float(chain.matrix[a, b]) for a, b in itertools.pairwise(rows))
                for outputs in itertools.product((0, 1), repeat=4):
                    law[outputs] += chance * math.prod(say[x, y] for x, y in zip(rows, outputs, strict=True))
        laws.append(law.ravel() / law.sum())
    ratios = np.log(laws[0] / laws[1])
    runs = 40_000
    found = attack_scores(under(hourly(qw.pure(epsilon), 4), chain), runs, entry=entry, seed=1)
    for scores, law in zip(found, laws, strict=True):
        for ratio in np.unique(ratios.round(9)):
            chance = law[np.abs(ratios - ratio) < 1e-8].sum()
            seen = np.mean(np.abs(scores - ratio) < 1e-8)
            # five standard deviations at each of at most 16 ratios and two laws: a false alarm in 50,000 runs
            assert abs(seen - chance) <= 5 * math.sqrt(chance * (1 - chance) / runs)


@pytest.mark.parametrize("loss", [qw.gaussian(3.0), qw.laplace(3.0), qw.pure(0.3)])
def test_what_the_attacker_shows_is_promised(loss):
    """The audit is wrong with probability 1e-6; an attacker who knows the chain shows more than one hour's loss."""
    promise = under(hourly(loss, 5), stays(0.97, 5))
    scores = attack_scores(promise, 60_000, seed=2)
    shown = audit.epsilon_lower_bound(*scores, delta=0.01, confidence=1 - 1e-6)
    assert loss.epsilon(0.01).upper < shown <= promise.epsilon(0.01).upper


def test_one_draw_of_noise_for_all_hours_is_caught():
    """The same noise twice: the difference of two hours shows rows that changed, and the promise is refuted."""
    rng, runs = np.random.default_rng(3), 50_000
    promise = under(hourly(qw.gaussian(3.0), 2), stays(0.9, 2))
    shown = []
    for value in (1, 0):
        second = np.where(rng.random(runs) < 0.9, value, 1 - value)
        noise = 3.0 * rng.standard_normal(runs)
        outputs = np.stack([value + noise, second + noise])
        shown.append(np.where(np.abs(outputs[0] - outputs[1]) > 0.5, np.sign(outputs[0] - outputs[1]) * 99, 0.0))
    assert audit.epsilon_lower_bound(*shown, delta=1e-3) > promise.epsilon(1e-3).upper


def listed(prior, length):
    """All rows of a person, and their laws given the second and the first value of entry 1."""
    case = {
        "prior": prior, "length": length, "states": 2, "transition": [[0.8, 0.2], [0.4, 0.6]],
        "emission": [[0.9, 0.1], [0.3, 0.7]], "start": [0.5, 0.5] if prior == "tree" else None,
        "parents": [0, 0, 1][: length - 1], "rates": [0.7, 1.9], "mechanisms": 1,
    }  # fmt: skip
    words, laws = joined.laws_of(case)
    return joined.prior_of(case), words, laws[1]


@pytest.mark.parametrize("prior", ["tree", "hidden", "emission", "blocks"])
def test_scores_of_other_priors_are_likelihood_ratios(prior):
    """As above, for hidden states on a tree: the chance of every ratio, and the ratio itself."""
    epsilon, length, runs = 0.8, 4 if prior == "tree" else 3, 20_000
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    made, words, laws = listed(prior, length)
    say = np.where(words[:, None, :] == words[None, :, :], right, 1 - right).prod(axis=2)
    told = [laws[value] @ say for value in (1, 0)]
    pairs = (0, 1) if prior != "hidden" else made.chain.occurring[:2]
    assert tuple(pairs) == (0, 1)
    ratios = np.log(told[0] / told[1])
    found = attack_scores(under(hourly(qw.pure(epsilon), length), made), runs, entry=1, seed=5)
    for scores, law in zip(found, told, strict=True):
        assert np.abs(scores[:, None] - ratios[None, :]).min(axis=1).max() < 1e-9  # no other ratio appears
        for ratio in np.unique(ratios.round(9)):
            chance = law[np.abs(ratios - ratio) < 1e-8].sum()
            seen = np.mean(np.abs(scores - ratio) < 1e-8)
            # five standard deviations at each of at most 16 ratios, two laws and four priors
            assert abs(seen - chance) <= 5 * math.sqrt(chance * (1 - chance) / runs) + 1e-12


@pytest.mark.parametrize("prior", ["tree", "hidden", "emission", "blocks"])
def test_what_is_shown_of_other_priors_is_promised(prior):
    made, _, _ = listed(prior, 4 if prior == "tree" else 3)
    promise = under(hourly(qw.gaussian(1.0), made.entries), made)
    shown = audit.epsilon_lower_bound(*attack_scores(promise, 30_000, entry=1), delta=0.01, confidence=1 - 1e-6)
    assert 0.0 < shown <= promise.epsilon(0.01).upper


def test_refusals():
    plan = hourly(qw.gaussian(3.0), 4)
    with pytest.raises(Unsupported, match="two states"):
        attack_scores(plan.guarantee(), 10)
    with pytest.raises(InvalidParameter, match="entry"):
        attack_scores(under(plan, stays(0.9, 4)), 10, entry=4)
    with pytest.raises(Unsupported, match="one mechanism"):
        attack_scores(under(hourly(qw.zcdp(0.1), 4), stays(0.9, 4)), 10)
    three = pf.Tree([None, 0, 0, 0], np.full((3, 3), 1 / 3).tolist(), [1 / 3] * 3)
    for prior in (three, pf.JointLaw(np.full((2,) * 4, 1 / 16)), pf.Independent(4)):
        with pytest.raises(Unsupported, match="two states"):
            attack_scores(under(plan, prior), 10)
