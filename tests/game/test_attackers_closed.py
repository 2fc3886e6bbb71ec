"""Attackers in closed form against naive versions: likelihood ratios, scores, linear estimates, exact tests."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from tests.game.core_cases import data_sets, people

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game import (
    AdaptiveThreshold,
    Budget,
    Calibrated,
    Constant,
    Exact,
    FixedThreshold,
    Gaussian,
    Half,
    Independent,
    Knowledge,
    Laplace,
    LinearGaussian,
    OptimalTest,
    Population,
    RateDistortion,
    Score,
    Several,
    Statistic,
    SummaryStatistics,
    WaterFilling,
    auc,
    individual_auc,
)
from quiltwork.game.attackers.knowledge import Attacker, Fitted
from quiltwork.game.attackers.likelihood import adaptive_llr, mean_reference_score, member_llr
from quiltwork.game.attackers.linear import decoder

PEOPLE = people(8, 6, seed=3)
BUDGET = Budget(calibrate=300)


def fitted(attacker, release, seed=0, budget=BUDGET):
    return attacker.fit(release, np.random.default_rng(seed), budget)


def noisy(sigma=0.15, population=PEOPLE, clip=True):
    return SummaryStatistics(Gaussian(sigma).prepare(population), clip=clip)


# ---- likelihood ratios and scores


def test_the_likelihood_ratio_by_a_loop_and_its_sign():
    rng = np.random.default_rng(0)
    rows, outputs, usual = (rng.random((3, 4)) < 0.5) * 1.0, rng.random((2, 4)) * 1.2 - 0.1, rng.random(4)
    usual[0] = 0.0
    found = member_llr(rows, outputs, usual)
    for i, k in itertools.product(range(2), range(3)):
        total = 0.0
        for j in range(4):
            share, reference = (min(max(p, 0.01), 0.99) for p in (outputs[i, j], usual[j]))
            of_release = share if rows[k, j] else 1 - share
            of_reference = reference if rows[k, j] else 1 - reference
            total += np.log(of_release) - np.log(of_reference)
        assert found[i, k] == pytest.approx(total, abs=1e-12)
    # a person whose attributes are more frequent in the release than outside looks like a member
    assert member_llr(np.array([[1.0], [0.0]]), np.array([[0.9]]), np.array([0.5]))[0].tolist() == pytest.approx(
        [np.log(0.9 / 0.5), np.log(0.1 / 0.5)]
    )


@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_the_adaptive_ratio_by_a_loop(share):
    rng = np.random.default_rng(1)
    rows, reference = (rng.random((3, 5)) < 0.5) * 1.0, (rng.random((10, 5)) < 0.5) * 1.0
    outputs, usual = rng.random((4, 5)), reference.mean(axis=0)
    found = adaptive_llr(rows, reference, outputs, usual, share)
    for i in range(4):
        others = sorted(member_llr(reference, outputs[i : i + 1], usual)[0], reverse=True)
        top = others[: max(1, int(share * 10))]
        assert np.allclose(found[i], member_llr(rows, outputs[i : i + 1], usual)[0] - np.mean(top))


def test_scores_by_a_loop():
    outputs = np.random.default_rng(2).random((3, 6))
    found = mean_reference_score(PEOPLE.candidates, outputs, PEOPLE.frequencies)
    p = PEOPLE.frequencies
    for i, k in itertools.product(range(3), range(8)):
        wanted = sum((PEOPLE.candidates[k, j] - p[j]) * (outputs[i, j] - p[j]) for j in range(6))
        assert found[i, k] == pytest.approx(wanted, abs=1e-12)
    one = fitted(Score("one"), noisy()).scores(outputs)
    candidates = [outputs @ (PEOPLE.candidates - person).T for person in PEOPLE.reference]
    assert any(np.allclose(one, wanted) for wanted in candidates)
    assert np.array_equal(fitted(Score(), noisy()).scores(outputs), found)


@pytest.mark.parametrize("attacker", [FixedThreshold(), AdaptiveThreshold(), Calibrated(), Calibrated("z"), Score()])
def test_members_score_higher(attacker):
    population = people(20, 200, seed=5)
    release = SummaryStatistics(Exact().prepare(population))
    draws = release.draw(60, np.random.default_rng(1))
    # 1,200 decisions: guessing exceeds 0.58 with probability below 1e-5
    assert auc(fitted(attacker, release).scores(draws.outputs), draws.members) > 0.6


def test_calibration_by_hand():
    release = noisy()
    draws = release.draw(300, np.random.default_rng(9))
    raw = member_llr(PEOPLE.candidates, draws.outputs, PEOPLE.frequencies)
    outputs = release.draw(5, np.random.default_rng(1)).outputs
    score = member_llr(PEOPLE.candidates, outputs, PEOPLE.frequencies)
    ratio, z = (fitted(Calibrated(by), release, seed=9).scores(outputs) for by in ("ratio", "z"))
    for k in range(8):
        inside = draws.members[:, k]
        one, zero = raw[inside, k], raw[~inside, k]
        pooled = (np.sum((one - one.mean()) ** 2) + np.sum((zero - zero.mean()) ** 2)) / 300
        law = stats.norm(one.mean(), np.sqrt(pooled)), stats.norm(zero.mean(), np.sqrt(pooled))
        assert np.allclose(ratio[:, k], law[0].logpdf(score[:, k]) - law[1].logpdf(score[:, k]))
        assert np.allclose(z[:, k], (score[:, k] - raw[:, k].mean()) / raw[:, k].std())


def test_calibration_pays_where_people_have_offsets():
    """The pooled area of the raw ratio lags its per-person area; calibrated, it does not."""
    population = people(30, 120, seed=11)
    release = noisy(0.05, population)
    draws = release.draw(150, np.random.default_rng(2))
    raw = auc(fitted(FixedThreshold(), release).scores(draws.outputs), draws.members)
    assert auc(fitted(Calibrated(), release).scores(draws.outputs), draws.members) > raw + 0.02


def test_a_person_never_seen_on_one_side_is_not_judged():
    rare = Population(PEOPLE.candidates, PEOPLE.reference, Independent((1e-9, 1 - 1e-9, *[0.5] * 6)))
    found = fitted(Calibrated(), noisy(population=rare), budget=Budget(calibrate=40)).scores(np.full((3, 6), 0.4))
    assert np.all(found[:, :2] == 0.0)
    assert np.all(found[:, 2:] != 0.0)


# ---- linear-Gaussian


@pytest.mark.parametrize("attributes", [3, 20], ids=["few numbers", "many numbers"])
@pytest.mark.parametrize(
    ("prior", "denominator"),
    [(Half(), "members"), (Half(), "fixed"), (Independent((0.1, 0.3, 0.5, 0.7, 0.9)), "fixed")],
)
def test_the_linear_estimate_by_the_full_covariances(prior, denominator, attributes):
    rows = np.random.default_rng(4).random((5, attributes))
    population = Population(rows, rows[:1], prior)
    release = SummaryStatistics(Gaussian(0.1).prepare(population, denominator=denominator), clip=False)
    statistic, covariance, rates = release.statistic, prior.covariance(5), prior.rates(5)
    gain = statistic.gain
    best = covariance @ gain.T @ np.linalg.inv(gain @ covariance @ gain.T + 0.01 * np.eye(attributes))
    assert np.allclose(decoder(release.linear()).T, best, rtol=1e-7, atol=1e-9)
    outputs = np.random.default_rng(5).random((6, attributes))
    estimate = (outputs - statistic.mean) @ best.T
    # the normal picture of each estimate, with and without the person, by its covariance with b_k
    variance = np.diag(covariance)
    slope = np.diag(best @ gain @ covariance) / variance
    spread = np.sqrt(np.diag(best @ gain @ covariance) - slope**2 * variance)
    with_k, without_k = stats.norm(slope * (1 - rates), spread), stats.norm(-slope * rates, spread)
    wanted = with_k.logpdf(estimate) - without_k.logpdf(estimate) + np.log(rates / (1 - rates))
    assert np.allclose(fitted(LinearGaussian(), release).scores(outputs), wanted, rtol=1e-6, atol=1e-7)


def test_the_linear_estimate_is_bayesian_regression():
    """Posterior mean of b ~ N(rates, V) from y = G b + noise, one number after another (a Kalman filter)."""
    rates = np.array([0.2, 0.5, 0.6, 0.9])
    rows = np.random.default_rng(6).random((4, 7))
    population = Population(rows, rows[:1], Independent(tuple(rates)))
    release = SummaryStatistics(Gaussian(0.2).prepare(population, denominator="fixed"), clip=False)
    y = np.random.default_rng(7).random(7)
    mean, covariance = rates.copy(), np.diag(rates * (1 - rates))
    for j in range(7):
        row = rows[:, j] / 2
        change = covariance @ row / (row @ covariance @ row + 0.04)
        mean = mean + change * (y[j] - row @ mean)
        covariance = covariance - np.outer(change, row @ covariance)
    model = release.linear()
    assert np.allclose(rates + (model.project(y[None]) - model.mean)[0] @ decoder(model), mean, atol=1e-10)


def test_both_systems_agree_and_no_noise_is_no_obstacle():
    """More numbers than people, and a copy with zero columns added: the K x K and the m x m system."""
    rows = np.random.default_rng(8).random((6, 6))
    wide = np.hstack([rows, np.zeros((6, 3))])
    outputs = np.random.default_rng(9).random((4, 6))
    small, large = (
        SummaryStatistics(Gaussian(0.1).prepare(Population(r, r, Independent(0.5)), denominator="fixed"), clip=False)
        for r in (rows, wide)
    )
    one = fitted(LinearGaussian(), small).scores(outputs)
    two = fitted(LinearGaussian(), large).scores(np.hstack([outputs, np.zeros((4, 3))]))
    assert np.allclose(one, two, rtol=1e-7)
    for population in (people(6, 40), people(20, 8)):
        release = SummaryStatistics(Exact().prepare(population))
        draws = release.draw(60, np.random.default_rng(0))
        area = auc(fitted(LinearGaussian(), release).scores(draws.outputs), draws.members)
        assert area == 1.0 if population.size[1] == 40 else area > 0.6


def test_the_log_odds_of_two_people_are_exact():
    """K = 2, exactly half: two data sets, so that the normal picture is the truth."""
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    release = noisy(0.4, Population(rows, rows), clip=False)
    outputs = release.draw(50, np.random.default_rng(0)).outputs
    one, zero = release.statistic.exact(np.array([[1, 0], [0, 1]]))
    wanted = (((outputs - zero) ** 2).sum(axis=1) - ((outputs - one) ** 2).sum(axis=1)) / (2 * 0.16)
    found = fitted(LinearGaussian(), release).scores(outputs)
    assert np.allclose(found, np.stack([wanted, -wanted], axis=1), rtol=1e-7)


def test_no_linear_score_beats_the_exact_posterior_by_much_and_it_is_close():
    population = people(6, 12, seed=1)
    release = noisy(0.2, population, clip=False)
    draws = release.draw(3000, np.random.default_rng(3))
    sets = np.array(data_sets(population))
    exact = release.statistic.exact(sets)
    log_weight = -((draws.outputs[:, None] - exact) ** 2).sum(axis=2) / (2 * 0.04)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    posterior = (weight @ sets) / weight.sum(axis=1, keepdims=True)
    best = auc(posterior, draws.members)
    found = auc(fitted(LinearGaussian(), release).scores(draws.outputs), draws.members)
    assert best - 0.03 < found < best + 0.005


def test_a_release_without_a_linear_model_is_refused():
    class Opaque:
        population, name, dimension = PEOPLE, "opaque", 6

        def linear(self):
            return None

    with pytest.raises(Unsupported, match="linear model"):
        fitted(LinearGaussian(), Opaque())


# ---- the informed optimal test


def density_ratio(release, output, one, zero):
    """sum_j log p(output_j | one_j) - log p(output_j | zero_j) by scipy's laws; clipped numbers are events."""
    channel = release.defence.channel
    total = 0.0
    for j in np.flatnonzero(channel.scale > 0):
        laws = []
        for middle in (one[j], zero[j]):
            if channel.family == "gaussian":
                law = stats.norm(middle, np.sqrt(channel.variance[j]))
            else:
                law = stats.laplace(middle, np.sqrt(channel.variance[j] / 2))
            if release.clip and output[j] <= 0:
                laws.append(law.logcdf(0.0))
            elif release.clip and output[j] >= 1:
                laws.append(law.logsf(1.0))
            else:
                laws.append(law.logpdf(output[j]))
        total += laws[0] - laws[1]
    return total


