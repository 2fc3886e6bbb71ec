"""A loss is spent for the change of the data that it was stated for, and for no other."""

import pytest

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.ledger import Ledger
from quiltwork.pufferfish.prior import ENTRY

CHAIN = pf.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=24)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/b.db") as made:
        yield made


def test_the_loss_of_one_entry_is_not_that_of_the_secrets(ledger):
    released = pf.laplace(12, CHAIN, 1.0, sensitivity=1)
    assert released.loss.neighbors == ENTRY
    with pytest.raises(InvalidParameter, match=r"prior=\.\.\."):
        ledger.open("secrets", epsilon=3.0, delta=1e-6, protects=released.guarantee.protects)
    ledger.open("people", epsilon=3.0, delta=1e-6, protects="one person")
    with pytest.raises(InvalidParameter, match=r"'one entry, alone'.*stated_for"):
        ledger.spend("people", released.loss)
    with pytest.raises(Unsupported, match="does not add up"):
        ledger.spend("people", released.guarantee)
    assert float(ledger.balance("people").spent.upper) == 0.0
    ledger.spend("people", released.loss.stated_for("One  person."))  # somebody says that it is the same here
    entry = next(ledger.history("people", last=1))
    assert entry.content["loss"]["neighbors"] == "One  person."


@pytest.mark.parametrize("budget", [qw.add_remove(), qw.user("person", 4)])
def test_exchanged_records_say_nothing_about_one_that_comes(ledger, budget):
    ledger.open("b", epsilon=3.0, delta=1e-6, protects=budget)
    exchanged = (
        qw.fixed_size(qw.gaussian(2.0, 2.0), 10, 1000),
        qw.poisson(qw.gaussian(2.0), 0.01, neighbors="replace_one"),
        qw.mixture([(0.5, qw.gaussian(9.0)), (0.5, qw.fixed_size(qw.gaussian(2.0, 2.0), 10, 1000))]),
    )
    for loss in exchanged:
        with pytest.raises(InvalidParameter, match=r"takes the place of another.*Poisson samples"):
            ledger.spend("b", loss)
    ledger.spend("b", qw.poisson(qw.gaussian(2.0), 0.001))


def test_poisson_samples_say_which_records_they_mean(ledger):
    ledger.open("b", epsilon=3.0, delta=1e-6, protects=qw.replace_one())
    with pytest.raises(InvalidParameter, match=r'comes or goes.*neighbors="replace_one"'):
        ledger.spend("b", qw.poisson(qw.gaussian(2.0), 0.01))
    batch = qw.fixed_size(qw.gaussian(9.0, 2.0), 10, 1000)
    ledger.open("plan", epsilon=3.0, delta=1e-6, protects=qw.replace_one(), plan=[("batch", batch)])


def test_words_alone_are_compared_with_words_alone(ledger):
    ledger.open("b", epsilon=3.0, delta=1e-6, protects="one patient")
    batch = qw.fixed_size(qw.gaussian(9.0, 2.0), 10, 1000)  # nobody said what the record of a patient does
    ledger.open("plan", epsilon=3.0, delta=1e-6, protects="one patient", plan=[("batch", batch)])
    with pytest.raises(InvalidParameter, match="'one record, added or removed'"):
        ledger.spend("b", qw.gaussian(40.0).stated_for(qw.add_remove()))
    ledger.spend("b", qw.gaussian(40.0).guarantee("one patient"))


def test_planned_losses_too(ledger):
    for loss in (qw.gaussian(40.0).stated_for("one visit"), qw.fixed_size(qw.gaussian(9.0, 2.0), 10, 1000)):
        with pytest.raises(InvalidParameter, match="protects"):
            ledger.open("b", epsilon=3.0, delta=1e-6, protects=qw.add_remove(), plan=[("a", loss)])
