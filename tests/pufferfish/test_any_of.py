from __future__ import annotations

import attrs
import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.pufferfish.prior import Atoms, Prior, Translation
from quiltwork.pufferfish.priors.any_of import AnyOf
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.secrets import entry_values
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import per_entry_epsilon, translate


@attrs.frozen(eq=False)
class Toy(Prior):
    """A prior with made-up answers."""

    sizes: tuple[int, ...]
    cases: tuple[tuple[float, ...], ...]
    count: int | None = None
    status: str = "exact"
    theorems: tuple[Translation, ...] = ()
    direct: bool = False

    @property
    def entries(self) -> int | None:
        return self.count

    @property
    def words(self) -> str:
        return f"the toy of {len(self.cases)} cases holds"

    def tells_itself(self, secrets=None) -> bool:
        return self.direct

    def influence(self, max_size=None, secrets=None) -> InfluenceCurve:
        return InfluenceCurve(self.sizes, self.cases, self.status, method="a toy")

    def translations(self, secrets=None) -> tuple[Translation, ...]:
        return self.theorems

    def atoms(self, case: int, size: int, secrets=None) -> Atoms | None:
        return Atoms(np.array([1.0]), np.array([float(case)]))

    def query_laws(self, case: int, secrets=None):
        return np.array([float(case)]), np.array([float(len(self.cases))])


def linear(factor: float, **more) -> Translation:
    return Translation(f"times {factor}", f"factor {factor}", lambda e: np.array([factor * e]), **more)


def chain(p: float, q: float, length: int | None = None) -> MarkovChain:
    return MarkovChain([[p, 1 - p], [1 - q, q]], length=length)


def test_curves_are_step_functions_on_the_union_of_sizes():
    one = Toy((2, 4), ((3.0, 1.0),))
    two = Toy((1, 3), ((5.0, 4.0), (0.7, 0.6)), count=4)
    curve = AnyOf([one, two]).influence()
    assert curve.sizes.tolist() == [1, 2, 3, 4]
    assert curve.cases.tolist() == [
        [np.inf, 3.0, 3.0, 1.0],
        [5.0, 5.0, 4.0, 0.0],  # four entries are everything
        [0.7, 0.7, 0.6, 0.0],
    ]
    assert curve.values.tolist() == [np.inf, 5.0, 4.0, 1.0]


def test_status_is_the_weakest_and_a_carried_value_is_not_exact():
    full, sparse = Toy((1, 2), ((1.0, 0.5),)), Toy((1,), ((1.0,),))
    assert AnyOf([full, full]).influence().status == "exact"
    assert AnyOf([full, sparse]).influence().status == "certified"
    assert AnyOf([full, Toy((1,), ((1.0,),), count=2)]).influence().status == "exact"  # 0 at its length
    bad = Toy((1, 2), ((1.0, 0.5),), status="approximate")
    assert AnyOf([full, bad]).influence().status == "approximate"
    with pytest.raises(NotCertified):
        translate(AnyOf([full, bad]), 0.1)


def test_names_tell_the_member():
    either = AnyOf([chain(0.8, 0.8), chain(0.6, 0.9)])
    curve = either.influence(2)
    assert curve.name_of(0) == "prior 0: " + chain(0.8, 0.8).influence(2).name_of(0)
    assert curve.name_of(3) == "prior 1: " + chain(0.6, 0.9).influence(2).name_of(1)


def test_entries_are_the_largest_number_or_unknown():
    assert AnyOf([chain(0.8, 0.8, 5), chain(0.7, 0.7, 9)]).entries == 9
    assert AnyOf([chain(0.8, 0.8, 5), chain(0.7, 0.7)]).entries is None
    # group privacy must cover the longer member
    assert translate(AnyOf([chain(0.8, 0.8, 5), chain(0.7, 0.7, 9)]), 0.1, method="group").upper >= 0.9


def test_the_worst_member_decides():
    members = [chain(0.8, 0.8), chain(0.6, 0.95), chain(0.2, 0.3)]
    for e in (0.01, 0.3, 2.0):
        for method in ("best", "theorem 6"):
            each = [translate(member, e, method=method).upper for member in members]
            assert translate(AnyOf(members), e, method=method).upper == pytest.approx(max(each), rel=1e-12)
    inverse = min(per_entry_epsilon(member, 1.0) for member in members)
    assert per_entry_epsilon(AnyOf(members), 1.0) == pytest.approx(inverse, rel=1e-9)


