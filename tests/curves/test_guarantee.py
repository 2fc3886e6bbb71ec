from __future__ import annotations

import json
import math

import pytest

import quiltwork as qw
from quiltwork.curves import Bracket, Curve, Guarantee, Profile, TradeOff, load_curve
from quiltwork.errors import InvalidParameter, NotCertified

PURE = Profile([1.0], [1e-6], symmetric=True)


class Sampled:
    """A curve that knows nothing for sure and cannot be written down."""

    def epsilon(self, delta: object, *, rtol: float = 1e-3) -> Bracket:
        return Bracket(0.0, 1.0, "epsilon", "sampling", certified=False)

    def delta(self, epsilon: object, *, rtol: float = 1e-3) -> Bracket:
        return Bracket(0.0, 1.0, "delta", "sampling", certified=False)

    def beta(self, alpha: object) -> Bracket:
        return Bracket(0.0, 0.9, "beta", "sampling", certified=False)


def guarantee(curve: Curve = PURE) -> Guarantee:
    return Guarantee(
        curve, "whether one person is in the table", ["records are independent"], ("seed 002, Thm 3",), "row 7"
    )


def test_questions_go_to_the_curve() -> None:
    assert isinstance(guarantee(), Curve)
    assert guarantee().epsilon(1e-6) == PURE.epsilon(1e-6)
    assert guarantee().delta(0.5) == PURE.delta(0.5)
    assert guarantee().beta([0.1, 0.2]) == PURE.beta([0.1, 0.2])


def test_explanation_states_what_an_attacker_can_do() -> None:
    text = guarantee().explain(1e-6)
    assert "whether one person is in the table" in text
    # at 5% false alarms the true positive rate is at most delta + e * 0.05 = 0.135915...; rounded up
    assert "5% false alarms" in text
    assert "at most 13.6% of cases" in text
    assert "epsilon is at most 1:" in text
    assert "records are independent" in text
    assert "seed 002, Thm 3" in text
    assert "row 7" in text


def test_explanation_without_extras_and_without_finite_epsilon() -> None:
    bare = Guarantee(PURE, "one person")
    assert "assumes nothing else" in bare.explain()
    assert "epsilon" not in bare.explain()
    assert "no finite epsilon" in bare.explain(1e-9)
    assert "<p>Protected: one person.</p>" in bare._repr_html_()
    with pytest.raises(InvalidParameter):
        bare.explain(2.0)
    with pytest.raises(InvalidParameter):
        bare.explain(math.nan)


def test_an_approximate_curve_is_never_explained_as_a_guarantee() -> None:
    with pytest.raises(NotCertified):
        guarantee(Sampled()).explain()


def test_json_gives_it_back() -> None:
    for curve in (PURE, TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])):
        data = json.loads(json.dumps(guarantee(curve).to_json(), allow_nan=False))
        assert data["schema"] == "quiltwork/guarantee/1"
        assert Guarantee.from_json(data, load_curve) == guarantee(curve)


def test_json_without_a_curve_or_of_another_schema() -> None:
    data = guarantee(Sampled()).to_json()
    assert data["curve"] is None
    with pytest.raises(InvalidParameter, match="without one"):
        Guarantee.from_json(data, load_curve)
    with pytest.raises(InvalidParameter, match="schema"):
        Guarantee.from_json({**data, "schema": "quiltwork/guarantee/2"}, load_curve)
    with pytest.raises(InvalidParameter, match="schema"):
        load_curve({"schema": "quiltwork/unknown/1"})


def test_bad_guarantees_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="curve"):
        Guarantee("a curve", "one person")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="protects"):
        Guarantee(PURE, "  ")


def test_one_assumption_may_be_a_plain_string() -> None:
    assert Guarantee(PURE, "one person", "a fixed set of mechanisms").assumes == ("a fixed set of mechanisms",)


@pytest.mark.parametrize(("count", "each", "shown"), [(1, 0.5, "0.5"), (5, 0.1, "0.5"), (16, 0.1, "1.6")])
def test_short_numbers_are_told_as_they_are(count, each, shown):
    promise = (count * qw.pure(each)).guarantee()
    assert float(shown) <= promise.epsilon(0.0).safe <= float(shown) * (1 + 1e-12)
    assert f"epsilon is at most {shown}:" in promise.explain(0.0)


def test_numbers_that_are_more_than_noise_are_rounded_up():
    promise = Guarantee(Profile([0.5 * (1 + 3e-12)], [0.0], symmetric=True), "one person")
    assert "epsilon is at most 0.501:" in promise.explain(0.0)