@pytest.mark.parametrize("rows", ["binary", "other"])
@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("denominator", ["members", "fixed"])
@pytest.mark.parametrize(
    "defender", [Gaussian(0.3), Laplace(0.2), Gaussian(0.3, (1.0, 0.0, 4.0)), Laplace(0.2, (1, 0, 4))]
)
def test_the_informed_score_is_the_ratio_of_densities(defender, denominator, clip, rows):
    matrix = {
        "binary": np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1.0]]),
        "other": np.random.default_rng(1).random((4, 3)),
    }
    population = Population(matrix[rows], np.full((1, 3), 0.3), Independent(0.5))
    release = SummaryStatistics(defender.prepare(population, denominator=denominator), clip=clip)
    sets = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0]], dtype=bool)
    outputs = release.draw(5, np.random.default_rng(2), sets).outputs
    found = fitted(OptimalTest(), release).scores(outputs, sets)
    statistic = release.statistic
    for i, k in itertools.product(range(5), range(4)):
        one, zero = sets[i].copy(), sets[i].copy()
        one[k], zero[k] = True, False
        pair = statistic.exact(np.array([one, zero]))
        assert found[i, k] == pytest.approx(density_ratio(release, outputs[i], *pair), abs=1e-9)
    if clip:
        assert np.any((outputs[:, [0, 2]] == 0) | (outputs[:, [0, 2]] == 1))  # the clipped case was there


