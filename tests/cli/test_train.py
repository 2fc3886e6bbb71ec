"""`quiltwork train`: what is found, the page, the exit codes, the complaints, histories of Opacus."""

import json
import math
from fractions import Fraction

import pytest
from tests.cli.lines import one_line

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.compose.training import SAMPLING
from quiltwork.report.answers.training import Asked, safe_side, train

RUN = ["--examples", "6000", "--batch", "60", "--delta", "1e-5"]
HISTORY = {"history": [[1.1, 0.01, 150], [1.3, 0.01, 50]], "mechanism": "rdp"}


def answered(capsys, *arguments, code=0):
    """The JSON that a run prints."""
    assert main(["train", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments, code=2):
    assert main(["train", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    return one_line(err)


# ---- the three unknowns


def test_epsilon_of_a_run(capsys):
    found = answered(capsys, *RUN, "--epochs", "2.5", "--noise-multiplier", "1.1")
    truth = qw.training(6000, 60, 2.5, 1.1)
    assert found["schema"] == "quiltwork/training/1"
    assert (found["solved"], found["steps"], found["sampling_rate"]) == ("epsilon", 250, 0.01)
    assert found["epsilon"] == truth.epsilon(1e-5).to_json()
    assert found["advantage"] == truth.advantage().to_json()
    assert found["neighbors"] == SAMPLING["poisson"]
    assert found["target"] is None
    assert found["met"] is True
    assert qw.Loss.from_json(found["loss"]) == truth


def less(noise):
    """One less in the last of four digits."""
    return noise - 10.0 ** (math.floor(math.log10(noise)) - 3)


def test_the_least_noise_is_safe_and_tight(capsys):
    found = answered(capsys, *RUN, "--epochs", "2", "--epsilon", "1.5")
    noise = found["noise_multiplier"]
    assert found["solved"] == "noise multiplier"
    assert len(repr(noise)) <= 6  # the number that is said is the one that was certified
    assert qw.training(6000, 60, 2, noise).epsilon(1e-5).upper <= 1.5
    assert qw.training(6000, 60, 2, less(noise)).epsilon(1e-5).lower > 1.5
    assert found["target"] == {"epsilon": 1.5, "delta": 1e-5, "verdict": "met"}


def test_the_most_epochs_are_whole_and_safe(capsys):
    found = answered(capsys, *RUN, "--noise-multiplier", "1.1", "--epsilon", "2.0")
    epochs = found["epochs"]
    assert found["solved"] == "epochs"
    assert isinstance(epochs, int)
    assert qw.training(6000, 60, epochs, 1.1).epsilon(1e-5).upper <= 2.0
    assert qw.training(6000, 60, epochs + 1, 1.1).epsilon(1e-5).lower > 2.0


def test_all_three_are_checked(capsys):
    known = [*RUN, "--epochs", "2", "--noise-multiplier", "1.1", "--epsilon"]
    assert answered(capsys, *known, "9")["target"]["verdict"] == "met"
    missed = answered(capsys, *known, "0.5", code=1)
    assert (missed["target"]["verdict"], missed["met"]) == ("missed", False)


# ---- other loaders


def test_a_shuffling_loader_costs_more_and_it_is_said(capsys):
    known = [*RUN, "--epochs", "3", "--noise-multiplier", "1.5"]
    found = answered(capsys, *known)
    shuffled = answered(capsys, *known, "--sampling", "shuffle")
    assert found["instead"]["sampling"] == "shuffle"
    assert found["instead"]["epsilon"]["upper"] == shuffled["epsilon"]["upper"] > 3 * found["epsilon"]["upper"]
    assert shuffled["instead"] == {"sampling": "poisson", "epsilon": found["epsilon"]}
    assert shuffled["epsilon"]["upper"] == (3 * qw.gaussian(1.5)).epsilon(1e-5).upper
    assert shuffled["steps"] == 300
    assert main(["train", *known]) == 0
    words = " ".join(capsys.readouterr().out.split())
    for said in (
        "Neighbouring tables: one record is added or removed",
        "poisson_sampling=True",
        "UniformWithReplacementSampler",
        "even with poisson_sampling=False",
        "No amplification by sampling is proved",
        "Sampling rate: 0.01",
        "Steps: 300",
        "advantage",
    ):
        assert said in words


@pytest.mark.parametrize(("epochs", "noise"), [(3.0, None), (None, 4.0)])
def test_shuffled_runs_are_calibrated_by_their_safe_end(epochs, noise):
    found = train(Asked(6000, 60, "shuffle", 1e-5, epochs, noise, 2.0)).to_json()
    epochs, noise = found["epochs"], found["noise_multiplier"]
    assert found["target"]["verdict"] == "met"
    assert (int(epochs) * qw.gaussian(noise)).epsilon(1e-5).upper <= 2
    tighter = (
        (int(epochs) * qw.gaussian(less(noise))) if found["solved"] != "epochs" else (epochs + 1) * qw.gaussian(noise)
    )
    assert tighter.epsilon(1e-5).lower > 2


def test_the_safe_side_of_shuffled_batches_is_theirs():
    run = qw.training(6000, 60, 3, 1.5, "shuffle")
    assert safe_side(run) == 3 * qw.gaussian(1.5)
    assert safe_side(run).epsilon(1e-5).upper == run.epsilon(1e-5).upper
    assert safe_side(qw.gaussian(1.0)) == qw.gaussian(1.0)


def test_batches_of_a_fixed_size_are_about_exchanged_records(capsys):
    found = answered(capsys, *RUN, "--epochs", "1", "--noise-multiplier", "2", "--sampling", "fixed_size")
    assert found["neighbors"] == SAMPLING["fixed_size"]
    assert found["loss"]["releases"][0]["count"] == 100
    assert found["epsilon"]["lower"] < found["epsilon"]["upper"]


# ---- histories of Opacus


def test_a_history_of_opacus(tmp_path, capsys):
    state = tmp_path / "state.json"
    state.write_text(json.dumps(HISTORY))
    found = answered(capsys, "--from-opacus", str(state), "--delta", "1e-5")
    truth = 150 * qw.poisson(qw.gaussian(1.1), 0.01) + 50 * qw.poisson(qw.gaussian(1.3), 0.01)
    assert qw.Loss.from_json(found["loss"]) == truth
    assert found["epsilon"] == truth.epsilon(1e-5).to_json()
    assert found["steps"] == 200
    assert [stage["steps"] for stage in found["stages"]] == [150, 50]
    passes = 2 * qw.gaussian(1.1) + qw.gaussian(1.3)  # a hundred batches a pass
    assert found["instead"]["epsilon"]["upper"] == pytest.approx(passes.epsilon(1e-5).upper, rel=1e-9)
    assert answered(capsys, "--from-opacus", str(state), "--delta", "1e-5", "--epsilon", "0.1", code=1)["met"] is False
    assert main(["train", "--from-opacus", str(state), "--delta", "1e-5"]) == 0
    assert "Stages of the run" in capsys.readouterr().out


@pytest.mark.parametrize("batches", [3, 7, 235, 469, 10_007])
def test_passes_of_a_recorded_run_are_not_miscounted(batches, tmp_path, capsys):
    """Opacus writes one over the number of batches: rounding must not turn 4 passes into 5, nor into 3."""
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"history": [[4.0, 1 / batches, 4 * batches]], "mechanism": "prv"}))
    found = answered(capsys, "--from-opacus", str(state), "--delta", "1e-5")
    assert Fraction(4 * batches, batches) == 4
    assert found["instead"]["epsilon"]["upper"] == (4 * qw.gaussian(4.0)).epsilon(1e-5).upper


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "JSON"),
        ("[]", "at least one step"),
        ('{"history": []}', "mechanism"),
        ('{"history": [[1.1, 0.01]], "mechanism": "rdp"}', "triple"),
        ('{"history": [[0, 0.01, 5]], "mechanism": "rdp"}', "noise multiplier"),
        ('{"history": [[1, 2, 5]], "mechanism": "rdp"}', "sample rate"),
        ('{"history": [[1, 0.1, 5]], "mechanism": "other"}', "other"),
    ],
)
def test_bad_histories_are_one_line(text, words, tmp_path, capsys):
    state = tmp_path / "state.json"
    state.write_text(text)
    assert words in refused(capsys, "--from-opacus", str(state), "--delta", "1e-5")


