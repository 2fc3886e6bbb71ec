"""What a hostile reader looks for: false verdicts, words that say too little, p-values that a mechanism beats."""

from math import comb, exp

import numpy as np
import pytest
from scipy.optimize import linprog

import quiltwork as qw
from quiltwork import audit
from quiltwork.audit.bounds import one_run as canaries
from quiltwork.audit.bounds.one_run import p_value_of_trials
from quiltwork.cli import main


def randomised_response(epsilon, count, rng):
    """Scores of count runs with the record and count without: epsilon-private, and nowhere near Gaussian."""
    right = exp(epsilon) / (1 + exp(epsilon))
    return (rng.random(count) < right).astype(float), (rng.random(count) < 1 - right).astype(float)


@pytest.mark.parametrize("method", ["gdp", "both"])
def test_a_true_guarantee_is_not_contradicted_by_a_gaussian_reading(method):
    """Against 1-DP randomised response, with 20,000 runs the Gaussian reading says more than 5."""
    scores = randomised_response(1.0, 20_000, np.random.default_rng(0))
    found = audit.report(qw.pure(1.0), *scores, 1e-5, method=method)
    assert found.audits[-1].epsilon_lower > 5
    assert not found.contradicted
    assert found.to_json()["contradicted"] is False
    assert "does not contradict" in found.verdict()
    assert any("only if the worst case is Gaussian" in line for line in found.explain().splitlines())
    refuted = audit.report(qw.pure(0.5), *scores, 1e-5, method=method)  # a false one still is, whatever the law
    assert refuted.contradicted
    assert not refuted.caveats


def test_the_command_line_does_not_fail_a_true_guarantee(tmp_path, capsys):
    inside, outside = randomised_response(1.0, 4_000, np.random.default_rng(1))
    lines = ["score,member", *(f"{s},1" for s in inside), *(f"{s},0" for s in outside)]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert main(["audit", str(file), "--method", "gdp", "--claim", "1", "--delta", "1e-5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "not contradicted" in out
    assert "only if the worst case is Gaussian" in out


@pytest.mark.parametrize(
    ("confidence", "chance"), [(0.95126, "4.88%"), (0.95, "5%"), (0.975, "2.5%"), (0.99996, "0.004%"), (0.999, "0.1%")]
)
def test_the_chance_of_a_false_verdict_is_rounded_up(confidence, chance):
    found = audit.report(qw.pure(0.01), range(1000, 2000), range(1000), 1e-5, confidence)
    assert found.contradicted
    assert found.verdict().endswith(f"is at most {chance}.")


def most_likely(guesses, correct, epsilon, delta):
    """The largest chance of so many right guesses, over all (epsilon, delta)-private mechanisms, when all are guessed.

    Permuting canaries and turning coins changes nothing, so the best mechanism is a law of the number of right guesses:
    a linear program.
    """
    r, e = guesses, exp(epsilon)
    size = 3 * r + 1  # masses of 0..r right guesses, then the two kinds of excess
    rows, right = [], []
    for w in range(1, r + 1):
        row = np.zeros(size)
        row[w], row[w - 1], row[r + w] = w / r, -e * comb(r - 1, w - 1) / comb(r, w - 1), -1.0
        rows.append(row)
    for w in range(r):
        row = np.zeros(size)
        row[w], row[w + 1], row[2 * r + 1 + w] = (r - w) / r, -e * comb(r - 1, w) / comb(r, w + 1), -1.0
        rows.append(row)
    budget = np.zeros(size)
    budget[r + 1 :] = 1.0
    right = [0.0] * len(rows) + [delta]
    law = np.zeros((1, size))
    law[0, : r + 1] = 1.0
    wanted = np.zeros(size)
    wanted[correct : r + 1] = -1.0
    return -linprog(wanted, np.array([*rows, budget]), right, law, [1.0], bounds=(0, None), method="highs").fun


def test_no_mechanism_beats_the_p_value_of_one_run():
    closest = 0.0
    for guesses, correct in ((1, 1), (4, 3), (4, 4), (9, 7), (9, 9)):
        for epsilon in (0.0, 0.5, 2.0):
            for delta in (0.0, 1e-3, 0.05):
                best = most_likely(guesses, correct, epsilon, delta)
                claimed = canaries.p_value(guesses, guesses, correct, epsilon, delta)
                assert best <= claimed + 1e-9
                closest = max(closest, best / claimed)
    assert closest == pytest.approx(1.0)  # attained without delta: the test could fail


def test_independent_trials_are_no_harder_to_guess_than_coins_that_are_revealed():
    """The chance of v right guesses when each of m coins is revealed with chance delta, by enumeration."""
    m, r, epsilon, delta = 12, 8, 1.0, 0.1
    right = exp(epsilon) / (1 + exp(epsilon))
    for v in range(r + 1):
        truth = 0.0
        for revealed in range(m + 1):
            sure = min(revealed, r)
            rest = sum(
                comb(r - sure, j) * right**j * (1 - right) ** (r - sure - j)
                for j in range(max(v - sure, 0), r - sure + 1)
            )
            truth += comb(m, revealed) * delta**revealed * (1 - delta) ** (m - revealed) * rest
        assert p_value_of_trials(m, r, v, epsilon, delta) >= truth * (1 - 1e-12)
        if v > r * (right + delta):
            assert p_value_of_trials(m, r, v, epsilon, delta) <= truth * 1.01