@pytest.mark.parametrize("defender", [RateDistortion(0.05), WaterFilling(0.05)], ids=lambda d: d.name)
def test_the_informed_score_behind_a_basis(defender):
    """Without clipping: multivariate normal densities of the coordinates."""
    release = SummaryStatistics(defender.prepare(PEOPLE), clip=False)
    channel = release.defence.channel
    draws = release.draw(3, np.random.default_rng(0))
    found = fitted(OptimalTest(), release).scores(draws.outputs, draws.members)
    kept = channel.scale > 0
    for i, k in itertools.product(range(3), range(8)):
        worlds = np.stack([draws.members[i]] * 2)
        worlds[:, k] = [True, False]
        one, zero = (channel.coordinates(release.statistic.exact(worlds)) * channel.scale)[:, kept]
        y, noise = channel.coordinates(draws.outputs[i : i + 1])[0, kept], np.diag(channel.variance[kept])
        wanted = stats.multivariate_normal(one, noise).logpdf(y) - stats.multivariate_normal(zero, noise).logpdf(y)
        assert found[i, k] == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("defender", [Gaussian(0.2), Laplace(0.2), RateDistortion(0.05)], ids=lambda d: d.name)
def test_the_score_of_a_person_does_not_use_that_persons_membership(defender):
    release = SummaryStatistics(defender.prepare(PEOPLE))
    draws = release.draw(6, np.random.default_rng(0))
    test = fitted(OptimalTest(), release)
    before = test.scores(draws.outputs, draws.members)
    for k in range(8):
        turned = draws.members.copy()
        turned[:, k] = ~turned[:, k]
        assert np.allclose(test.scores(draws.outputs, turned)[:, k], before[:, k], atol=1e-9)
    assert np.array_equal(draws.members.sum(axis=1), np.full(6, 4))