def test_members_with_different_numbers_of_cases_and_entries():
    law = np.array([[0.4, 0.1], [0.1, 0.4]])
    members = [JointLaw(law), chain(0.7, 0.6, 4), MarkovChain(np.full((3, 3), 0.1) + 0.7 * np.eye(3))]
    either = AnyOf(members)
    for e in (0.1, 1.0):
        bracket = translate(either, e)
        each = [translate(member, e) for member in members]
        assert bracket.upper == pytest.approx(max(one.upper for one in each), rel=1e-9)
        assert bracket.lower <= bracket.upper
        assert bracket.lower == pytest.approx(max(one.lower for one in each), rel=1e-6)


def test_best_theorem_of_each_member_and_infinite_without_one():
    both = Toy((1,), ((1.0,), (2.0,)), theorems=(linear(3.0), linear(2.0)))
    none = Toy((1,), ((4.0,),))
    (theorem,) = AnyOf([both, none]).translations()
    assert theorem.epsilons(0.5).tolist() == [1.0, 1.0, np.inf]
    assert AnyOf([none, none]).translations() == ()


def test_exact_only_if_every_member_is_and_lower_ends_are_kept():
    exact, loose = linear(2.0, exact=True), linear(5.0)
    found = linear(3.0, lower=lambda e: 1.5 * e)
    toy = Toy((1,), ((9.0,),))
    of = lambda *theorems: AnyOf([attrs.evolve(toy, theorems=(one,)) for one in theorems]).translations()[0]  # noqa: E731
    assert of(exact, exact).exact
    assert not of(exact, loose).exact
    assert of(exact, loose).lower(1.0) == pytest.approx(2.0, rel=1e-6)
    assert of(exact, loose).lower(1.0) < 2.0
    assert of(found, loose).lower(1.0) == 1.5
    assert of(loose, loose).lower(1.0) == 0.0


def test_secrets_that_are_their_own_entry():
    toy = Toy((1,), ((1.0,),))
    assert not AnyOf([toy, toy]).tells_itself()
    assert AnyOf([toy, attrs.evolve(toy, direct=True)]).tells_itself()


def test_atoms_and_counts_are_those_of_the_member():
    either = AnyOf([Toy((1,), ((1.0,), (2.0,))), Toy((1,), ((1.0,), (2.0,), (3.0,)))])
    assert [float(either.atoms(case, 1).losses[0]) for case in range(5)] == [0, 1, 0, 1, 2]
    assert [float(either.query_laws(case)[0][0]) for case in range(5)] == [0, 1, 0, 1, 2]
    assert float(either.query_laws(4)[1][0]) == 3
    for wrong in (5, -1, True, 1.5):
        with pytest.raises(InvalidParameter, match="case"):
            either.atoms(wrong, 1)


def test_nesting_changes_nothing():
    a, b, c = chain(0.8, 0.8), chain(0.6, 0.9), chain(0.1, 0.2)
    flat, nested = AnyOf([a, b, c]), AnyOf([AnyOf([a, b]), c])
    assert flat.influence().cases.tolist() == nested.influence().cases.tolist()
    assert flat.translations()[0].epsilons(0.3).tolist() == nested.translations()[0].epsilons(0.3).tolist()
    assert flat.atoms(3, 2).losses.tolist() == nested.atoms(3, 2).losses.tolist()


def test_secrets_reach_every_member():
    either = AnyOf([chain(0.8, 0.8, 9), chain(0.7, 0.9, 9)])
    asked = entry_values([0])
    assert len(either.influence(None, asked).cases) == 4
    assert translate(either, 0.3, asked).upper < translate(either, 0.3).upper


def test_words():
    either = AnyOf([chain(0.8, 0.8), chain(0.7, 0.7)])
    assert either.words == f"{chain(0.8, 0.8).words}; or {chain(0.7, 0.7).words}"
    assert AnyOf([chain(0.8, 0.8)] * 5).words.endswith("or one of 2 more priors")
    assert repr(either) == "<AnyOf 2 priors>"


@pytest.mark.parametrize("wrong", [[], None, 3, "chain", [None], [0.8], chain(0.8, 0.8)])
def test_bad_members(wrong):
    with pytest.raises(InvalidParameter, match="priors"):
        AnyOf(wrong)
