"""dp_accounting's own abstract test of accountants, run on ours; and every event that it has, for all neighbours."""

import inspect

import pytest
from tests.needs import needs

pytestmark = needs("dp_accounting")
peer = pytest.importorskip("dp_accounting")
abstract = pytest.importorskip("dp_accounting.privacy_accountant_test")

from quiltwork.adapters.dp_accounting import Accountant  # noqa: E402
from quiltwork.adapters.events.leaves import LEAVES  # noqa: E402

RELATIONS = list(peer.NeighboringRelation)


class TestBehaviour(abstract.PrivacyAccountantTest):
    """For added or removed, exchanged and zeroed records."""

    def _make_test_accountants(self):
        return [Accountant(), *(Accountant(relation) for relation in RELATIONS)]


NOISE = peer.GaussianDpEvent(1.0)
EXAMPLES = {
    "NoOpDpEvent": (),
    "NonPrivateDpEvent": (),
    "GaussianDpEvent": (1.0,),
    "LaplaceDpEvent": (1.0,),
    "DiscreteLaplaceDpEvent": (1.0, 1),
    "DiscreteGaussianDpEvent": (10.0, 1.0, 1),
    "ZCDpEvent": (0.1,),
    "RandomizedResponseDpEvent": (0.5, 3),
    "SelfComposedDpEvent": (NOISE, 3),
    "ComposedDpEvent": ([NOISE, NOISE],),
    "PoissonSampledDpEvent": (0.1, NOISE),
    "SampledWithoutReplacementDpEvent": (100, 10, NOISE),
    "SampledWithReplacementDpEvent": (100, 10, NOISE),
    "SingleEpochTreeAggregationDpEvent": (1.0, 4),
    "RepeatAndSelectDpEvent": (NOISE, 5.0, 1.0),
    "MixtureOfGaussiansDpEvent": (1.0, [0.0, 1.0], [0.5, 0.5]),
    "TruncatedSubsampledGaussianDpEvent": (100, 0.1, 20, 1.0),
    "ExponentialMechanismDpEvent": (1.0,),
    "PermuteAndFlipDpEvent": (1.0,),
    "EpsilonDeltaDpEvent": (1.0, 1e-6),
}
NOT_MEANT = {"DpEvent", "UnsupportedDpEvent"}
PRICED_FOR = {  # all neighbours, unless said here
    "SampledWithReplacementDpEvent": (),
    "SampledWithoutReplacementDpEvent": ("REPLACE_ONE",),
    "SingleEpochTreeAggregationDpEvent": ("REPLACE_SPECIAL",),
    "MixtureOfGaussiansDpEvent": ("ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"),
    "RandomizedResponseDpEvent": ("REPLACE_ONE", "REPLACE_SPECIAL"),
}
EVENTS = [
    name for name, kind in vars(peer.dp_event).items() if inspect.isclass(kind) and issubclass(kind, peer.DpEvent)
]


def test_every_event_has_an_example():
    assert set(EVENTS) - NOT_MEANT <= set(EXAMPLES)
    assert set(LEAVES) <= set(EXAMPLES)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("name", EVENTS)
def test_every_event_is_priced_or_refused_by_name(name, relation):
    if name in NOT_MEANT:
        return
    event = getattr(peer.dp_event, name)(*EXAMPLES[name])
    accountant = Accountant(relation)
    priced = relation.name in PRICED_FOR.get(name, [one.name for one in RELATIONS])
    assert accountant.supports(event) == priced
    if priced:
        accountant.compose(event)
        assert 0 <= accountant.get_delta(1.0) <= 1
        return
    with pytest.raises(peer.UnsupportedEventError, match=name):
        accountant.compose(event)
    assert accountant.get_epsilon(1e-6) == 0
