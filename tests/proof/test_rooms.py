"""Worlds of tables, designs and secrets of chains: claims are proved, moved ones are not, broken provers are caught."""

import json
import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from typer.testing import CliRunner

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.cli.commands.verify import verify
from quiltwork.confounding import World
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.proof import Claim
from quiltwork.proof.balls import ball, precision
from quiltwork.proof.prove import prove_claim
from quiltwork.proof.rooms import chains, sides, worlds
from quiltwork.pufferfish import MarkovChain, entry_values, guarantee

WORLD = World(secret=["1/2", "1/2"], data=[["3/4", "1/4"], ["1/4", "3/4"]])
CHANNELS = [["9/10", "1/10"], ["1/10", "9/10"]], [[0.8, 0.1, 0.1], [0.3, 0.3, 0.4]]
RELEASE = WORLD.release(*CHANNELS)


def moved(bracket, **asked):
    """The claims past the upper end and short of the lower one, by a millionth."""
    step = 1e-6 * bracket.upper
    claim = bracket.claim()
    for ends in ((bracket.upper + step, bracket.upper + 2 * step), (bracket.lower - 2 * step, bracket.lower - step)):
        yield prove_claim(Claim.from_json({**claim.to_json(), claim.quantity: [repr(float(end)) for end in ends]}))


# ---- worlds


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.1])
def test_own_answers_about_a_world_are_proved_and_moved_ones_refuted(delta):
    bracket = RELEASE.guarantee().epsilon(delta)
    assert bracket.prove().verdict == "proved"
    assert [proof.verdict for proof in moved(bracket)] == ["refuted", "refuted"]
    assert RELEASE.delta(0.3).prove().verdict == "proved"


def described(laws, channels, pairs):
    return {"schema": worlds.SCHEMA, "laws": laws, "channels": channels, "pairs": pairs}


def by_hand(world, pair, odds):
    """D at e^epsilon = odds, with every use of a channel listed by itself."""
    tables = [([[Fraction(x) for x in row] for row in one["table"]], one["reads"]) for one in world["channels"]
              for _ in range(one.get("times", 1))]  # fmt: skip
    told = []
    for row in pair:
        law = {}
        for x, mass in enumerate(world["laws"][row]):
            for chosen in product(*(range(len(table[0])) for table, _ in tables)):
                chance, place = Fraction(mass), 0
                for z, (table, reads) in zip(chosen, tables, strict=True):
                    here = {"data": x, "secret": row, "data and output": x * place_count(tables) + place}[reads]
                    chance *= table[here][z]
                    place = place * len(table[0]) + z
                law[chosen] = law.get(chosen, 0) + chance
        told.append(law)
    return sum(max(told[0][y] - odds * told[1][y], 0) for y in told[0])


def place_count(tables):
    return math.prod(len(table[0]) for table, reads in tables if reads != "data and output")


K = [["0.5", "0.3", "0.2"], ["0.1", "0.6", "0.3"]]
CASES = [
    [{"table": K, "times": 3, "reads": "data"}],
    [{"table": K, "times": 2, "reads": "data"}, {"table": [["1/3", "2/3"], ["3/4", "1/4"]], "reads": "secret"}],
    [
        {"table": [["0.9", "0.1"], ["0.2", "0.8"]], "reads": "data"},
        {"table": [["0.5", "0.5"], ["0.1", "0.9"], ["0.7", "0.3"], ["1", "0"]], "reads": "data and output"},
    ],
]