def test_the_informed_area_is_that_of_a_gaussian_test():
    """Fixed denominator, no clipping: per person Phi(mu_k / sqrt 2) with mu_k = 2 |d_k| / (K sigma)."""
    population = Population(PEOPLE.candidates, PEOPLE.reference, Independent(0.5))
    release = SummaryStatistics(Gaussian(0.4).prepare(population, denominator="fixed"), clip=False)
    draws = release.draw(4000, np.random.default_rng(0))
    found = individual_auc(fitted(OptimalTest(), release).scores(draws.outputs, draws.members), draws.members)
    mu = 2 * np.sqrt((PEOPLE.candidates**2).sum(axis=1)) / (8 * 0.4)
    # the deviation of an area over 4,000 runs is at most 0.0092; five of them for eight people
    assert np.all(np.abs(found - stats.norm.cdf(mu / np.sqrt(2))) < 5 * 0.0092)


def test_the_informed_test_is_cut_into_parts_without_a_trace(monkeypatch):
    from importlib import import_module

    release = noisy()
    draws = release.draw(9, np.random.default_rng(0))
    whole = fitted(OptimalTest(), release).scores(draws.outputs, draws.members)
    monkeypatch.setattr(import_module("quiltwork.game.attackers.optimal"), "_AT_ONCE", 13)
    assert np.allclose(fitted(OptimalTest(), release).scores(draws.outputs, draws.members), whole, rtol=1e-12)


