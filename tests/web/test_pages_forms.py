"""What forms send, as numbers and losses; and what a limit promises, against the closed forms."""

import itertools
import math
from datetime import UTC, datetime, timedelta

import attrs
import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.ledger.book.terms import FILTERS, Limit, Terms
from quiltwork.ledger.chain.entries import Entry
from quiltwork.web.pages.budget_view import LEFT, SQUARE, TOP, line_of, promised
from quiltwork.web.pages.forms import Typed, number, sentence, span, time, whole
from quiltwork.web.pages.losses import KINDS, loss_of, offered

LOSSES = {
    "gaussian": ({"sigma": "3", "sensitivity": "2"}, qw.gaussian(3.0, 2.0)),
    "laplace": ({"scale": "3", "sensitivity": "2"}, qw.laplace(3.0, 2.0)),
    "discrete_gaussian": ({"sigma": "3", "sensitivity": "2"}, qw.discrete_gaussian(3.0, 2)),
    "discrete_laplace": ({"scale": "3", "sensitivity": "2"}, qw.discrete_laplace(3.0, 2)),
    "sampled_gaussian": (
        {"rate": "0.01", "sigma": "3", "sensitivity": "2"},
        qw.poisson(qw.gaussian(3.0, 2.0), 0.01),
    ),
    "pure": ({"epsilon": "0.5"}, qw.pure(0.5)),
    "approximate": ({"epsilon": "0.5", "delta": "1e-9"}, qw.approximate(0.5, 1e-9)),
    "zcdp": ({"rho": "0.5"}, qw.zcdp(0.5)),
    "gdp": ({"mu": "0.5"}, qw.gdp(0.5)),
    "exponential": ({"epsilon": "0.5"}, qw.exponential(0.5)),
    "noisy_max": ({"epsilon": "0.5"}, qw.noisy_max(0.5)),
    "randomized_response": ({"epsilon": "0.5", "values": "3"}, qw.randomized_response(0.5, 3)),
}


def read(form):
    """The loss of a form; what describes a whole file is not asked for here."""
    return loss_of(form, lambda text: pytest.fail(f"taken for a file: {text}"))


def typed(kind, boxes):
    return {"kind": kind, **{f"{kind}.{name}": text for name, text in boxes.items()}}


def test_every_kind_is_read_as_its_loss():
    assert set(LOSSES) == {kind.name for kind in KINDS}
    for kind, (boxes, loss) in LOSSES.items():
        assert read(typed(kind, boxes)) == loss
    assert read({"kind": "written", "written": "laplace: {scale: 3, sensitivity: 2}"}) == qw.laplace(3.0, 2.0)


@pytest.mark.parametrize("text", ["", " ", "x", "nan", "inf", "-inf", "1e999", "0x10", "1_000", "0,5", "٣", "-1", "0"])
def test_a_number_that_is_none_is_refused_under_its_label(text):
    with pytest.raises(InvalidParameter, match=r"^Standard deviation \(sigma\) must be"):
        read(typed("gaussian", {"sigma": text, "sensitivity": "1"}))


def test_other_forms_that_describe_nothing():
    with pytest.raises(InvalidParameter, match="the kind of release must be one of"):
        read({"kind": "magic"})
    with pytest.raises(InvalidParameter, match="Sensitivity"):
        read({"kind": "laplace", "laplace.scale": "1"})
    with pytest.raises(InvalidParameter, match=r"Sensitivity \(whole\) must be a whole number"):
        read(typed("discrete_laplace", {"scale": "1", "sensitivity": "1.5"}))
    with pytest.raises(InvalidParameter, match="written as in a plan file"):
        read({"kind": "written", "written": " \n"})
    for text in ("gaussian: {sigma: 1}\nlaplace: {scale: 1}", "gaussian: [", "magic: {}", "- 1"):
        with pytest.raises(InvalidPlan):
            read({"kind": "written", "written": text})


def test_a_kind_is_offered_exactly_where_its_example_has_a_price():
    every = {"approximate": (2.0, 1e-6), "pure": (2.0,), "zcdp": (None, None, 0.5), "gdp": (None, None, None, 1.0)}
    for kind, given in every.items():
        for name in FILTERS[kind]:
            kept = Limit.of(*given).filter(name)
            found = {one.name for one in offered(kept)}
            for one in KINDS:
                boxes = {box.name: box.example for box in one.boxes}
                loss = read(typed(one.name, boxes))
                try:
                    kept.chosen_for(loss).cost(loss)
                except qw.errors.QuiltworkError:
                    assert one.name not in found
                else:
                    assert one.name in found
    assert offered(None) == KINDS


