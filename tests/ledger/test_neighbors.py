"""A loss is spent for the change of the data that it was stated for, and for no other."""

import subprocess
import sys

import attrs
import pytest

import quiltwork as qw
from quiltwork import mechanisms
from quiltwork import pufferfish as pf
from quiltwork.compose.filters.windows import stated_from_json
from quiltwork.errors import AlreadyRun, InvalidParameter, Unsupported
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


SPENDER = """
import sys
import quiltwork as qw
with qw.Ledger(sys.argv[1]) as ledger:
    entry = next(ledger.history("replaced", last=1))
    loss = qw.Loss.from_json(entry.content["loss"])  # as the entry has it
    for given in (loss, qw.load(sys.argv[2])):
        for budget in ("rows", "words", "people"):
            try:
                ledger.spend(budget, given)
            except qw.errors.InvalidParameter as refused:
                assert "worked out for replace_one" in str(refused) or budget == "people", refused
            else:
                assert budget == "people", budget
        ledger.spend("replaced", given)
    t = qw.Table(age=qw.Int(10, 12))
    try:
        qw.Plan(t, qw.add_remove()).add("q", reads=["age"], loss=loss, holds=qw.on_input(qw.add_remove()))
    except qw.errors.InvalidParameter as refused:
        print("refused", ledger.verify().holds)
"""


def test_a_width_stays_one_for_replaced_rows_in_another_process(tmp_path):
    """high - low is 2 where a row that leaves takes 12: through an entry, a file and a process it is refused."""
    url, file = f"sqlite:///{tmp_path}/b.db", tmp_path / "loss.json"
    loss = mechanisms.laplace_loss(4.0, mechanisms.bounded_sum([10, 12], 10, 12).sensitivity)
    qw.save(loss, file)
    with Ledger(url) as ledger:
        for name, protects in (
            ("replaced", qw.replace_one()),
            ("rows", qw.add_remove()),
            ("words", "One record, added or removed."),
            ("people", "one patient"),  # words that say nothing of rows
        ):
            ledger.open(name, epsilon=3.0, delta=1e-6, protects=protects)
        ledger.spend("replaced", loss)
        both = mechanisms.laplace_loss(4.0, mechanisms.bounded_sum([10, 12], 10, 12, "add_remove").sensitivity)
        with pytest.raises(InvalidParameter, match="worked out for add_remove"):
            ledger.spend("replaced", both)
        ledger.open("wide", epsilon=30.0, delta=1e-6, protects=qw.replace_one())
        ledger.spend("wide", both.group(2))
        for plan in ([("sum", loss)], [("sum", 2 * loss)]):
            with pytest.raises(InvalidParameter, match="worked out for replace_one"):
                ledger.open("planned", epsilon=3.0, delta=1e-6, protects=qw.add_remove(), plan=plan)
    ran = subprocess.run([sys.executable, "-c", SPENDER, url, str(file)], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["refused", "True"], ran.stderr


# ---- losses of guarantees


HOURS = qw.Table(person=qw.Id(), hour=qw.Int(0, 3), state=qw.Cat(0, 1))
ONE_ROW = qw.replace_one(fixed=["person", "hour"])


def counted():
    plan = qw.Plan(HOURS, neighbors=qw.add_remove())
    where, holds = HOURS.state == 1, qw.on_input(qw.add_remove())
    return plan.add("ones", where=where, count=True, loss=qw.gaussian(40.0), holds=holds).guarantee()


def test_the_loss_of_a_guarantee_says_which_change_it_is_about(ledger):
    """One row of 24 costs far less than all of them; it was taken for all of a person's without a word."""
    ledger.open("b", epsilon=1.0, delta=1e-6, protects="all rows of one person")
    row = counted().to(ONE_ROW).loss()
    assert row.neighbors == ONE_ROW.protects
    for given in (row, 3 * row, qw.compose(row, qw.pure(0.1)), qw.mixture([(1.0, counted().to(ONE_ROW))])):
        with pytest.raises(InvalidParameter, match="stated for"):
            ledger.spend("b", given)
    with pytest.raises(InvalidParameter, match="same for all releases"):
        qw.compose(counted(), counted().to(qw.user("person", 4)))
    ledger.spend("b", row.stated_for("all rows of one person"))  # whoever says so answers for it


def test_entries_of_a_budget_about_secrets_keep_the_change_that_they_are_about(ledger):
    """What such a budget was paid, read from its history, is no price in a budget for persons."""
    chain = pf.MarkovChain([[0.8, 0.2], [0.2, 0.8]], length=4)
    ledger.open("persons", epsilon=5.0, delta=1e-6, protects="all rows of one person")
    for name, kept in (("several", None), ("windows", "windows")):
        ledger.open(name, epsilon=2.0, delta=1e-6, prior=chain, person="person", when="hour", filter=kept)
        ledger.spend(name, counted())
        (entry,) = (one for one in ledger.history(name) if one.kind == "spend")
        with pytest.raises((InvalidParameter, Unsupported), match=r"stated for|pays for windows"):
            ledger.spend("persons", stated_from_json(entry.content["loss"]))
        ledger.spend(name, stated_from_json(entry.content["loss"]))


def test_runs_of_a_loss_are_about_what_the_budget_protects(ledger):
    row = qw.gaussian(40.0).stated_for("one row")
    with pytest.raises(InvalidParameter, match="stated for"):
        ledger.open("b", units=row, most=5, protects="all rows of one person")
    with pytest.raises(InvalidParameter, match="exchanged records"):
        ledger.open("b", units=qw.poisson(qw.gaussian(1.0), 0.1), most=5, protects=qw.replace_one())
    ledger.open("b", units=row, most=5, protects="one row")
    ledger.spend("b", row)


def test_a_loss_that_was_written_without_its_change_stands_for_the_same_with_it(ledger):
    """Entries and plans of older releases do not say it: who asks again under a key gets the receipt."""
    t = qw.Table(kind=qw.Cat("a", "b"), n=qw.Int(0, 9))
    plan = qw.Plan(t, qw.add_remove()).count("all", noise=qw.noise.laplace(4.0))
    both = qw.Plan(t, qw.add_remove()).count("low", where=t.n < 5, noise=qw.noise.laplace(4.0))
    both.count("high", where=t.n > 6, noise=qw.noise.gaussian(3.0))
    marked = plan.guarantee().loss()
    bare = attrs.evolve(marked, neighbors="")
    assert marked.neighbors
    ledger.open("b", epsilon=3.0, delta=1e-6, protects=qw.add_remove())
    first = ledger.spend("b", bare, key="monday")
    assert ledger.spend("b", marked, key="monday") == first
    several = ledger.spend("b", both.guarantee(), key="tuesday")
    written = stated_from_json(several.entry.content["loss"])
    said = attrs.evolve(written, losses=[one.stated_for(qw.add_remove()) for one in written.losses])
    assert said != written
    assert ledger.spend("b", said, key="tuesday") == several
    with pytest.raises(AlreadyRun, match="another request"):
        ledger.spend("b", 2 * marked, key="monday")
    with pytest.raises(InvalidParameter, match="stated for"):
        ledger.spend("b", bare.stated_for("one month"), key="monday")
    assert len(list(ledger.history("b"))) == 3

    ledger.open("plan", epsilon=3.0, protects=qw.add_remove(), plan=[("all", bare, 2)])
    ledger.spend("plan", marked)
    ledger.spend("plan", marked, release="all")
    for other in (bare.stated_for("one month"), 2 * marked):
        with pytest.raises(InvalidParameter, match=r"planned release|that of 'all'"):
            ledger.spend("plan", other)
