from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish.random_mechanisms import leak, random_channel

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.priors.binary_chains import BinaryChains
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.secrets import entry_values, joint_values
from quiltwork.pufferfish.translation.translate import per_entry_epsilon, translate

inside = st.floats(0.02, 0.98)


def chain(p: float, q: float, length: int | None = None) -> MarkovChain:
    return MarkovChain([[p, 1 - p], [1 - q, q]], length=length)


def told(alpha: Fraction, beta: Fraction, distance: int) -> Fraction:
    """e^D01: the largest ratio of rows 0 and 1 of P^d, in fractions."""
    rows = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    for _ in range(distance):
        rows = [[r[0] * (1 - alpha) + r[1] * beta, r[0] * alpha + r[1] * (1 - beta)] for r in rows]
    return max(rows[0][y] / rows[1][y] for y in (0, 1))


def test_lemma_on_a_grid_in_fractions():
    """D01 falls in alpha and beta where lambda >= 0 and rises where lambda <= 0, at every distance."""
    grid = [Fraction(i, 12) for i in range(1, 12)]
    compared = 0
    for distance in range(1, 8):
        table = {(a, b): told(a, b, distance) for a in grid for b in grid}
        for a in grid:
            for b in grid:
                for more in ((a + Fraction(1, 12), b), (a, b + Fraction(1, 12))):
                    if more not in table:
                        continue
                    if sum(more) <= 1:
                        assert table[more] <= table[a, b]
                        compared += 1
                    if a + b >= 1:
                        assert table[more] >= table[a, b]
                        compared += 1
    assert compared > 1000


def test_golden_box():
    """theory/pufferfish.md 4.2: on [.55, .95]^2 the sup of a(b) is at (.95, .95) for b = 1, 3, 5, 9."""
    box = BinaryChains((0.55, 0.95), (0.55, 0.95)).influence(9)
    corner = chain(0.95, 0.95).influence(9)
    grid = np.linspace(0.55, 0.95, 9)
    naive = np.max([chain(p, q).influence(9).values for p in grid for q in grid], axis=0)
    assert box.status == "exact"
    for b in (1, 3, 5, 9):
        assert box(b) == corner(b)
        assert box(b) == pytest.approx(naive[b - 1], rel=1e-12)
    assert box(1) == pytest.approx(2 * math.log(19), rel=1e-12)


@settings(max_examples=examples(25), deadline=None)
@given(inside, inside, inside, inside, st.floats(0, 1), st.floats(0, 1), st.sampled_from([None, 1, 4, 7]))
def test_no_member_tells_more(p, p2, q, q2, at_p, at_q, length):
    box = BinaryChains(sorted((p, p2)), sorted((q, q2)), length)
    low, high = box.p
    left, right = box.q
    member = chain(min(low + at_p * (high - low), high), min(left + at_q * (right - left), right), length)
    size = 6 if length is None else length
    assert np.all(member.influence(size).values <= box.influence(size).values + 1e-11)
    for e in (0.05, 1.0):
        own, most = (prior.translations()[0].epsilons(e).max() for prior in (member, box))
        assert own <= most * (1 + 1e-9)


def test_both_corners_matter():
    """The box crosses lambda = 0: the stickiest chain is worst in one box, the one that changes most in the other."""
    sticky, restless = BinaryChains((0.3, 0.9), (0.3, 0.9)), BinaryChains((0.1, 0.7), (0.1, 0.7))
    assert sticky.influence(2)(1) == chain(0.9, 0.9).influence(2)(1)
    assert restless.influence(2)(1) == chain(0.1, 0.1).influence(2)(1)
    assert translate(sticky, 0.5).upper == translate(chain(0.9, 0.9), 0.5).upper
    assert translate(restless, 0.5).upper == translate(chain(0.1, 0.1), 0.5).upper
    assert chain(0.7, 0.7).influence(2)(1) < restless.influence(2)(1)
    mixed = BinaryChains((0.1, 0.9), (0.3, 0.6))
    both = np.maximum(chain(0.9, 0.6).influence(9).values, chain(0.1, 0.3).influence(9).values)
    assert mixed.influence(9).values.tolist() == both.tolist()


