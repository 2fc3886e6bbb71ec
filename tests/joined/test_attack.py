"""The best attacker on one entry of a chain: scores against listed laws, and its bounds against the promise."""

import itertools
import math

import numpy as np
import pytest
from benchmarks.soundness.rooms import joined
from tests.joined.test_under_chain import hourly, stays, under

import quiltwork as qw
from quiltwork import audit
from quiltwork import confounding as cf
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
    with pytest.raises(Unsupported, match="two states"):
        attack_scores(under(plan, three), 10)
    longer = pf.JointLaw(np.full((2,) * 7, 1 / 128))
    with pytest.raises(Unsupported, match="two states"):
        attack_scores(under(hourly(qw.gaussian(3.0), 7), longer), 10)
    bound = WORLD.bound(qw.gaussian(1.0)).guarantee()
    with pytest.raises(InvalidParameter, match="entry"):
        attack_scores(bound, 10, entry=0)
    for given in (qw.zcdp(0.1), qw.poisson(qw.gaussian(1.0), 0.1)):
        with pytest.raises(Unsupported, match="drawn"):
            attack_scores(WORLD.bound(given).guarantee(), 10)
    for told in (WORLD.bound(qw.pure(1.0), distance=[[0, 0], [0, 0]]), WORLD.bound(qw.compose())):
        with pytest.raises(Unsupported, match="two states"):
            attack_scores(told.guarantee(), 10)


# ---- worlds: the split that Theorem B attains


WORLD = cf.World(data=[["9/10", "1/10"], ["1/5", "4/5"]])


@pytest.mark.parametrize(
    "noise",
    [qw.noise.laplace(2.0), qw.noise.gaussian(1.5), qw.gaussian(0.8), qw.gdp(1.0), qw.laplace(0.7), qw.pure(1.2)],
    ids=str,
)
def test_the_attacker_on_a_world_shows_what_the_theorem_says(noise):
    """Both ends agree there, and the audit comes near: wrong with probability 1e-6."""
    if isinstance(noise, qw.Loss):
        promise = WORLD.bound(noise).guarantee()
    else:
        t = qw.Table(state=qw.Cat(0, 1))
        plan = qw.Plan(t, neighbors=qw.replace_one()).count("ones", where=t.state == 1, noise=noise)
        promise = plan.guarantee(world=WORLD)
    found = promise.epsilon(0.02)
    shown = audit.epsilon_lower_bound(*attack_scores(promise, 100_000, seed=7), delta=0.02, confidence=1 - 1e-6)
    assert 0.7 * found.lower <= shown <= found.upper


def test_last_bits_of_simulated_noise_tell_nothing():
    """Beyond both means Laplace outputs have one ratio; last bits of 0.5 + x told it from x (1.03 shown of 0.333)."""
    promise = WORLD.bound(qw.laplace(2.0)).guarantee()
    scores = attack_scores(promise, 50_000)
    for one in scores:
        assert (one == one.max()).mean() > 0.3
        assert (one == one.min()).mean() > 0.3
    assert audit.epsilon_lower_bound(*scores, delta=0.01, confidence=1 - 1e-6) <= promise.epsilon(0.01).upper


def test_scores_in_a_world_are_likelihood_ratios():
    """Randomised response about the side of the split: two ratios, each with its chance."""
    world = cf.World(data=[[0.5, 0.3, 0.2], [0.1, 0.25, 0.65]])
    runs, right = 50_000, 1 / (1 + math.exp(-1.0))
    for scores, on in zip(attack_scores(world.bound(qw.pure(1.0)).guarantee(), runs, seed=3), (0.65, 0.2), strict=True):
        said = on * right + (1 - on) * (1 - right)
        ratio = math.log((0.65 * right + 0.35 * (1 - right)) / (0.2 * right + 0.8 * (1 - right)))
        high = np.abs(scores - ratio) < 1e-9
        assert np.unique(scores.round(9)).size == 2
        # five standard deviations, two laws: a false alarm in a million runs
        assert abs(high.mean() - said) <= 5 * math.sqrt(said * (1 - said) / runs)


@pytest.mark.parametrize("prior", ["joint", "spins", "independent"])
def test_what_is_shown_of_laws_that_are_written_out_is_promised(prior):
    """Spins that like to agree tell of each other, independent rows only of themselves."""
    joint = np.random.default_rng(4).dirichlet(np.ones(8)).reshape(2, 2, 2)
    agree = {(0, 1): 0.8, (1, 2): 0.8}
    made = {"joint": pf.JointLaw(joint), "spins": pf.Ising(agree, fields=[0.0] * 3), "independent": pf.Independent(3)}
    promise = under(hourly(qw.gaussian(1.0), 3), made[prior])
    shown = audit.epsilon_lower_bound(*attack_scores(promise, 40_000, entry=1), delta=0.01, confidence=1 - 1e-6)
    alone = float(qw.gaussian(1.0).epsilon(0.01).upper)
    assert 0.6 * alone < shown <= promise.epsilon(0.01).upper
    assert prior != "spins" or shown > alone
