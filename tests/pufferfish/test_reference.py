"""Reference values of the audit of seed 003: closed forms and recursions to 1e-10, bounds on the safe side.

Source: reference/pufferfish.json (copied beside this file), section "_accuracy" for the digits of each entry.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.numbers.matrices import stationary
from quiltwork.pufferfish import MarkovChain, guarantee, per_entry_epsilon, translate
from quiltwork.pufferfish.papers.simple_rules import totals

REFERENCE: dict[str, Any] = json.loads((Path(__file__).parent / "reference_pufferfish.json").read_text())
BINARY = REFERENCE["binary_chain_curves_b1_20"]
STATES = {name: entry for name, entry in REFERENCE["multi_state"].items() if isinstance(entry, dict)}
STICKY = MarkovChain([[0.8, 0.2], [0.2, 0.8]])
DELTA = 1e-6  # of every Gaussian entry of kfold_noise_std_target
RELATIVE = 5e-12  # of values written with 12 or 13 digits


def binary(name: str) -> MarkovChain:
    p, q = (float(part[1:]) for part in name.split("_"))
    return MarkovChain([[p, 1 - p], [1 - q, q]])


def close_and_safe(ours: Any, reference: Any) -> None:
    """Equal to 1e-10, and not below by more than the reference's own last digit."""
    found, known = np.asarray(ours, dtype=float), np.asarray(reference, dtype=float)
    assert np.all(np.abs(found - known) <= 1e-10 * np.maximum(1.0, known))
    assert np.all(found >= known - 1e-12 - RELATIVE * known)


@pytest.mark.parametrize("name", BINARY)
def test_binary_curves(name: str) -> None:
    close_and_safe(binary(name).influence(20).values, BINARY[name]["a_exact"])


@pytest.mark.parametrize("name", BINARY)
def test_the_printed_theorem_8_fails(name: str) -> None:
    """Without absolute values it is below the truth for negative correlation; with them a bound, not always tight."""
    truth = binary(name).influence(20).values
    p, q = (float(part[1:]) for part in name.split("_"))
    assert np.all(np.array(BINARY[name]["thm8_appendix_abs"]) >= truth - 1e-9)
    if p + q < 1.0 - 1e-9:
        assert np.any(np.array(BINARY[name]["thm8_main_text_noabs"]) < truth - 0.1)


@pytest.mark.parametrize("name", STATES)
def test_several_states(name: str) -> None:
    entry = STATES[name]
    chain = MarkovChain(entry["P"])
    assert np.allclose(stationary(chain.transition), entry["pi"], rtol=1e-11, atol=0)
    close_and_safe(chain.influence(30).values, entry["a_b1_30"])
    for target, known in entry["thm6_eps_dp"].items():
        ours = per_entry_epsilon(chain, float(target), method="theorem 6")
        # more sizes than the 30 of the reference may only help; what is promised stays below the target
        assert ours >= known * (1 - 1e-10)
        assert translate(chain, ours, method="theorem 6").upper <= float(target) * (1 + 1e-15)
    for epsilon, known in entry["propagation_eps_puffer"].items():
        # the reference uses one slope for all pairs; ours may be smaller, never larger
        assert translate(chain, float(epsilon)).upper <= known * (1 + 1e-9)


@pytest.mark.parametrize("name", REFERENCE["binary_exact_translation_infinite_chain"])
def test_two_states_are_exact(name: str) -> None:
    chain = binary(name)
    for epsilon, known in REFERENCE["binary_exact_translation_infinite_chain"][name].items():
        found = translate(chain, float(epsilon))
        close_and_safe(found.upper, known)
        assert found.lower <= known * (1 + 1e-9)


@pytest.mark.parametrize("target", REFERENCE["binary_eps_dp_for_target_p0.8"])
def test_per_entry_epsilons(target: str) -> None:
    known = REFERENCE["binary_eps_dp_for_target_p0.8"][target]
    for method, value in (("theorem 6", known["thm6"]), ("best", known["exact"])):
        ours = per_entry_epsilon(STICKY, float(target), method=method)  # type: ignore[arg-type]
        assert ours == pytest.approx(value, rel=1e-10)
        assert ours <= value * (1 + RELATIVE)


def test_composition() -> None:
    for row in REFERENCE["composition"]["p_q_0_8_same_mechanism"]:
        found = totals(STICKY, [row["eps_dp"]] * row["k"])
        close_and_safe([found.naive, found.theorem_7, found.one_size], [row["naive"], row["thm7"], row["improved"]])
        assert STICKY.influence().size(row["k"] * row["eps_dp"]) == row["improved_b"]
        assert found.best <= found.one_size
    for row in REFERENCE["composition"]["heterogeneous"]:
        found = totals(STICKY, [row["e1"], row["e2"]])
        close_and_safe([found.naive, found.theorem_7, found.one_size], [row["naive"], row["thm7"], row["improved"]])
        curve = STICKY.influence()
        assert [curve.size(row["e1"]), curve.size(row["e2"])] == row["b"]


@pytest.mark.parametrize("row", REFERENCE["kfold_noise_std_target"], ids=lambda row: f"{row['target']:g}-{row['k']}")
def test_noise_for_many_queries(row: dict[str, float]) -> None:
    count, target = int(row["k"]), row["target"]
    laplace = math.sqrt(2.0) * count / per_entry_epsilon(STICKY, target)
    assert laplace == pytest.approx(row["std_lap_exact"], rel=1e-8)
    assert laplace >= row["std_lap_exact"] * (1 - 1e-10)
    sixth = math.sqrt(2.0) * count / per_entry_epsilon(STICKY, target, method="theorem 6")
    assert sixth == pytest.approx(row["std_lap_thm7"], rel=1e-8)
    # the noise of the reference (prior and mechanism composed) is enough for us as well, and less would be refused
    promise = guarantee(count * qw.gaussian(row["std_gauss_priorPLD"]), STICKY)
    assert promise.epsilon(DELTA, rtol=1e-6).upper <= target * (1 + 1e-5)
    weak = guarantee(count * qw.gaussian(row["std_gauss_priorPLD"] / 20.0), STICKY)
    assert weak.epsilon(DELTA).upper > target


@pytest.mark.parametrize("name", STATES)
def test_propagation_with_one_slope_for_all_pairs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recursion of the reference itself; sharper slopes are switched off."""
    monkeypatch.setattr("quiltwork.pufferfish.translation.propagation.SLOPE_PASSES", 0)
    for epsilon, known in STATES[name]["propagation_eps_puffer"].items():
        close_and_safe(translate(MarkovChain(STATES[name]["P"]), float(epsilon)).upper, known)


ELSEWHERE = {
    "nfc": "pufferfish/test_composable.py",
    "collapse": "pufferfish/test_collapse.py",
    "gaussian_formula_n11_center_gamma5_delta0.1": "pufferfish/test_gaussian_box.py",
    "mgf_exact": "pufferfish/test_ising.py",
    "small_graph_curves": "pufferfish/test_ising.py",
    "household_beta_binomial": "pufferfish/test_blocks.py",
    "topk_peel_swap_loss": "mechanisms/test_selection.py",
}


def test_every_entry_of_the_reference_is_tested_here_or_in_a_file_that_exists() -> None:
    here = Path(__file__).read_text()
    tests = Path(__file__).parents[1]
    keys = {key for key in REFERENCE if not key.startswith("_") and key != "generated_by"}
    assert set(ELSEWHERE) <= keys
    for key in keys:
        assert (tests / ELSEWHERE[key]).exists() if key in ELSEWHERE else f'REFERENCE["{key}"]' in here, key