def test_random_mechanisms_on_random_members():
    rng = np.random.default_rng(5)
    for _ in range(60):
        p, q = np.sort(rng.uniform(0.05, 0.95, 2)), np.sort(rng.uniform(0.05, 0.95, 2))
        length, e = int(rng.integers(1, 6)), float(rng.choice([0.1, 0.5, 2.0]))
        upper = BinaryChains(tuple(p), tuple(q), length).translations()[0].epsilons(e).max()
        law = chain(rng.uniform(*p), rng.uniform(*q), length).joint().law
        channel = random_channel(rng, (2,) * length, e)
        for entry in range(length):
            ours = np.moveaxis(np.zeros_like(law), entry, 0)
            ours[0] = 1.0
            mask = np.moveaxis(ours, 0, entry)
            for first, second in ((law * mask, law * (1 - mask)), (law * (1 - mask), law * mask)):
                assert leak(channel, first, second) <= upper + 1e-9


def test_translation_is_attained_and_goes_back():
    box = BinaryChains((0.3, 0.8), (0.4, 0.8))
    bracket = translate(box, 0.1)
    assert bracket.upper == pytest.approx(0.397544, abs=1e-6)  # p = q = .8, as for the single chain
    assert bracket.upper - bracket.lower <= 1e-8
    assert per_entry_epsilon(box, 1.0) == pytest.approx(per_entry_epsilon(chain(0.8, 0.8), 1.0), rel=1e-9)


def test_one_chain_is_a_box():
    point, single = BinaryChains((0.8, 0.8), (0.7, 0.7)), chain(0.8, 0.7)
    assert point.influence(5).cases.tolist() == single.influence(5).cases.tolist()
    assert point.atoms(0, 3).weights.tolist() == single.atoms(0, 3).weights.tolist()


def test_atoms_of_a_corner_dominate_those_of_members():
    """Blackwell order: every hockey stick of what the nearest entries tell is at least that of any member."""
    rng = np.random.default_rng(2)

    def stick(atoms, epsilon: float) -> float:
        return float(np.sum(atoms.weights * -np.expm1(np.minimum(epsilon - atoms.losses, 0.0))))

    for box in (BinaryChains((0.5, 0.9), (0.6, 0.95)), BinaryChains((0.05, 0.3), (0.1, 0.5))):
        for size in (1, 3, 4):
            ends = [box.atoms(case, size) for case in range(4)]
            for _ in range(10):
                member = chain(rng.uniform(*box.p), rng.uniform(*box.q))
                for case in (0, 1):
                    own = member.atoms(case, size)
                    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
                        assert (
                            stick(own, epsilon)
                            <= max(stick(ends[case], epsilon), stick(ends[case + 2], epsilon)) + 1e-12
                        )


def test_words_length_and_names():
    box = BinaryChains((0.5, 0.9), (0.6, 0.95), length=12, states=("home", "out"))
    assert box.entries == 12
    assert "12 entries" in box.words
    assert "0.5 to 0.9" in box.words
    assert repr(box) == "<BinaryChains p in [0.5, 0.9], q in [0.6, 0.95], length 12>"
    assert "'home'" in box.influence().name_of(0)
    assert box.influence().values[-1] == 0.0
    assert len(box.influence(None, entry_values([3], [("home", "out")])).cases) == 4
    assert BinaryChains((0.5, 0.9), (0.6, 0.95)).entries is None
    assert box.query_laws(0) is not None


def test_secrets_about_several_entries_are_refused():
    for ask in ("influence", "translations"):
        with pytest.raises(Unsupported, match="several entries"):
            getattr(BinaryChains((0.5, 0.9), (0.6, 0.95), 3), ask)(secrets=joint_values([0, 1]))
    with pytest.raises(Unsupported, match="several entries"):
        BinaryChains((0.5, 0.9), (0.6, 0.95), 3).atoms(0, 1, joint_values([0, 1]))


@pytest.mark.parametrize(
    "wrong",
    [(0.9, 0.5), (0.0, 0.5), (0.5, 1.0), (math.nan, 0.5), (0.5,), 0.5, None, (True, 0.5), ("a", "b"), (0.1, 0.2, 0.3)],
)
def test_bad_intervals(wrong):
    with pytest.raises(InvalidParameter, match="p must"):
        BinaryChains(wrong, (0.5, 0.6))
    with pytest.raises(InvalidParameter, match="q must"):
        BinaryChains((0.5, 0.6), wrong)


@pytest.mark.parametrize(
    ("name", "wrong"), [("length", 0), ("length", 2.5), ("states", ("a",)), ("states", ("a", "a"))]
)
def test_bad_length_and_states(name, wrong):
    with pytest.raises(InvalidParameter, match=name):
        BinaryChains((0.5, 0.6), (0.5, 0.6), **{name: wrong})