@pytest.mark.parametrize("channels", CASES)
def test_joint_laws_are_those_of_all_uses_listed(channels):
    world = described([["0.7", "0.3"], ["0.2", "0.8"]], channels, [[0, 1], [1, 0]])
    with precision(200):
        for one, pair in zip(worlds.compositions(world), world["pairs"], strict=True):
            p, q = (one.releases[0].node[name] for name in "pq")
            for odds in (Fraction(1), Fraction(3, 2), Fraction(1, 3)):
                found = sum(max(a - odds * b, 0) for a, b in zip(p, q, strict=True))
                assert found == by_hand(world, pair, odds)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("laws", [["0.7", "0.2"], ["0.2", "0.8"]]),
        ("laws", [["0.7", "0.3"], ["1"]]),
        ("laws", [["1.2", "-0.2"], ["0.2", "0.8"]]),
        ("channels", [{"table": K, "times": 0}]),
        ("channels", [{"table": K, "uses": 2}]),
        ("channels", [{"table": [["1/0", "1"]]}]),
        ("channels", [{"table": [["1"]]}]),
        ("laws", [["0.7", "0.3"], ["0.2", "0.8"], ["0.5", "0.5"]]),
        ("pairs", [[0, 0]]),
        ("pairs", [[0, 2]]),
        ("pairs", [0]),
        ("more", 1),
    ],
)
def test_a_world_that_is_none_is_refused(name, value):
    world = described([["0.7", "0.3"], ["0.2", "0.8"]], CASES[1], [[0, 1]])
    with pytest.raises(InvalidParameter):
        qw.prove({**world, name: value}, epsilon=1.0, delta=0.1)


def test_releases_of_one_joint_table_are_not_taken_as_independent():
    """Two outputs that agree always: their margins alone would say twice as much."""
    joint = WORLD.release(joint=[["0.6", "0", "0", "0.4"], ["0.4", "0", "0", "0.6"]], outputs=[2, 2])
    assert joint.epsilon(0.0).prove().verdict == "proved"
    assert len(joint.to_prove()["channels"]) == 1


def test_outputs_that_are_thrown_together_and_a_channel_that_is_left_out_are_caught(monkeypatch):
    bracket = RELEASE.delta(0.3)
    right = worlds._outputs

    monkeypatch.setattr(worlds, "_outputs", lambda law, row, channels: [sum(right(law, row, channels))])
    assert bracket.prove().verdict == "refuted"
    monkeypatch.setattr(worlds, "_outputs", lambda law, row, channels: right(law, row, channels[1:]))
    assert bracket.prove().verdict == "refuted"


# ---- designs


@pytest.mark.parametrize("reads", ["data", "secret", "data and output"])
def test_a_design_claims_its_target_and_is_proved(reads):
    made = WORLD.design(WORLD.release(CHANNELS[0]), epsilon=2.5, delta=1e-3, reads=reads)
    assert made.guarantee().prove(1e-3).verdict == "proved"
    [claim] = made.task.claims(made.table)
    assert prove_claim(Claim.from_json(claim)).verdict == "proved"
    assert prove_claim(Claim.from_json({**claim, "epsilon": ["0", "0.5"]})).verdict == "refuted"


def verified(file):
    result = CliRunner().invoke(verify, [str(file), "--json"])
    return result.exit_code, [one["verdict"] for one in json.loads(result.stdout)] if result.exit_code < 2 else []


def test_files_of_designs_and_reports_about_worlds(tmp_path, capsys):
    made = WORLD.design(WORLD.release(CHANNELS[0]), odds=Fraction(12), delta="1/1000")
    for name in ("design.yaml", "design.json"):
        qw.save(made, tmp_path / name)
        assert verified(tmp_path / name) == (0, ["proved"])
    world = tmp_path / "world.yaml"
    world.write_text(
        "quiltwork: 1\nsecrets: {names: [a, b]}\ndata: {values: [0, 1], given_secret: [[0.95, 0.05], [0.05, 0.95]]}\n"
        "existing: [{name: first, table: [[0.6, 0.4], [0.4, 0.6]], times: 2}]\ntarget: {odds: 4, delta: 0.001}\n"
    )
    assert main(["design", str(world), "--json", "--no-compare"]) == 0
    told = json.loads(capsys.readouterr().out)
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(told))
    assert verified(file) == (0, ["proved", "proved"])
    told["design"]["counts"] = [[1 << told["design"]["bits"], 0], [0, 1 << told["design"]["bits"]]]
    file.write_text(json.dumps(told))
    assert verified(file) == (1, ["proved", "refuted"]), "a table that tells everything"
    file.write_text(json.dumps({**told, "existing": None}))
    assert verified(file)[0] == 2


# ---- secrets of chains

STICKY = [[0.8, 0.2], [0.2, 0.8]]
THREE = [[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.25, 0.25, 0.5]]
PRIORS = {
    "endless": MarkovChain(STICKY),
    "short": MarkovChain([[0.1, 0.9], [0.7, 0.3]], length=6),
    "given": MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[1.0, 0.0], length=9),
    "three": MarkovChain(THREE, length=5),
}


