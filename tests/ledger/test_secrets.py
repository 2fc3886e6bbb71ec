"""Budgets about secrets: a limit about correlated records, translated once, paid per entry, kept by any process."""

import io
import itertools
import math
import re
from fractions import Fraction

import attrs
import numpy as np
import pytest
from tests.ledger.crew import together

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.errors import BudgetExceeded, InvalidParameter, Unsupported
from quiltwork.ledger import Blocks, Ledger
from quiltwork.ledger.book.fixed import correlated
from quiltwork.ledger.book.rules import check_translation
from quiltwork.ledger.book.terms import Limit, Terms
from quiltwork.pufferfish.budget import keeps, per_entry_filter, per_entry_limit, spent_on_secrets

DELTA = 1e-6


def chain(stay, length=None):
    return pf.MarkovChain([[stay, 1 - stay], [1 - stay, stay]], length=length)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/b.db") as made:
        yield made


# ---- the translation


@pytest.mark.parametrize(  # reference/joining.json, "secret budgets", to the digits that are kept
    ("stay", "epsilon", "entry", "share"),
    [
        (0.8, 1.0, 0.2598162540835762, 1.726677184365228e-7),
        (0.8, 3.0, 1.019862395607452, 9.288778165226830e-8),
        (0.9, 1.0, 0.1157343544210133, 7.140714103615705e-8),
        (0.9, 3.0, 0.4688666557944228, 3.134215603472085e-8),
    ],
)
def test_reference(stay, epsilon, entry, share):
    found = per_entry_limit(chain(stay), epsilon, DELTA)
    assert found == pytest.approx((entry, share), rel=1e-11)
    assert found[0] <= entry
    assert found[1] <= share


@pytest.mark.parametrize(("kind", "rho"), [("zcdp", 0.001638), ("gdp", 0.001882)])  # theory/joining.md section 4
def test_squared_limits_are_the_largest_that_keep_the_target(kind, rho):
    kept = per_entry_filter(chain(0.8), 1.0, DELTA, kind=kind)
    assert float(kept.limit[0]) / (2 if kind == "gdp" else 1) == pytest.approx(rho, rel=1e-3)
    assert float(pf.guarantee(kept.promise, chain(0.8)).epsilon(DELTA).upper) <= 1.0
    assert keeps(kept, chain(0.8), 1.0, DELTA)
    assert not keeps(kept, chain(0.8), 0.99, DELTA)


@pytest.mark.parametrize("kind", ["renyi", "several_orders", "pure"])
def test_the_promise_for_one_entry_is_the_limit_about_the_secrets(kind):
    kept = per_entry_filter(chain(0.9), 3.0, DELTA, kind=kind)
    entry, share = per_entry_limit(chain(0.9), 3.0, DELTA)
    assert float(kept.promise.delta(entry).upper) <= share
    promise = pf.guarantee(qw.approximate(entry, share), chain(0.9))
    assert float(promise.delta(3.0).upper) == pytest.approx(DELTA, rel=1e-6)
    assert keeps(kept, chain(0.9), 3.0, DELTA)
    assert not keeps(kept, chain(0.9), 2.99, DELTA)
    assert not keeps(kept, chain(0.91), 3.0, DELTA)


def test_what_cannot_be_translated():
    with pytest.raises(InvalidParameter, match="filter"):
        per_entry_filter(chain(0.9), 1.0, kind="zcdp")


# ---- against the truth: adaptive choices on small chains, every output listed


