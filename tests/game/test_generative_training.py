"""A game is decided by its seed, stops when asked, and goes on as if it had never stopped."""

import hashlib
import io
import os
import signal

import numpy as np
import pytest
from tests.game.generative_cases import STEPS, outputs, people, small
from tests.needs import Later, needs

from quiltwork.errors import InvalidParameter
from quiltwork.game import Independent, Population, Statistic
from quiltwork.game.learned import run as files
from quiltwork.game.learned import train
from quiltwork.game.learned.training import Game

torch, pytestmark = Later("torch"), needs("torch")
PEOPLE = people()
ARCHITECTURES = ("noisy", "paper")


def run(defender=None, population=PEOPLE, **options):
    return train(defender or small(), None, population, gate=False, **{"progress": False, **options})


def same(one, two):
    """Bit for bit: every step, every release, and the in-loop figure."""
    assert one.history.rows.tobytes() == two.history.rows.tobytes()
    assert outputs(one).tobytes() == outputs(two).tobytes()
    assert one.in_loop == two.in_loop
    assert one.error == two.error


@pytest.fixture(autouse=True)
def usual():
    """Ctrl+C means what it does in a fresh process: what ran before, Spark for one, may handle it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def whole():
    return {architecture: run(small(architecture)) for architecture in ARCHITECTURES}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_seed_decides_everything(whole, architecture):
    torch.manual_seed(12345)  # the caller's own random state must not matter
    same(run(small(architecture)), whole[architecture])
    other = run(small(architecture), seed=1)
    assert not np.array_equal(other.history.rows, whole[architecture].history.rows)


def test_the_callers_random_state_is_left_alone():
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    run(steps=2)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_longer_run_continues_a_shorter_one(whole, architecture, tmp_path):
    place = tmp_path / "state"
    short = run(small(architecture), steps=23, checkpoint=place)
    assert len(short.history) == 23
    same(run(small(architecture), checkpoint=place, resume=True), whole[architecture])
    same(run(small(architecture), checkpoint=place, resume=True), whole[architecture])  # nothing left to do
    with pytest.raises(InvalidParameter, match="done already"):
        run(small(architecture), steps=23, checkpoint=place, resume=True)


def stop_at(step, how):
    def progress(now, objective):
        assert np.isfinite(objective)
        if now == step:
            how()

    return progress


def raising(error):
    def now():
        raise error

    return now


def test_control_c_writes_the_state_and_goes_on_its_way(whole, tmp_path):
    place, before = tmp_path / "state", signal.getsignal(signal.SIGINT)
    for step in (11, 31):
        with pytest.raises(KeyboardInterrupt) as caught:
            run(checkpoint=place, resume=True, progress=stop_at(step, lambda: signal.raise_signal(signal.SIGINT)))
        assert f"after step {step}" in caught.value.__notes__[0]
        assert signal.getsignal(signal.SIGINT) is before
    same(run(checkpoint=place, resume=True), whole["noisy"])


def test_control_c_in_the_middle_of_a_step_waits_for_its_end(whole, tmp_path, monkeypatch):
    place, generate = tmp_path / "state", Game._generate

    def pressed(game):
        if game.step == 17:
            signal.raise_signal(signal.SIGINT)
        return generate(game)

    monkeypatch.setattr(Game, "_generate", pressed)
    with pytest.raises(KeyboardInterrupt) as caught:
        run(checkpoint=place)
    assert "after step 18" in caught.value.__notes__[0]
    monkeypatch.undo()
    same(run(checkpoint=place, resume=True), whole["noisy"])


def test_an_interrupt_that_tears_a_step_is_not_written(whole, tmp_path, monkeypatch):
    """Pressed twice: it stops at once, and the file keeps the last whole state that was written."""
    place, generate = tmp_path / "state", Game._generate

    def pressed(game):
        if game.step == 17:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return generate(game)

    monkeypatch.setattr(Game, "_generate", pressed)
    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=place, every=10)
    monkeypatch.undo()
    game = Game(small().settings(*PEOPLE.size), Statistic(PEOPLE), 0)
    files.restore(game, place)
    assert game.step == 10
    same(run(checkpoint=place, resume=True), whole["noisy"])


def test_a_crash_loses_only_what_came_after_the_last_write(whole, tmp_path):
    place = tmp_path / "state"
    with pytest.raises(RuntimeError, match="power cut"):
        run(checkpoint=place, every=10, progress=stop_at(25, raising(RuntimeError("power cut"))))
    seen = []
    same(run(checkpoint=place, resume=True, progress=lambda step, value: seen.append(step)), whole["noisy"])
    assert seen == list(range(21, STEPS + 1))


def test_without_resume_a_run_begins_anew(whole, tmp_path):
    place = tmp_path / "state"
    run(seed=3, steps=5, checkpoint=place)
    same(run(checkpoint=place), whole["noisy"])
    same(run(checkpoint=tmp_path / "new", resume=True), whole["noisy"])  # nothing there yet: from the beginning


FOREIGN = {
    "seed": {"seed": 1},
    "options": {"defender": small(kappa=1.0)},
    "candidates": {"population": people(seed=1)},
    "prior": {"population": Population(PEOPLE.candidates, PEOPLE.reference, Independent(0.5))},
    "denominator": {"denominator": "fixed"},
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_checkpoint_of_another_run_is_refused(what, tmp_path):
    place = tmp_path / "state"
    run(steps=2, checkpoint=place)
    content = place.read_bytes()
    with pytest.raises(InvalidParameter, match=f"other {what}"):
        run(**FOREIGN[what], checkpoint=place, resume=True)
    assert place.read_bytes() == content


def damaged(content):
    middle = len(content) // 2
    yield "one bit", content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    yield "cut short", content[:-100]
    yield "empty", b""
    yield "another format", b"PK" + content
    yield "another version", content.replace(b"generative/1", b"generative/2", 1)


def sealed(value, saved=True):
    """A file with a true checksum around something else."""
    buffer = io.BytesIO()
    if saved:
        torch.save(value, buffer)
    else:
        buffer.write(value)
    body = buffer.getvalue()
    return files._FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


class Code:
    """What a hostile file would bring along."""

    def __reduce__(self):
        return os.system, ("exit 1",)


def test_damaged_and_hostile_files_are_refused(tmp_path):
    place = tmp_path / "state"
    run(steps=2, checkpoint=place)
    cases = dict(damaged(place.read_bytes()))
    cases |= {"code": sealed({"fingerprint": Code()}), "no parts": sealed({"rows": 1}), "noise": sealed(b"x", False)}
    for name, content in cases.items():
        place.write_bytes(content)
        with pytest.raises(InvalidParameter, match="checkpoint must be"):
            run(checkpoint=place, resume=True)
        assert place.read_bytes() == content, name


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    place = tmp_path / "state"
    run(steps=2, checkpoint=place)
    content = place.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run(steps=4, checkpoint=place, resume=True)
    assert place.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_early_stopping_is_the_same_with_a_break_in_between(tmp_path):
    defender, place = small(patience=20, window=10, tolerance=5.0), tmp_path / "state"
    stopped = run(defender)
    assert len(stopped.history) == 30  # any change is within this tolerance
    assert stopped.history.stopped == "the objective settled"
    run(defender, steps=25, checkpoint=place)
    same(run(defender, checkpoint=place, resume=True), stopped)
    assert len(run(small(patience=None)).history) == STEPS


def test_the_attacker_learns_and_a_price_keeps_the_error_small():
    """Against exact releases the in-loop attacker must find people, or it teaches the generator nothing."""
    dear = run(small("paper", kappa=100.0, attacker="linear", attacker_steps=6, attacker_rate=0.05), steps=100)
    free = run(small("paper", kappa=0.0), steps=100)
    assert dear.in_loop.auc > 0.9
    assert dear.error < 0.5 * free.error
    assert "not a measure of protection" in str(dear.in_loop)


def test_weights_move_the_error_to_where_it_is_free():
    prices = [0.0] * 8 + [1.0] * 8
    trained = run(small(kappa=30.0, weights=prices, initial_noise=-4.0, learning_rate=3e-3), steps=150)
    draws = trained.release().draw(200, np.random.default_rng(0))
    error = np.abs(draws.outputs - draws.exact).mean(axis=0)
    assert error[8:].mean() < 0.5 * error[:8].mean()


def test_the_odds_penalty_holds_the_in_loop_attacker_down():
    """A help in training: with it the attacker in the loop is less sure. It is never called a guarantee."""
    rates = {"kappa": 20.0, "learning_rate": 3e-3, "attacker_rate": 0.02}
    loose = run(small(**rates), steps=100)
    tight = run(small(**rates, odds_limit=0.05, odds_weight=200.0), steps=100)
    assert tight.error > 2.0 * loose.error
    assert tight.in_loop.auc < loose.in_loop.auc


def test_releases_do_not_touch_each_other():
    """Normalisation is frozen: the release of a data set does not depend on which others are drawn with it."""
    learned = run(small("paper"), steps=5).learned
    members = PEOPLE.prior.draw(6, 12, np.random.default_rng(0))
    exact = learned.statistic.exact(members)
    together = learned.defend(exact, members, np.random.default_rng(1))
    alone = learned.defend(exact[:1], members[:1], np.random.default_rng(1))
    assert alone == pytest.approx(together[:1], abs=1e-6)
    assert np.abs(together - exact).max() <= 0.5


def test_divergence_is_an_error_not_a_result():
    with pytest.raises(InvalidParameter, match="diverged"):
        run(small("paper", kappa=1e300))


def test_a_bar_is_drawn_when_asked_for(capsys):
    pytest.importorskip("rich")
    run(steps=3, progress=True)
    assert "training" in capsys.readouterr().err
    run(steps=3)
    assert capsys.readouterr().err == ""