@pytest.mark.parametrize("name", PRIORS)
def test_pure_releases_about_a_chain(name):
    bracket = guarantee(3 * qw.pure(0.2), PRIORS[name]).epsilon(0.0)
    proof = bracket.prove(digits=4)
    assert proof.verdict == "proved", proof
    claim = bracket.claim()
    past, short = moved(bracket)
    assert past.verdict in ("refuted", "undecided")
    assert short.verdict in ("refuted", "undecided")
    if name in ("endless", "short"):  # two states, where the bound is attained
        assert bracket.prove().verdict == "proved"
        assert (past.verdict, short.verdict) == ("refuted", "refuted")
    assert Claim.from_json(json.loads(json.dumps(claim.to_json()))) == claim


def test_noise_about_a_chain_is_proved_at_a_delta():
    for loss in (qw.gaussian(5.0), 3 * qw.laplace(10.0)):
        bracket = guarantee(loss, PRIORS["short"]).epsilon(1e-6)
        assert bracket.prove(digits=4).verdict == "proved"
        assert next(moved(bracket)).verdict != "proved"
        below = {**bracket.claim().to_json(), "epsilon": ["0", repr(bracket.upper * 0.9)]}
        assert prove_claim(Claim.from_json(below)).verdict != "proved"


def described_chain(loss, transition, length, initial="stationary"):
    return {
        "schema": chains.SCHEMA, "loss": loss.to_json(), "transition": [[str(x) for x in row] for row in transition],
        "initial": initial, "length": length, "entries": None, "pairs": None,
    }  # fmt: skip


def largest_leak(transition, start, length, epsilon):
    """Over all likelihoods that are powers of e^epsilon at each of the data: two states, every Lipschitz function of
    the data with values in steps of epsilon.
    """
    data = list(product(range(2), repeat=length))
    law = {x: start[x[0]] * math.prod(transition[a][b] for a, b in pairwise(x)) for x in data}
    best = 0.0
    for steps in product(range(length + 1), repeat=len(data)):
        level = dict(zip(data, steps, strict=True))
        if any(
            abs(level[x] - level[y]) > 1
            for x in data
            for y in data
            if sum(a != b for a, b in zip(x, y, strict=True)) == 1
        ):
            continue
        for i in range(length):
            mean = [
                sum(law[x] * math.exp(epsilon * level[x]) for x in data if x[i] == u)
                / sum(law[x] for x in data if x[i] == u)
                for u in (0, 1)
            ]
            best = max(best, abs(math.log(mean[0] / mean[1])))
    return best


@pytest.mark.parametrize("transition", [[[0.8, 0.2], [0.3, 0.7]], [[0.2, 0.8], [0.9, 0.1]]])
def test_two_entries_by_all_likelihoods(transition):
    start = [transition[1][0], transition[0][1]]
    start = [x / sum(start) for x in start]
    with precision(300):
        found = chains.Chain.read(described_chain(qw.pure(0.5), transition, 2)).leak()
    truth = largest_leak(transition, start, 2, 0.5)
    assert float(found.low.mid()) == pytest.approx(truth, rel=1e-12)
    assert float(found.high.mid()) == pytest.approx(truth, rel=1e-12)


def holds(bracket, digits=None):
    return bracket.prove(digits=digits).verdict


def test_a_side_that_is_lost_and_slopes_that_are_forgotten_are_caught(monkeypatch):
    """What is attained is then above what is said to be the most."""
    bracket = guarantee(qw.pure(0.3), PRIORS["short"]).epsilon(0.0)
    assert holds(bracket) == "proved"
    right, claim = sides.slopes, bracket.claim().loss

    def leak():
        with precision(300):
            return chains.Chain.read(claim).leak()

    attained = leak().low
    with monkeypatch.context() as patch:
        patch.setattr(sides, "slopes", lambda e, side: right(e / 2, side))
        assert leak().high < attained
    with monkeypatch.context() as patch:
        patch.setattr(chains.Chain, "_left", lambda self, e, count, known: sides.none(2))
        assert leak().high < attained
    with monkeypatch.context() as patch:  # every state counts, so that the count tells nothing
        patch.setattr(chains, "_favours", lambda kernels, u, v: [[True, True]] * len(kernels))
        assert holds(bracket) != "proved"
    with monkeypatch.context() as patch:  # the chain read backwards is not one that stays where it is
        patch.setattr(chains.Chain, "_backward", lambda self, place: [[ball(1), ball(0)], [ball(0), ball(1)]])
        assert holds(bracket) != "proved"


