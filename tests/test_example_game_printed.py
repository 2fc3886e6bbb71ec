"""The printed networks: records and the page say the same, and a run that is stopped goes on where it was."""

import importlib
import json
import re
from pathlib import Path

import pytest
from tests.needs import needs

pytestmark = needs("torch")
ROOT = Path(__file__).parents[1]
RECORDS = json.loads((ROOT / "examples/records/printed_networks.json").read_text(encoding="utf-8"))["records"]


def told(records):
    """Areas of a page, `attacker area`, that no record has."""
    page = " ".join((ROOT / "docs/game.md").read_text(encoding="utf-8").split())
    section = page.split("The records `examples/records/printed_networks.json`")[1].split("The responses")[0]
    found = [float(number) for number in re.findall(r"\b[01]\.\d{2,4}\b", section)]
    spans = [area for record in records for arm in record["arms"] for area in arm["areas"].values()]
    paths = [area for record in records for arm in record["arms"] for _, area in arm.get("path", [])]
    printed = (0.5205, 0.5026)
    assert len(found) > 4
    return [
        number
        for number in found
        if number not in printed
        and not any(low <= number <= high for _, low, high in spans)
        and not any(abs(number - area) <= 0.005 for area in paths)
    ]


def test_the_page_says_what_the_records_have():
    assert told(RECORDS) == []
    assert told([{"arms": [{"areas": {"one": (0.1, 0.1, 0.1)}}]}])  # the test can fail


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['people'][:14]}-{record['steps']}")
def test_records_say_all_settings(record):
    settings = record["settings"]
    assert (settings["hidden"], settings["attacker_hidden"]) == ([1500, 1100, 500], [3400, 2000])
    assert (settings["learning_rate"], settings["attacker_rate"], settings["decay"]) == (1e-3, 1e-4, 0.988)
    assert record["seed"] == 0
    for arm in record["arms"]:
        assert arm["kappa"] == 0.0
        assert arm["areas"]["ridge"][1] > 0.9  # whoever is fitted afterwards reads members
        assert 0.35 < arm["areas"]["in the loop"][0] < 0.65


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    example = importlib.import_module("examples.game_printed")
    size = ["--people", "6", "--reference", "6", "--attributes", "8", "--independent", "--small", "--test", "10"]
    asked = [*size, "--train", "20", "--every", "2"]
    (whole,) = example.main([*asked, "--steps", "4", "--record", str(tmp_path / "whole.json")])
    kept = ["--checkpoint", str(tmp_path / "run")]
    example.main([*asked, "--steps", "2", *kept])
    (again,) = example.main([*asked, "--steps", "4", *kept])
    assert [tuple(row) for row in again.path] == whole.path
    assert again.areas == whole.areas
    assert [step for step, _ in whole.path] == [2, 4]
    assert json.loads((tmp_path / "whole.json").read_text())["settings"]["hidden"] == [256, 256]
    with pytest.raises(SystemExit):
        example.main([*asked, "--kappa", "0", "1", *kept])


def test_the_range_of_the_errata_is_that_of_the_records():
    page = " ".join((ROOT / "docs/errata.md").read_text(encoding="utf-8").split())
    said = re.search(r"goes down to (0\.\d+) if the attacker .* up to (0\.\d+) if it", page)
    low, high = (float(number) for number in said.groups())
    areas = [area for record in RECORDS for arm in record["arms"] for _, area in arm.get("path", [])]
    assert round(min(areas), 2) == low
    assert round(max(areas), 2) == high
    assert min(arm["areas"]["ridge"][1] for record in RECORDS for arm in record["arms"]) > 0.915