# ---- pages and complaints


def test_pages_are_written(tmp_path, capsys):
    page, text = tmp_path / "run.html", tmp_path / "run.md"
    known = [*RUN, "--epochs", "1", "--noise-multiplier", "1.5"]
    pytest.importorskip("matplotlib")
    assert main(["train", *known, "--html", str(page), "--markdown", str(text), "--sampling", "shuffle"]) == 0
    assert "Training with DP-SGD" in page.read_text()
    assert "No amplification" in text.read_text()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epochs", "2"], "two of --epochs"),
        (["--epsilon", "2"], "two of --epochs"),
        (["--epochs", "2", "--epsilon", "nan"], "epsilon"),
        (["--epochs", "2", "--epsilon", "0"], "epsilon"),
        (["--epochs", "-1", "--noise-multiplier", "1"], "epochs"),
        (["--epochs", "1e300", "--noise-multiplier", "1"], "steps"),
        (["--epochs", "2", "--noise-multiplier", "0"], "noise_multiplier must be a finite number > 0"),
        (["--epochs", "2", "--noise-multiplier", "nan"], "noise_multiplier must be a finite number > 0"),
        (["--epochs", "2", "--epsilon", "1", "--batch", "0"], "batch"),
        (["--epochs", "2", "--epsilon", "1", "--batch", "7000"], "at most examples"),
        (["--epochs", "2", "--epsilon", "1", "--delta", "2"], "delta"),
        (["--epochs", "2", "--epsilon", "1", "--sampling", "loader"], "loader"),
        (["--epochs", "2", "--from-opacus", "state.json"], "--from-opacus"),
        (["--epochs", "2", "--epsilon", "1", "--html", "/nowhere/x.html"], "html"),
    ],
)
def test_bad_input_is_one_line(arguments, words, capsys):
    assert words in refused(capsys, *RUN, *arguments)


