"""Rates 0 and 1, and batches that are nothing or everything."""

import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter

BASES = {
    "gaussian": qw.gaussian(1.0),
    "laplace": qw.laplace(1.0),
    "discrete": qw.discrete_gaussian(2.0),
    "pure": qw.pure(1.0),
    "function": qw.tradeoff(lambda a: (1 - a) ** 2),
    "moments": qw.zcdp(0.5),
    "response": qw.randomized_response(1.0, 3),
}
NOISES = ("gaussian", "laplace", "discrete")


def same(one, two):
    for question in ("epsilon", "delta"):
        first, second = (getattr(loss, question)(1e-3) for loss in (one, two))
        assert first.lower <= second.upper
        assert second.lower <= first.upper


@pytest.mark.parametrize("name", BASES)
def test_rate_0_costs_nothing(name):
    loss = qw.poisson(BASES[name], 0)
    assert loss == qw.compose()
    assert (100 * loss).epsilon(1e-9).upper == 0
    assert loss.delta(0.0).upper == 0
    assert loss.renyi(2.0).upper == 0
    assert loss.group(3).epsilon(0.0).upper == 0
    assert (loss + BASES[name]).parts == BASES[name].parts


@pytest.mark.parametrize("name", NOISES)
def test_rate_0_of_exchanged_records_costs_nothing(name):
    assert qw.poisson(BASES[name], 0.0, "replace_one").epsilon(0.0).upper == 0


@pytest.mark.parametrize("name", BASES)
def test_rate_1_is_the_release(name):
    assert qw.poisson(BASES[name], 1) is BASES[name]


@pytest.mark.parametrize("name", NOISES)
def test_rate_1_of_exchanged_records_is_twice_the_sensitivity(name):
    same(qw.poisson(BASES[name], 1, "replace_one"), BASES[name].group(2))


def test_cut_batches():
    base = BASES["gaussian"]
    assert qw.truncated_poisson(base, 0, 10, 100).epsilon(0.0).upper == 0
    same(qw.truncated_poisson(base, 1, 100, 100), base)  # everybody is sampled, and nobody cut
    same(qw.truncated_poisson(base, 0.1, 100, 100), qw.poisson(base, 0.1))
    everybody = qw.truncated_poisson(base, 1.0, 10, 100)  # a batch of exactly ten
    assert everybody.epsilon(1e-6).upper <= base.group(2).epsilon(1e-6).upper
    for rate, most, of in ((0, 0, 100), (0, 10, 0), (-0.1, 10, 100), (1.1, 10, 100), (0, 1.5, 100)):
        with pytest.raises(InvalidParameter):
            qw.truncated_poisson(base, rate, most, of)


def test_batches_of_a_fixed_size():
    base = BASES["gaussian"]
    same(qw.fixed_size(base, 50, 50), base)
    with pytest.raises(InvalidParameter, match=r"^batch must be an integer from 1"):
        qw.fixed_size(base, 0, 50)
    with pytest.raises(InvalidParameter, match=r"^batch must be at most"):
        qw.fixed_size(base, 51, 50)


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size", "shuffle", "random_allocation"])
def test_a_run_on_the_whole_table_has_no_sampling(sampling):
    """A batch that is the table: one release each epoch; exchanged records move it twice as far."""
    run = qw.training(100, 100, 3, 2.0, sampling)
    same(run, 3 * qw.gaussian(2.0, 2.0 if sampling == "fixed_size" else 1.0))
    for batch in (0, 101):
        with pytest.raises(InvalidParameter, match=r"^batch must be"):
            qw.training(100, batch, 3, 2.0, sampling)
    with pytest.raises(InvalidParameter, match=r"^epochs must be"):
        qw.training(100, 10, 0, 2.0, sampling)
