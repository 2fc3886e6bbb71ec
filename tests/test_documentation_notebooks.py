"""The notebooks of the documentation run from start to end, and print what they printed when they were kept."""

from __future__ import annotations

import runpy
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
NOISY = ("publish_a_table",)  # noise is drawn anew: what is printed has the same form only


@pytest.fixture(scope="module")
def run():
    return runpy.run_path(str(ROOT / "scripts" / "notebooks"))["run"]


def printed(notebook):
    """For each cell what it wrote, and which kinds of value it showed."""
    cells = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    texts = ["".join(one.text for one in outputs if one.output_type == "stream") for outputs in cells]
    return texts, [[sorted(one.data) for one in outputs if "data" in one] for outputs in cells]


def test_there_is_one_for_each_role():
    assert [path.stem for path in NOTEBOOKS] == ["audit_a_mechanism", "price_a_training_run", "publish_a_table"]


@pytest.mark.filterwarnings("ignore")  # of the notebook machinery, not of ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_as_it_is_kept(path, run, tmp_path):
    kept = nbformat.read(path, as_version=4)
    again = run(nbformat.read(path, as_version=4), tmp_path)
    (texts, shown), (texts_again, shown_again) = printed(kept), printed(again)
    assert shown_again == shown
    if path.stem in NOISY:
        assert [text.count("\n") for text in texts_again] == [text.count("\n") for text in texts]
    else:
        assert texts_again == texts


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_a_machine_is_kept(path):
    text = path.read_text()
    assert "/tmp/" not in text
    assert str(Path.home()) not in text
    assert '"output_type": "error"' not in text
    assert "text/html" in text  # values show themselves