def test_what_the_informed_test_needs():
    release = noisy()
    for refused in (SummaryStatistics(Exact().prepare(PEOPLE)), Several([release, release])):
        with pytest.raises(Unsupported):
            fitted(OptimalTest(), refused)
    test = fitted(OptimalTest(), release)
    for members in (None, np.zeros((2, 7), dtype=bool), np.full((2, 8), 0.5)):
        with pytest.raises(InvalidParameter):
            test.scores(np.zeros((2, 6)), members)


# ---- all of them

CLOSED = [
    FixedThreshold(),
    AdaptiveThreshold(),
    Calibrated(),
    Calibrated("z"),
    Score(),
    Score("one"),
    LinearGaussian(),
    OptimalTest(),
]


@pytest.mark.parametrize("attacker", CLOSED, ids=lambda a: a.name)
def test_a_constant_tells_nothing(attacker):
    release = SummaryStatistics(Constant().prepare(PEOPLE))
    draws = release.draw(300, np.random.default_rng(4))
    scores = fitted(attacker, release).scores(draws.outputs, draws.members)
    assert scores.shape == (300, 8)
    # per person the score is a constant: area one half exactly, but for rounding that is no information
    for k in range(8):
        assert np.ptp(scores[:, k]) <= 1e-9 * max(1.0, np.abs(scores[:, k]).max())
    assert abs(auc(scores, draws.members) - 0.5) < 5 * 0.5 / np.sqrt(2400)


@pytest.mark.parametrize("attacker", CLOSED, ids=lambda a: a.name)
def test_outputs_and_members_stay_as_they_were(attacker):
    release = noisy()
    draws = release.draw(4, np.random.default_rng(0))
    outputs, members = draws.outputs.copy(), draws.members.copy()
    test = fitted(attacker, release)
    one, two = test.scores(draws.outputs, draws.members), test.scores(draws.outputs, draws.members)
    assert np.array_equal(one, two)
    assert np.array_equal(outputs, draws.outputs)
    assert np.array_equal(members, draws.members)
    assert isinstance(attacker, Attacker)
    assert isinstance(test, Fitted)


def test_what_attackers_know():
    known = {attacker.name: attacker.knows for attacker in CLOSED}
    assert known["fixed LRT"] is known["adaptive LRT"] is known["score"] is Knowledge.T2
    assert known["linear-Gaussian"] is known["calibrated LRT"] is Knowledge.T1
    assert known["informed optimal test"] is Knowledge.T3
    assert Knowledge.T3.sentence == "T3 knows " + Knowledge.T3.value


def test_likelihood_ratios_need_binary_rows_and_one_number_an_attribute():
    shares = Population(PEOPLE.candidates * 0.5, PEOPLE.reference)
    twice = Several([noisy(), noisy()])
    for attacker in (FixedThreshold(), AdaptiveThreshold(), Calibrated()):
        for refused in (noisy(population=shares), twice):
            with pytest.raises(Unsupported):
                fitted(attacker, refused)
    with pytest.raises(Unsupported):
        fitted(Score(), twice)
    assert fitted(Score(), noisy(population=shares)).scores(np.zeros((1, 6))).shape == (1, 8)


def test_several_releases_tell_more_than_one():
    one = SummaryStatistics(Gaussian(0.2).prepare(Statistic(PEOPLE)), clip=False)
    areas = []
    for release in (one, Several([one] * 4)):
        draws = release.draw(600, np.random.default_rng(0))
        areas.append(auc(fitted(LinearGaussian(), release).scores(draws.outputs), draws.members))
    assert areas[1] > areas[0] + 0.03


def test_bad_options_are_refused():
    calls = [lambda bad=bad: AdaptiveThreshold(bad) for bad in (0.0, -1.0, 1.5, float("nan"), True, "x")]
    calls += [lambda: Calibrated("t"), lambda: Calibrated(None), lambda: Score("two"), lambda: Score(None)]
    calls += [lambda bad=bad: Budget(train=bad) for bad in (1, 0, -5, 2.5, True, "9", None)]
    calls += [lambda: Budget(calibrate=1), lambda: Budget(steps=0), lambda: Budget(batch=1)]
    for call in calls:
        with pytest.raises(InvalidParameter):
            call()