def test_a_dropped_entry_of_a_noisy_count_is_caught(monkeypatch):
    bracket = guarantee(qw.gaussian(5.0), PRIORS["short"]).epsilon(1e-6)
    assert holds(bracket) == "proved"
    monkeypatch.setattr(chains, "_count_law", lambda kernels, u, v: (chains.flint().arb_poly([1]),) * 2)
    assert holds(bracket) == "undecided"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transition", [["0.8", "0.2"]]),
        ("transition", [["0.8", "0.3"], ["0.5", "0.5"]]),
        ("initial", "any"),
        ("initial", ["1", "0"]),
        ("length", 0),
        ("entries", []),
        ("laws", [["0.7", "0.3"], ["0.2", "0.8"], ["0.5", "0.5"]]),
        ("pairs", [[0, 0]]),
        ("pairs", [[0, 5]]),
        ("loss", {"schema": "quiltwork/loss/1", "releases": [{"kind": "pure", "epsilon": -1}]}),
        ("more", 1),
    ],
)
def test_secrets_that_are_none_are_refused(name, value):
    given = {**described_chain(qw.pure(0.1), STICKY, None), name: value}
    with pytest.raises(InvalidParameter):
        qw.prove(given, epsilon=1.0, delta=0)


def test_what_is_not_judged_is_undecided_or_refused():
    undecided = described_chain(qw.gaussian(1.0), STICKY, None)
    assert qw.prove(undecided, epsilon=1.0, delta=0).verdict == "undecided"
    assert qw.prove(undecided, delta=(0, 0.1), epsilon=1.0).verdict == "undecided"
    stuck = described_chain(qw.pure(0.1), [[1, 0], [0, 1]], None)
    assert qw.prove(stuck, epsilon=1.0, delta=0).verdict == "undecided"
    lopsided = qw.pair([0.5, 0.5], [0.3, 0.7])
    for loss in (2 * lopsided, lopsided.direction("remove")):  # an entry may change one way and then the other
        for delta in (0, 0.1):
            assert qw.prove(described_chain(loss, STICKY, None), epsilon=9.0, delta=delta).verdict == "undecided"
    for prior in (MarkovChain(STICKY, initial="any"), MarkovChain(STICKY, length=3).joint()):
        with pytest.raises(QuiltworkError):
            guarantee(qw.pure(0.1), prior).prove(0.0)
    assert guarantee(qw.pure(0.1), PRIORS["short"], entry_values([2])).prove(0.0).verdict == "proved"
    assert guarantee(qw.pure(0.0), PRIORS["short"]).prove(0.0).verdict == "proved"


def test_no_exponent_breaks_a_claim_about_a_chain():
    told = guarantee(qw.gaussian(5.0), MarkovChain([[0.8, 0.2], [0.2, 0.8]])).curve.to_prove()
    for ends, delta in ((["1e380", "1e390"], "1e-6"), (["0", "1e-390"], "1e-300"), (["1e380", "1e390"], "0")):
        assert qw.prove(told, epsilon=ends, delta=delta).verdict != "proved"


def test_an_epsilon_without_end():
    loss = 10 * qw.approximate(0.1, 1e-6)
    assert loss.epsilon(1e-6).prove().verdict == "proved"
    assert qw.prove(loss, epsilon=("inf", "inf"), delta="2e-5").verdict == "refuted"
    assert qw.prove(qw.gaussian(1.0), epsilon=("inf", "inf"), delta="1e-6").verdict == "refuted"
    with pytest.raises(InvalidParameter):
        qw.prove(loss, epsilon=("inf", 3), delta="1e-6")


def test_laws_of_floats_that_miss_one_by_a_hair_are_scaled():
    row = [0.1] * 3 + [0.7]
    release = WORLD.release(np.array([row, row[::-1]]))
    assert release.epsilon(0.01).prove().verdict == "proved"
