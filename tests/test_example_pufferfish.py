"""The simulated tables run as a stranger would run them, and show what they claim."""

import importlib
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, t

from quiltwork.data.generators import capture24_like, foursquare_like
from quiltwork.pufferfish import MarkovChain, per_entry_epsilon, translate

pytest.importorskip("opendp")
shared = importlib.import_module("examples.pufferfish_tables")

EXAMPLES = Path(__file__).parents[1] / "examples"
ALARM = 1e-6


@pytest.mark.parametrize(
    ("name", "tables"),
    [("capture24", ("Table 4", "Table 5")), ("foursquare", ("Table 2", "Table 3", "Table 7", "Table 8"))],
)
def test_one_command_tells_and_writes(name, tables, tmp_path):
    target = tmp_path / "new" / "folder"
    script = EXAMPLES / f"pufferfish_{name}.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(target), "--quick"], capture_output=True, text=True, check=True
    )
    told = done.stdout
    assert told.splitlines()[-1] == str(target / f"{name}.md")
    written = (target / f"{name}.md").read_text(encoding="utf-8")
    for text in (told, written):
        assert "simulated" in text
        assert "OpenDP" in text
        assert "nan" not in text
        assert "…" not in text
        assert all(table in text for table in tables)
        assert all(row in text for row in shared.ROWS)
    if name == "capture24":
        assert "at least twice Ours-Exp: yes" in told


@pytest.mark.parametrize("table", shared.PAPER)
def test_printed_numbers_are_those_of_a_table(table):
    """Six epsilons; everything improves with epsilon, but for two digits of Table 4 that the paper rounds otherwise."""
    lines = np.array(shared.PAPER[table])
    assert lines.shape == (6, {7: 20}.get(table, 12))
    signs = np.ones(lines.shape[1])
    if table in (3, 5, 8):
        signs[2::3] = -1
    assert np.all(np.diff(signs * lines, axis=0) > -0.0016)
    assert np.all(lines[:, signs > 0] < 1)
    assert shared.printed(5, "MQM", 2.0) == {"HR": 0.612, "NDCG rank": 0.825, "l1": 123.6}
    assert shared.printed(7, "Group-Exp", 1.0)["Acc@4"] == 0.0789
    assert shared.printed(4, "histogram", 1.0) == {}


def test_budgets_are_safe_and_in_order():
    """Every per-entry epsilon, put through the certified translation, stays within its epsilon."""
    population = capture24_like(np.random.default_rng(21))
    prior = MarkovChain(population.transition)
    for budget in shared.budgets(population):
        assert 0 < budget.group < budget.theorem_6 < budget.propagation < budget.epsilon
        assert translate(prior, budget.theorem_6, method="theorem 6").upper <= budget.epsilon * (1 + 1e-12)
        assert translate(prior, budget.propagation).upper <= budget.epsilon
        assert budget.group * population.longest == pytest.approx(budget.epsilon)


def test_one_prior_serves_every_group():
    population = foursquare_like(np.random.default_rng(22), scale=1e-3, countries=3, states=9)
    assert not np.array_equal(population.chain(0), population.chain(1))
    found = [per_entry_epsilon(MarkovChain(population.chain(group)), 0.5) for group in range(3)]
    assert found == pytest.approx([per_entry_epsilon(MarkovChain(population.transition), 0.5)] * 3, rel=1e-6)


def test_scales_of_the_rows():
    budget = shared.Budget(1.0, 0.1, 0.2, 0.01, 5)
    scales = [shared.noise_scale(row, budget, 3, 11) for row in shared.ROWS]
    assert scales == pytest.approx([60, 110, 600, 1100, 40, 20, 20, 10])
    assert [shared.is_gumbel(row) for row in shared.ROWS] == [True, False, True, False, True, False, True, False]


def test_best_first_is_a_sort():
    noisy = np.random.default_rng(23).normal(size=(50, 9))
    for places in (1, 3, 9):
        assert np.array_equal(shared.best_first(noisy, places), np.argsort(-noisy, axis=1)[:, :places])


def test_grids_line_up_without_rich(monkeypatch, capsys):
    grid = shared.entry_grid([shared.Budget(0.5, 0.1, 0.2, 0.01, 5), shared.Budget(10.0, 1.0, 2.0, 0.1, 15)], "Leaks")
    monkeypatch.setattr(shared.importlib.util, "find_spec", lambda name: None)
    shared.show(["words", grid])
    told = capsys.readouterr().out.splitlines()
    assert told[:3] == ["words", "", "Leaks"]
    assert told[3].split("  ")[0] == "epsilon"
    assert len({len(line) for line in told[3:7]}) == 1
    assert grid.markdown().splitlines()[4] == "| 0.5 | 5 | 0.10000 | 0.20000 | 0.01000 | 2.00 |"


def test_gumbel_noise_ranks_as_the_exponential_mechanism_peels():
    """Chi-square over all ordered pairs of four categories; false-alarm rate 1e-6; twice the scale is refused."""
    counts, scale, trials = np.array([5.0, 4.0, 2.0, 0.0]), 2.0, 40_000
    pairs = list(itertools.permutations(range(4), 2))
    weights = np.exp(counts / scale)
    chances = [weights[a] / weights.sum() * weights[b] / (weights.sum() - weights[a]) for a, b in pairs]
    expected = trials * np.array(chances)

    def statistic(noise_scale):
        noise = np.random.default_rng(24).gumbel(size=(trials, 4))
        found = shared.best_first(counts + noise_scale * noise, 2)
        seen = np.array([np.count_nonzero((found == pair).all(axis=1)) for pair in pairs])
        return ((seen - expected) ** 2 / expected).sum()

    assert statistic(scale) < chi2.isf(ALARM, len(pairs) - 1) < statistic(2 * scale)


def test_the_best_mechanism_hits_twice_as_often():
    """Hit Rate at epsilon .5 on eight fresh populations: best - 2 Ours-Exp is positive, by a t-test at level 1e-3.

    Populations are independent, so that their differences are; a mechanism with exactly twice the rate would pass by
    chance once in a thousand times.  The paper's own order holds as well.
    """
    found = []
    for seed in range(31, 39):
        rng = np.random.default_rng(seed)
        population = capture24_like(rng)
        allowed = shared.budgets(population, (0.5,))
        result = shared.experiment(population, allowed, 3, 150, rng)
        found.append([result.get(row, 0.5, "HR") for row in shared.ROWS])
    rates = dict(zip(shared.ROWS, np.transpose(found), strict=True))

    def larger(first, second, level=1e-3):
        gaps = first - second
        return gaps.mean() > t.isf(level, gaps.size - 1) * gaps.std(ddof=1) / np.sqrt(gaps.size)

    assert larger(rates["histogram + prop."], 2 * rates["Ours-Exp"])
    assert not larger(rates["Ours-Exp"], 2 * rates["MQM"])  # the test can fail
    for better, worse in itertools.pairwise(
        ("histogram + prop.", "histogram", "top-K", "Ours-Exp", "MQM", "Group-Exp")
    ):
        assert larger(rates[better], rates[worse])
    assert larger(rates["top-K + prop."], rates["top-K"])
