"""Exact shortcuts: one Gaussian, one release of anything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.losses.laws import Gaussian, mp
from tests.losses.test_pair import CASES

from quiltwork.compose.engines.closed import GaussianEngine, SingleEngine


@settings(max_examples=examples(120))
@given(scale=st.floats(-3, 1.6), deviations=st.floats(-30, 30), complement=st.booleans())
def test_gaussian_views_enclose_the_closed_form(scale, deviations, complement):
    mu = 10**scale
    law, view = Gaussian(mu), GaussianEngine(mu).everywhere(complement)
    epsilon = mu * deviations
    true = law.complement(epsilon) if complement else law.stick(epsilon)
    logs = view.logs(np.array([epsilon]))
    with mp.workdps(60):
        assert logs.low[0] <= mp.log(true) <= logs.high[0]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("complement", [False, True])
def test_single_views_enclose_every_pair(name, complement):
    pair, law, centre, scale = CASES[name]
    view = SingleEngine(pair).everywhere(complement)
    atoms = [float(at) for at, p, _ in law.atoms() if p > 1e-200]
    rng = np.random.default_rng([ord(letter) for letter in name])
    spots = np.array([*(centre + scale * rng.uniform(-6, 6, 15)), *atoms[:6], centre - 25 * scale, centre + 25 * scale])
    logs = view.logs(spots)
    for i, epsilon in enumerate(spots.tolist()):
        true = law.complement(epsilon) if complement else law.stick(epsilon)
        # the naive law itself carries 50 digits, no more
        if true > mp.mpf("1e-40"):
            assert logs.low[i] <= mp.log(true) <= logs.high[i]
        else:
            assert logs.low[i] <= -92.0


def test_moments_of_a_gaussian():
    log_mgf, mean, variance = GaussianEngine(2.0).moments(np.array([0.0, -1.0, 3.0]))
    assert log_mgf == pytest.approx([0.0, 0.0, 24.0])
    assert mean == pytest.approx([2.0, -2.0, 14.0])
    assert variance == pytest.approx([4.0, 4.0, 4.0])
