"""The room of secrets inferred from the data: verdicts are what the theory says, and the tables are read rightly."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from examples.gallery.confounding import STUDIES, copulas, tables
from examples.gallery.confounding.people import ATTACKERS, Genomes
from examples.gallery.confounding.rows import Twice, chart, measured
from examples.gallery.item import Effort
from examples.game_composition import TABLE_8, TABLE_9, Size, redesigned, tied

from quiltwork.game.defenders.certificates import neighbours, widest
from quiltwork.game.people.population import Statistic
from quiltwork.game.populations import independent

WRONG, DIFFER, AGREE = "wrong in print", "differ", "agree"
VERDICTS = {
    "appendix-c": AGREE,
    "appendix-e": AGREE,
    "appendix-g-calibration": WRONG,
    "appendix-g-copula": WRONG,
    "appendix-g-joint": WRONG,
    "appendix-n": DIFFER,
    "auc-as-evidence": DIFFER,
    "equation-11": AGREE,
    "equation-12": WRONG,
    "equation-7": WRONG,
    "example-medical": AGREE,
    "example-navigation": AGREE,
    "lemma-4": AGREE,
    "lemma-5": WRONG,
    "lemma-6": AGREE,
    "lemma-7": AGREE,
    "lemma-8": AGREE,
    "penalty-method": DIFFER,
    "proposition-1": DIFFER,
    "proposition-3": WRONG,
    "proposition-4": WRONG,
    "set-pi": DIFFER,
    "step-13": WRONG,
    "strategies": WRONG,
    "task-1-convex": WRONG,
    "theorem-1-i": AGREE,
    "theorem-1-ii": AGREE,
    "theorem-1-iii": WRONG,
    "theorem-2-i": WRONG,
    "theorem-2-iii": WRONG,
    "theorem-3-ii-crossing": WRONG,
    "theorem-3-ii-gaussian": WRONG,
    "theorem-3-ii-upper": WRONG,
    "theorem-4-i": AGREE,
    "theorem-4-ii": WRONG,
    "theorem-5": WRONG,
}
FAST = [study for study in STUDIES if study not in tables.STUDIES]


@cache
def quickly(study):
    """A study once, for all who look at it."""
    return study.measure(Effort(quick=True))


@pytest.mark.parametrize("study", FAST, ids=lambda study: study.name.removeprefix("examples.gallery.confounding."))
def test_the_verdicts_follow_the_theory_and_what_was_corrected_holds(study):
    found = quickly(study)
    assert set(found) == {item.key for item in study.items}
    for key, finding in found.items():
        assert finding.verdict == VERDICTS[key.removeprefix("confounding-")]
        assert all(check.holds for check in finding.checks if check.says.startswith("corrected"))


def test_every_verdict_is_of_an_item_that_hangs():
    assert {f"confounding-{key}" for key in VERDICTS} == {item.key for study in FAST for item in study.items}


def test_a_correction_is_given_with_every_claim_that_the_run_refutes():
    for study in STUDIES:
        for item in study.items:
            verdict = VERDICTS.get(item.key.removeprefix("confounding-"))
            assert item.errata or verdict != WRONG


# ---- Figure 1 and its tables, on few people


@pytest.fixture(scope="module")
def few():
    statistic = Statistic(independent(20, 1, 30, seed=1))
    return Genomes(statistic, Size(people=20, attributes=30, releases=12), widest(neighbours(statistic), "pool")[0])


def test_printed_aucs_above_the_ceiling_differ(few):
    """The ceiling is a theorem about members drawn exchangeably, which print does not say."""
    rows = measured(few, TABLE_8[2:4], redesigned)
    findings = [tables.row_finding(row, "") for row in rows]
    assert [row.refuted for row in rows] == [(True, True), (False, False)]
    assert [finding.verdict for finding in findings] == ["differ", "not comparable"]
    assert findings[0].measured.startswith("For exchangeable members, no attack that uses the release alone")
    assert rows[0].linear.ceiling == pytest.approx(0.8248, abs=1e-4)
    assert all(row.linear.reached <= row.linear.target for row in rows)


def test_tied_noises_use_the_target_up_and_no_more(few):
    (row,) = measured(few, TABLE_9[5:], tied)
    assert (1 - 1e-6) * row.linear.target < row.linear.reached <= row.linear.target
    assert "with 0.5 all five would have epsilon 2.8" in row.linear.note
    assert row.alike()
    assert row.refuted == (False, False)
    assert 'role="img"' in chart("x", "A title", [row]).svg
    assert "No such attack reaches the shaded region." in chart("x", "A title", [row]).caption


def test_the_table_items_name_the_erratum_where_the_ceiling_is_passed():
    items = [item for study in tables.STUDIES for item in study.items]
    named = [item.key for item in items if item.errata == tables.ERRATUM]
    assert named == ["confounding-figure-1a", *(f"confounding-table-8-row-{row}" for row in (1, 2, 3))]


def test_the_claim_of_a_row_holds_what_the_ceiling_refutes():
    rows = [item for study in tables.STUDIES for item in study.items if "-row-" in item.key]
    assert len(rows) == len(TABLE_8) + len(TABLE_9)
    assert all(item.claim.endswith("The AUCs evaluate the privacy loss of that target.") for item in rows)


def test_nothing_is_said_to_be_larger_that_was_not_compared():
    """What stands in the column "ours" is a number, or two: a sign between them would be typed by hand."""
    for study in FAST:
        for key, finding in quickly(study).items():
            for check in finding.checks:
                assert not {"<", ">"} & set(check.ours), (key, check.ours)


def test_the_informed_attacker_is_at_least_as_strong(few):
    """Little noise: who knows the others can hardly be wrong, who does not still is."""
    areas = [few.by(attacker).attacked([few.reach / 4.0])[0].estimate for attacker in ATTACKERS]
    assert 0.5 < areas[0] < areas[1]


def test_an_auc_that_is_a_little_below_the_ceiling_is_not_refuted(few):
    row = redesigned(few, (0.3, 1.5, 0.82, 0.003, 0.8249, 0.003))
    assert Twice(row, row).refuted == (False, False)


def test_where_the_printed_calibration_ends_is_found_by_bisection():
    """Reference values of theory/confounding.md section 5."""
    found = [copulas.last_sound(delta) for delta in copulas.DELTAS]
    np.testing.assert_allclose(found, [16.3, 57.6, 133.0, 369.4, 984.8], rtol=1e-3)