def test_a_run_without_sizes_or_delta_is_refused(capsys):
    assert "--examples" in refused(capsys, "--epochs", "1", "--noise-multiplier", "1", "--delta", "1e-5")
    assert "delta" in refused(capsys, *RUN[:4], "--epochs", "1", "--noise-multiplier", "1")


def test_a_target_that_cannot_be_met_is_refused(capsys):
    assert "even one is too many" in refused(capsys, *RUN, "--noise-multiplier", "0.7", "--epsilon", "0.1", code=1)


@pytest.mark.parametrize("noise", ["0.1", "0.24", "1e6", "1e9"])
@pytest.mark.parametrize("sampling", ["poisson", "shuffle", "fixed_size", "random_allocation"])
def test_extreme_noise_is_refused_at_once(noise, sampling, capsys):
    """Epsilon would be in the hundreds, or nothing: `qw.training` prices it for whoever wants the number."""
    said = refused(capsys, *RUN, "--epochs", "2", "--noise-multiplier", noise, "--sampling", sampling)
    assert "noise_multiplier must be from" in said
    assert "quiltwork.training" in said


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["account", "STATE"], "which quiltwork train --from-opacus FILE takes"),
        (["release", "PLAN", "visits.csv"], "is a plan of releases, which quiltwork account FILE takes"),
        (["calibrate", "PLAN", "--epsilon", "1", "--delta", "1e-6"], "which quiltwork account FILE takes"),
    ],
)
def test_a_file_of_another_kind_names_its_command(capsys, tmp_path, command, named):
    state = tmp_path / "state.json"
    state.write_text('{"history": [[1.1, 0.004, 10]], "mechanism": "rdp"}')
    places = {"STATE": str(state), "PLAN": "examples/plans/hospital.yaml"}
    assert main([places.get(word, word) for word in command]) == 2
    assert named in " ".join(capsys.readouterr().err.split())