def test_numbers_times_and_spans():
    assert number("n", " 1e-6\n") == 1e-6
    assert whole("n", " 007 ") == 7
    assert span("s", "90 m") == timedelta(minutes=90)
    assert time("t", "2027-01-01T12:00") == datetime(2027, 1, 1, 12, tzinfo=UTC)
    assert time("t", "2027-01-01T12:00+02:00") == datetime(2027, 1, 1, 10, tzinfo=UTC)
    for read, texts in (
        (whole, ("", "-1", "1.0", "1e3", "9" * 19, "٣")),
        (span, ("", "30", "d", "1.5d", "-1d", "1y", "9" * 10 + "s")),
        (time, ("", "now", "2027-13-01T00:00", "31.12.2027")),
    ):
        for text in texts:
            with pytest.raises(InvalidParameter, match=r"^label must be"):
                read("label", text)
    with pytest.raises(InvalidParameter) as caught:
        number("label", "y" * 500)
    assert len(str(caught.value)) < 200


def test_a_name_that_comes_several_times_has_a_value_a_line():
    sent = Typed([("blocks", "a"), ("note", "one\r\ntwo\rthree"), ("blocks", "b")])
    assert sent.lines("blocks") == ["a", "b"]
    assert sent["note"] == "one\ntwo\nthree"
    assert (sent.line("none"), sent.lines("none"), len(sent), set(sent)) == ("", [], 2, {"blocks", "note"})


def test_sentences():
    assert sentence("nothing\nwas spent") == "Nothing was spent."
    assert sentence("Is it?") == "Is it?"


def closed(limit, alpha):
    """Trade-off functions: Wasserman and Zhou 2010 for (epsilon, delta), Dong, Roth and Su 2022 for mu."""
    if limit.mu is not None:
        from statistics import NormalDist

        normal = NormalDist()
        return 1.0 if alpha == 0 else 0.0 if alpha == 1 else normal.cdf(normal.inv_cdf(1 - alpha) - limit.mu)
    delta, ratio = limit.delta or 0.0, math.exp(limit.epsilon)
    return max(0.0, 1 - delta - ratio * alpha, (1 - delta - alpha) / ratio)


@pytest.mark.parametrize(
    "limit", [Limit.of(1.0), Limit.of(2.0, 1e-6), Limit.of(0.1, 0.2), Limit.of(None, None, None, 1.0)]
)
def test_the_promise_is_the_closed_form_rounded_down(limit):
    promise = promised(limit)
    for alpha, beta in promise.curve:
        assert beta == pytest.approx(closed(limit, alpha), abs=1e-9)
        assert beta <= closed(limit, alpha) + 1e-12
    joined = np.interp(np.linspace(0, 1, 5001), *zip(*promise.curve, strict=True))
    assert max(joined - [closed(limit, alpha) for alpha in np.linspace(0, 1, 5001)]) < 0.5 / SQUARE  # half a pixel
    drawn = [tuple(map(float, one.split())) for one in promise.line.removeprefix("M").split("L")]
    for (alpha, beta), (x, y) in zip(promise.curve, drawn, strict=True):
        assert (x, y) == pytest.approx((LEFT + SQUARE * alpha, TOP + SQUARE * (1 - beta)), abs=0.051)
    for alarm, missed in promise.rows:
        true = 100 * closed(limit, float(alarm) / 100)
        assert float(missed) <= true * (1 + 1e-12)
        assert float(missed) == pytest.approx(true, rel=0.01)
    apart = [1 - alpha - closed(limit, alpha) for alpha in np.linspace(0, 1, 200_001)]
    right = 50 * (1 + max(apart))
    assert float(promise.right) >= right * (1 - 1e-9)
    assert float(promise.right) == pytest.approx(right, rel=0.002)


def test_the_promise_of_rho_is_kept_by_gaussian_noise():
    """G_mu is (mu^2 / 2)-zCDP, so that the promise for rho lies below its curve; and no curve rises."""
    found = promised(Limit.of(None, None, 0.5)).curve
    for alpha, beta in found:
        assert beta <= closed(Limit.of(None, None, None, 1.0), alpha) + 1e-12
    assert max(b - a for (_, a), (_, b) in itertools.pairwise(found)) <= 1e-12


def test_a_weak_promise_is_called_so():
    assert not promised(Limit.of(1.0, 1e-6)).weak
    weak = promised(Limit.of(9.0, 1e-6))
    assert weak.weak
    assert float(weak.missed) == pytest.approx(100 * math.exp(-9) * 0.95, rel=0.01)
    assert float(weak.right) > 99.9
    assert float(promised(Limit.of(80.0)).right) == 100


def test_an_entry_that_cannot_be_read_is_said_to_be_so():
    entry = Entry(7, "2027-01-01T00:00:00.000000+00:00", "spend", "b", None, None, "{not json", "0" * 64, "0" * 64)
    kept = Limit.of(1.0).filter()
    terms = Terms("b", "adaptive", Limit.of(1.0), kept, (), "one record", None, None, None, None, (), "")
    for body in ("{not json", "[]", "{}", '{"times": "x", "blocks": 3, "release": null, "loss": {}}'):
        line = line_of(attrs.evolve(entry, body=body), terms)
        assert (line.details, line.tone, line.cost) == ("cannot be read: verify the ledger", "denied", ""), body
    odd = line_of(attrs.evolve(entry, kind="odd <b>", body='{"note": "n"}'), terms)
    assert (odd.what, odd.details, odd.note) == ("odd <b>", "", "n")
