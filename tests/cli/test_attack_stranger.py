"""`quiltwork attack` as a stranger uses it: files that cannot be written, options that mean nothing, interruptions."""

import json

import pytest
from tests.cli.lines import one_line

from quiltwork.cli import main
from quiltwork.cli.commands import attack
from quiltwork.game import learned

SMALL = ["--from", "independent", "--candidates", "12", "--reference", "20", "--attributes", "20", "--quick"]


@pytest.mark.parametrize("option", ["--html", "--figure", "--scores"])
def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(option, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(attack, "population_of", lambda *_: pytest.fail("work began"))
    assert main(["attack", *SMALL, option, str(tmp_path / "missing" / "x.svg")]) == 2
    assert "a file that can be written" in one_line(capsys.readouterr().err)
    assert main(["attack", *SMALL, "--html", "."]) == 2
    assert "it is a directory" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--steps", "5"], "none of these defences is trained"),
        (["--checkpoint", "x"], "exactly one defence is trained"),
        (["--defence", "generative:1", "--resume"], "without --checkpoint"),
        (["--cache", "x.npz"], "it keeps simulated genomes"),
        (["--scores", "s.csv", "--trials", "0"], "trials must be"),
    ],
)
def test_options_that_mean_nothing_are_refused(arguments, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["attack", *SMALL, *arguments]) == 2
    assert problem in one_line(capsys.readouterr().err)


def test_certificates_of_different_reach_are_told_apart(capsys):
    """Noise that follows the candidates' rows promises nothing about others: the numbers must not look alike."""
    two = ["--defence", "gaussian:0.1", "--defence", "rate-distortion:0.03"]
    assert main(["attack", *SMALL, *two]) == 0
    printed = capsys.readouterr().out
    lines = [line.rstrip() for line in printed.splitlines()]
    assert any(line.startswith("Gaussian 0.1 ") and line.endswith("any rows") for line in lines)
    assert any(line.startswith("rate-distortion 0.03 ") and line.endswith("this pool") for line in lines)
    assert "Only a certificate is a promise." in printed  # with several defences too
    assert "T3 knows" in printed
    assert main(["attack", *SMALL, *two, "--defence", "none", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["defences"]
    assert [entry["certificate_holds_for"] for entry in found] == ["any rows", "this pool", None]


def test_an_interrupted_training_goes_on(capsys, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    place = tmp_path / "kept"
    whole = ["attack", *SMALL, "--defence", "generative:2", "--no-gate", "--steps", "6", "--json"]
    assert main(whole) == 0
    expected = json.loads(capsys.readouterr().out)
    trained = learned.train

    def stopped(*given, **options):
        def stop(step, objective):
            if step == 3:
                raise KeyboardInterrupt

        return trained(*given, **options, progress=stop)

    monkeypatch.setattr(learned, "train", stopped)
    assert main([*whole, "--checkpoint", str(place)]) == 130
    assert "--resume continues from" in capsys.readouterr().err
    monkeypatch.setattr(learned, "train", trained)
    assert main([*whole, "--checkpoint", str(place), "--resume"]) == 0
    found = json.loads(capsys.readouterr().out)
    areas = [[entry["auc"] for entry in run["defences"][0]["attackers"]] for run in (found, expected)]
    assert areas[0] == areas[1]


def test_a_small_file_needs_no_size_of_the_reference(capsys, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c\n" + "0,1,1\n1,0,1\n1,1,0\n" * 10)
    assert main(["attack", str(path), "--candidates", "12", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["population"].startswith("12 candidates, 18 reference people")
