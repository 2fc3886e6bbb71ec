"""Every number that a test suite of another library pins, and quiltwork can express, agrees, or the peer errs."""

from collections import Counter

import pytest
from tests.adapters.peer_pins import PINS, agrees
from tests.needs import Later, needs

import quiltwork as qw

peer = Later("dp_accounting")


def name(pin):
    asked = next(f"{key}={pin[key]:g}" for key in ("order", "at", "delta") if key in pin)
    return f"{pin['peer'].split('/')[1]}-{pin['value']:.6g}-{asked}-{pin['reads'].replace(' ', '_')}"


@pytest.mark.parametrize("pin", PINS, ids=[f"{place}-{name(pin)}" for place, pin in enumerate(PINS)])
def test_pinned(pin):
    assert agrees(pin)


def test_who_is_in_the_table():
    """So many of each library; those that err are named in docs/peers_pins.md."""
    found = Counter(pin["peer"] for pin in PINS)
    assert len(PINS) >= 150
    assert set(found) == {
        "pytorch/opacus",
        "tensorflow/privacy",
        "google/differential-privacy",
        "google-deepmind/jax_privacy",
        "microsoft/prv_accountant",
        "yuxiangw/autodp",
    }
    assert min(found.values()) >= 4
    assert Counter(pin["because"] for pin in PINS if pin["reads"] == "too small") == {"gdp": 2, "repeated responses": 1}


@pytest.mark.parametrize("place", [place for place, pin in enumerate(PINS) if pin["reads"] == "equal"][::7])
def test_the_table_can_fail(place):
    """A value that is off by more than twice its tolerance is noticed."""
    pin = PINS[place]
    for sign in (-1, 1):
        assert not agrees({**pin, "value": pin["value"] + sign * (2.5 * pin["tolerance"] + 1e-3 * pin["value"])})


@needs("dp_accounting")
def test_batches_of_fixed_size_are_not_exchanged_by_the_peer():
    """dp_accounting 0.6: its Renyi bound for REPLACE_ONE moves a sum by one norm, and an exchange moves it by two."""
    batch = peer.SampledWithoutReplacementDpEvent(1000, 16, peer.GaussianDpEvent(2.0))
    relation = peer.NeighboringRelation.REPLACE_ONE
    theirs = peer.rdp.RdpAccountant(neighboring_relation=relation).compose(batch, 128).get_epsilon(1e-6)
    ours = (128 * qw.fixed_size(qw.gaussian(2.0, 2.0), 16, 1000)).epsilon(1e-6)
    assert theirs == pytest.approx(0.93486, abs=1e-4)
    assert ours.lower > 1.5