def response(epsilon, reveal):
    """P(out | bit): tells the bit outright with probability `reveal`, else it is randomized."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    return {
        (bit, out): (reveal if out == ("told", bit) else 0.0)
        + (1 - reveal) * ((right if out == bit else 1 - right) if out in (0, 1) else 0.0)
        for bit in (0, 1)
        for out in (0, 1, ("told", 0), ("told", 1))
    }


def outputs(rng, sequences, laws, epsilon, delta, rounds, chance):
    """Every path of an adaptive run as (P(path | sequence) for each): what comes next depends on what was seen."""
    if not rounds or epsilon <= 0:
        yield chance
        return
    share, cut = rng.uniform(0.2, 1.0), rng.uniform(0.0, 1.0)
    asked = rng.integers(0, 2, len(sequences))  # any statement about all entries at once: one entry may turn it
    cost, told = (epsilon, delta) if rounds == 1 else (share * epsilon, cut * delta)
    law = response(cost, told)
    for out in (0, 1, ("told", 0), ("told", 1)):
        here = chance * np.array([law[int(bit), out] for bit in asked])
        if here.any():
            yield from outputs(rng, sequences, laws, epsilon - cost, delta - told, rounds - 1, here)


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_no_adaptive_run_tells_more_about_any_entry(delta):
    rng, closest = np.random.default_rng(24), 0.0
    for _ in range(60):
        stay, epsilon, length = rng.uniform(0.5, 0.95), rng.uniform(0.3, 3.0), int(rng.integers(2, 5))
        prior = chain(float(stay), length)
        entry, share = per_entry_limit(prior, epsilon, delta)
        sequences = list(itertools.product((0, 1), repeat=length))
        weights = np.array(
            [0.5 * math.prod(stay if a == b else 1 - stay for a, b in itertools.pairwise(x)) for x in sequences]
        )
        paths = list(outputs(rng, sequences, weights, entry, share, 3, np.ones(len(sequences))))
        assert np.sum(paths, axis=0) == pytest.approx(np.ones(len(sequences)))
        for index in range(length):
            ones = np.array([x[index] for x in sequences], dtype=bool)
            laws = [
                np.array([float(p[side] @ weights[side]) for p in paths]) / weights[side].sum()
                for side in (ones, ~ones)
            ]
            for one, two in (laws, laws[::-1]):
                found = float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())
                assert found <= delta + 1e-12
                closest = max(closest, found)
    assert delta == 0.0 or closest > 0.0  # some run comes near


# ---- kept through many spends


LIMIT, EACH = 1.0, 50


def adaptive(ready, url, budget, who):
    """Fifty spends whose size depends on what was drawn before; how many were granted."""
    rng, granted, size = np.random.default_rng(who), 0, 0.002
    with Ledger(url, timeout=120.0) as ledger:
        ready()
        for turn in range(EACH):
            seen = rng.laplace(scale=1 / size)  # the answer, which decides what is asked next
            size = 0.001 if seen > 0 else 0.004
            loss = qw.pure(size) if budget == "pure" else qw.gaussian(1 / (10 * size))
            try:
                ledger.spend(budget, loss.stated_for("one entry, alone"), key=f"{who}-{turn}")
                granted += 1
            except BudgetExceeded:
                size = 0.001
    return granted


@pytest.mark.parametrize("budget", ["pure", "noise"])
def test_a_hundred_adaptive_spends_in_two_processes(tmp_path, budget):
    url, prior = f"sqlite:///{tmp_path}/b.db", chain(0.8)
    with Ledger(url) as ledger:
        limit = {"epsilon": LIMIT} | ({} if budget == "pure" else {"delta": DELTA})
        ledger.open(budget, **limit, prior=prior)
    granted = together(adaptive, [(url, budget, who) for who in range(2)])
    with Ledger(url) as ledger:
        assert ledger.verify().holds
        spends = [entry for entry in ledger.history(budget) if entry.kind == "spend"]
        losses = [qw.Loss.from_json(entry.content["loss"]) for entry in spends]
        balance, whole = ledger.balance(budget), ledger.budget(budget).terms.filter
        sums = tuple(sum(amounts) for amounts in zip(*(whole.cost(loss) for loss in losses), strict=True))
    assert sum(granted) == len(spends) <= 2 * EACH
    together_told = pf.guarantee(qw.compose(*losses), prior)
    told = float(together_told.epsilon(limit.get("delta", 0.0)).upper)
    assert told <= LIMIT
    assert 0.0 < balance.epsilon <= LIMIT
    assert balance.epsilon_left == pytest.approx(LIMIT - balance.epsilon, rel=1e-9)
    if budget == "pure":  # per entry costs add up exactly, and what they tell is the one-shot translation of the sum
        assert len(spends) == 2 * EACH
        paid = balance.amounts[1]
        assert paid.unit == "epsilon of one entry"
        once = float(pf.translate(prior, float(paid.spent.upper)).upper)
        assert balance.epsilon == pytest.approx(once, rel=1e-9)
        assert told == pytest.approx(once, rel=1e-6)
        assert pf.translate(prior, float(whole.limit[0])).upper == pytest.approx(LIMIT, rel=1e-6)
    else:  # the translation, in one go, of the (epsilon, delta) of one entry that the filter reads
        share = float(whole.limit[1])
        once = pf.guarantee(qw.approximate(whole.spent(sums), share), prior).epsilon(DELTA)
        assert balance.epsilon == pytest.approx(min(float(once.upper), LIMIT), rel=1e-9)
        assert balance.epsilon >= told  # which needs no adaptive choice


def test_a_budget_that_is_used_up_tells_what_was_promised(ledger):
    ledger.open("b", epsilon=1.0, prior=chain(0.8))
    entry = per_entry_limit(chain(0.8), 1.0, 0.0)[0]
    ledger.spend("b", qw.pure(entry / 100), times=99)
    ledger.spend("b", qw.pure(float(ledger.balance("b").amounts[1].left.lower)))
    with pytest.raises(BudgetExceeded):
        ledger.spend("b", qw.pure(1e-9))
    assert ledger.balance("b").epsilon == pytest.approx(1.0)
    assert ledger.balance("b").epsilon <= 1.0
    assert "fixed in advance, tells about the secrets" in ledger.balance("b").explain()


# ---- what it takes and what it refuses


def test_what_may_be_spent(ledger):
    ledger.open("b", epsilon=3.0, delta=DELTA, prior=chain(0.9, 24))
    released = pf.histogram([3, 21], chain(0.9, 24), 0.5)
    ledger.spend("b", released.loss)
    ledger.spend("b", released.loss.guarantee())
    ledger.spend("b", qw.gaussian(200.0))  # about which nothing was said: it is taken as that of one entry
    with pytest.raises(Unsupported, match="does not add up"):
        ledger.spend("b", released.guarantee)
    with pytest.raises(InvalidParameter, match="'one entry, alone'"):
        ledger.spend("b", qw.gaussian(200.0).guarantee())
    with pytest.raises(InvalidParameter, match="'one entry, alone'"):
        ledger.spend("b", qw.gaussian(200.0).stated_for("one person"))
    said = ledger.budget("b").explain()
    for words in ("the value of each single entry", "Markov chain", "one entry, alone"):
        assert words in said


def test_what_opens_none(ledger):
    prior, good = chain(0.9, 24), {"epsilon": 1.0, "delta": DELTA}
    for bad, words in (
        ({"prior": [[1.0]]}, "a prior"),
        ({"prior": prior, "protects": "one person"}, "left out"),
        ({"prior": prior, "secrets": "x"}, "secrets"),
        ({"prior": prior, "person": "person"}, "both columns"),
        ({"secrets": pf.entry_values(), "protects": "x"}, "given with secrets"),
        ({"prior": prior, "refresh": 3600}, "do not add up"),
        ({"prior": prior, "blocks": Blocks("day")}, "do not add up"),
        ({"prior": chain(0.9, 4), "secrets": pf.function_values(sum)}, "function"),
        ({"prior": prior, "filter": "none"}, "one of"),
        ({"prior": prior, "plan": [("a", qw.gaussian(200.0).stated_for("one person"))]}, "one entry, alone"),
    ):
        with pytest.raises((InvalidParameter, Unsupported), match=words):
            ledger.open("b", **good, **bad)
    with pytest.raises(InvalidParameter, match="epsilon"):
        ledger.open("b", rho=1.0, prior=prior)
    assert ledger.budgets() == ()


def test_it_is_kept_as_a_document(ledger, tmp_path):
    secrets = pf.entry_values([0, 3])
    ledger.open("b", epsilon=1.0, delta=DELTA, prior=chain(0.9, 8), secrets=secrets, filter="zcdp")
    ledger.spend("b", qw.gaussian(400.0))
    terms = ledger.budget("b").terms
    assert Terms.from_json(terms.to_json()) == terms
    assert terms.about == correlated(chain(0.9, 8), secrets)
    assert terms.about.laws()[1] == secrets
    text = io.StringIO()
    ledger.export(text)
    with Ledger.restore(
        f"sqlite:///{tmp_path}/copy.db", text.getvalue().splitlines(), key=f"{tmp_path}/b.db.key"
    ) as copy:
        assert copy.verify().holds
        assert copy.budget("b").terms == terms


def test_a_limit_that_does_not_keep_the_secrets_is_found():
    kept = per_entry_filter(chain(0.9), 1.0, DELTA, kind="zcdp")
    wide = attrs.evolve(kept, limit=(2 * kept.limit[0],))
    for limit, holds in ((kept, True), (wide, False)):
        terms = _terms(limit)
        if holds:
            check_translation(terms)
        else:
            with pytest.raises(InvalidParameter, match="keeps the secrets"):
                check_translation(terms)


def _terms(kept):
    about = correlated(chain(0.9))
    words = {"protects": about.protects, "notion": None, "expires": None, "refresh": None, "blocks": None}
    return Terms("b", "adaptive", Limit.of(1.0, DELTA), kept, (), owners=(), note="", about=about, **words)


def test_a_plan_is_translated_as_a_whole(ledger):
    prior, plan = chain(0.8), [("a", qw.pure(0.1), 2), ("b", qw.pure(0.05).stated_for("one entry, alone"))]
    told = float(pf.guarantee(qw.pure(0.25), prior).epsilon(0.0).upper)
    with pytest.raises(BudgetExceeded, match="plan less"):
        ledger.open("less", epsilon=0.999 * told, prior=prior, plan=plan)
    ledger.open("b", epsilon=1.001 * told, prior=prior, plan=plan)
    assert float(ledger.balance("b").spent.upper) == 0.0
    ledger.spend("b", release="a")
    once = float(pf.guarantee(qw.pure(0.1), prior).epsilon(0.0).upper)
    assert float(ledger.balance("b").spent.upper) == pytest.approx(once, rel=1e-6)
    assert ledger.verify().holds


# ---- table plans


def hourly(noise=40.0, hours=24):
    table = qw.Table(person=qw.Id(), hour=qw.Int(0, hours - 1), state=qw.Cat("home", "out"))
    plan = qw.Plan(table, neighbors=qw.user("person", hours))
    plan.split(
        "hourly", by=table.hour, where=table.state == "out", count=True, loss=qw.gaussian(noise),
        holds=qw.on_input(qw.add_remove()),
    )  # fmt: skip
    return table, plan


def test_a_planned_table_pays_for_windows(ledger):
    table, plan = hourly()
    asked = {"delta": DELTA, "prior": chain(0.9, 24), "person": table.person, "when": table.hour, "plan": plan}
    with pytest.raises(BudgetExceeded, match=r"0\.37833"):  # theory/joining.md section 0
        ledger.open("less", epsilon=0.378, **asked)
    ledger.open("b", epsilon=0.379, **asked)
    ledger.spend("b", release="hourly: hour = 3")
    one = qw.gaussian(40.0).epsilon(DELTA)
    assert float(ledger.balance("b").spent.upper) >= float(one.lower)
    assert float(ledger.balance("b").spent.upper) < 0.2
    with pytest.raises(BudgetExceeded, match="0 runs"):
        ledger.spend("b", release="hourly: hour = 3")
    with pytest.raises(InvalidParameter, match="release"):
        ledger.spend("b", plan.guarantee())
    assert ledger.verify().holds


def test_an_adaptive_budget_takes_table_plans_per_entry(ledger):
    _, plan = hourly(hours=6)
    ledger.open("b", epsilon=3.0, delta=DELTA, filter="zcdp", prior=chain(0.9, 6), person="person", when="hour")
    ledger.spend("b", plan.guarantee())
    # one row of one hour is replaced: one count moves by one
    balance = ledger.balance("b")
    assert balance.amounts[1].unit == "rho of one entry"
    assert float(balance.amounts[1].spent.upper) == pytest.approx(1 / (2 * 40.0**2), rel=1e-9)
    once = float(pf.guarantee(qw.zcdp(1 / (2 * 40.0**2)), chain(0.9, 6)).epsilon(DELTA).upper)
    assert balance.epsilon == pytest.approx(once, rel=1e-4)  # what so much for one entry tells about the secrets
    ledger.open("c", epsilon=3.0, delta=DELTA, prior=chain(0.9, 6))
    with pytest.raises(Unsupported, match="person"):
        ledger.spend("c", plan.guarantee())


def test_what_was_spent_is_read_at_the_share_that_was_fixed_at_opening():
    """Another release of quiltwork may translate to another last digit; its ledgers are read all the same."""
    kept = per_entry_filter(chain(0.8), 1.0, 1e-6)
    share = Fraction(repr(float(kept.limit[1]) * (1 - 1e-9)))
    other = attrs.evolve(kept, limit=(kept.limit[0], share), reveal=share / 100).chosen_for(qw.gaussian(60.0))
    assert keeps(other, chain(0.8), 1.0, 1e-6)
    told = spent_on_secrets(other, other.cost(qw.gaussian(60.0)), chain(0.8), 1.0, 1e-6)
    same = kept.chosen_for(qw.gaussian(60.0))
    assert told == pytest.approx(spent_on_secrets(same, same.cost(qw.gaussian(60.0)), chain(0.8), 1.0, 1e-6), rel=1e-6)


@pytest.mark.parametrize("kind", [None, "zcdp"])
def test_a_refusal_says_what_would_do_for_the_secrets(ledger, kind):
    """What entries are paid is no epsilon of the secrets: "epsilon 1 would do" stood in refusals of budgets of 1."""
    prior, run = chain(0.8, 6), 20 * qw.gaussian(60.0)
    ledger.open("b", epsilon=1.0, delta=1e-6, prior=prior, filter=kind)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.spend("b", run)
    adaptive, planned = map(float, re.findall(r"epsilon ([0-9.]+)", refused.value.hint))
    assert planned >= pf.guarantee(run, prior).epsilon(1e-6).upper * (1 - 1e-9)
    ledger.open("larger", epsilon=adaptive, delta=1e-6, prior=prior)
    ledger.spend("larger", run)
    ledger.open("planned", epsilon=1.0, delta=1e-6, prior=prior, plan=[("all", qw.gaussian(60.0), 20)])
    ledger.spend("planned", release="all", times=20)
