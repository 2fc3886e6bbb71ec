"""An accountant with Opacus' manners: alone, and registered with a package that has the peer's names."""

import math
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.needs import Later

import quiltwork as qw
from quiltwork.adapters.opacus import from_opacus
from quiltwork.errors import InvalidParameter, Unsupported

opacus = Later("quiltwork.adapters.opacus")  # its accountant loads torch, where Opacus is installed


def trained(*entries):
    found = opacus.Accountant()
    for noise, rate, steps in entries:
        for _ in range(steps):
            found.step(noise_multiplier=noise, sample_rate=rate)
    return found


def test_steps_of_the_same_kind_are_one_entry():
    found = trained((1.1, 0.01, 3), (1.0, 0.01, 2), (1.1, 0.01, 1))
    assert found.history == [(1.1, 0.01, 3), (1.0, 0.01, 2), (1.1, 0.01, 1)]
    assert len(found) == 6
    expected = 4 * qw.poisson(qw.gaussian(1.1), 0.01) + 2 * qw.poisson(qw.gaussian(1.0), 0.01)
    assert found.loss == from_opacus(found) == from_opacus(found.state_dict()) == expected
    assert opacus.Accountant().get_epsilon(1e-5) == 0 == len(opacus.Accountant())


def test_epsilon_is_the_upper_end():
    """Opacus 1.6.0 says 1.7118 (rdp) and 1.5255 (prv) for this history."""
    found = opacus.Accountant()
    found.history = [(1.1, 0.01, 1000)]  # as `get_noise_multiplier` assigns it
    epsilon = found.get_epsilon(1e-5, eps_error=0.01, delta_error=1e-9, alphas=[2])
    bracket = found.loss.epsilon(1e-5)
    assert bracket.lower <= epsilon < 1.525472649316146
    assert epsilon == pytest.approx(1.51536, abs=1e-4)
    assert found.get_epsilon(delta=1e-5, poisson=True) == epsilon


def test_a_search_for_noise_as_opacus_does_it():
    found, low, high = opacus.Accountant(), 0.0, 20.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        found.history = [(middle, 0.01, 1000)]
        low, high = (low, middle) if found.get_epsilon(delta=1e-5) < 2.0 else (middle, high)
        if middle < 0.3:
            break
    assert high == pytest.approx(0.95910, abs=2e-4)


def test_rates_beyond_one_are_full_batches():
    hook = (found := opacus.Accountant()).get_optimizer_hook_fn(sample_rate=0.4)
    for batches in (1, 2, 3):
        hook(SimpleNamespace(noise_multiplier=2.0, accumulated_iterations=batches))
    assert found.history == [(2.0, 0.4, 1), (2.0, 0.8, 1), (2.0, 1.0, 1)]
    assigned = opacus.Accountant()
    assigned.history = [(2.0, 1.5, 3)]
    assert assigned.loss == 3 * qw.gaussian(2.0)


def test_steps_without_noise():
    found = trained((1.0, 0.1, 2), (0.0, 0.1, 1))
    assert found.get_epsilon(1e-5) == math.inf
    with pytest.raises(Unsupported, match="without noise"):
        _ = found.loss
    with pytest.raises(InvalidParameter):
        found.get_epsilon(2.0)
    found.history[-1] = (0.0, 0.1, 0)
    assert found.loss == 2 * qw.poisson(qw.gaussian(1.0), 0.1)


def test_checkpoints():
    found, again = trained((1.1, 0.01, 5)), opacus.Accountant()
    state = found.state_dict()
    again.load_state_dict(state)
    found.step(noise_multiplier=1.1, sample_rate=0.01)
    assert (len(found), len(again), again.history) == (6, 5, [(1.1, 0.01, 5)])
    kept = found.state_dict({"epoch": 3})
    assert kept == {"epoch": 3, "history": [(1.1, 0.01, 6)], "mechanism": "quiltwork"}
    assert opacus.Accountant.mechanism() == "quiltwork"


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"history": []},
        {"mechanism": "quiltwork"},
        {"history": [], "mechanism": "rdp"},
        {"history": [], "mechanism": None},
        {"history": [(1.0, 0.1)], "mechanism": "quiltwork"},
        {"history": [(1.0, -0.1, 1)], "mechanism": "quiltwork"},
    ],
)
def test_other_states_are_refused_and_change_nothing(state):
    found = trained((1.1, 0.01, 5))
    with pytest.raises(ValueError, match=r"state|history"):
        found.load_state_dict(state)
    assert found.history == [(1.1, 0.01, 5)]


@pytest.mark.parametrize("noise", [-1.0, math.nan, math.inf, True, "1", None])
def test_bad_noise(noise):
    with pytest.raises(InvalidParameter, match="noise"):
        opacus.Accountant().step(noise_multiplier=noise, sample_rate=0.1)


@pytest.mark.parametrize("rate", [0.0, -0.1, math.nan, True, "1", None])
def test_bad_rates(rate):
    found = opacus.Accountant()
    with pytest.raises(InvalidParameter, match="sample_rate"):
        found.step(noise_multiplier=1.0, sample_rate=rate)
    assert found.history == []
    found.history = [(1.0, rate, 1)]
    with pytest.raises(InvalidParameter, match="sample rate"):
        found.get_epsilon(1e-5)


def test_bad_histories():
    found = opacus.Accountant()
    for history in (None, "abc", [3], [(1.0, 0.1)], [(1.0, 0.1, -1)], [(1.0, 0.1, 1.5)]):
        found.history = history
        with pytest.raises(InvalidParameter):
            found.get_epsilon(1e-5)


@pytest.mark.parametrize(
    "order", ["import opacus, quiltwork.adapters.opacus as q", "import quiltwork.adapters.opacus as q"]
)
def test_opacus_knows_it_by_name(order, tmp_path):
    """A package with the names of Opacus 1.6: the registry, and the interface as an abstract class."""
    package = tmp_path / "opacus" / "accountants"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "accountant.py").write_text("import abc\nclass IAccountant(abc.ABC):\n    pass\n")
    (package / "registry.py").write_text("KNOWN = {}\ndef register_accountant(name, kind):\n    KNOWN[name] = kind\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {order};"
        "first = 'opacus.accountants.registry' in sys.modules;"
        f"assert first == {order.startswith('import opacus')};"
        "A = q.Accountant;"
        "from opacus.accountants.registry import KNOWN; from opacus.accountants.accountant import IAccountant;"
        "assert KNOWN == {'quiltwork': A}; assert isinstance(KNOWN['quiltwork'](), IAccountant)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
