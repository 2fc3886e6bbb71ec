"""Every known value of tests/reference_joining.json beside the answer, as the benchmark page has them."""

import pathlib

import pytest
from benchmarks import joining

WAYS = [joining.of_losses, joining.of_filters, joining.of_secrets]  # of plans under priors: test_under_chain


@pytest.mark.parametrize("values", WAYS, ids=lambda one: one.__name__)
def test_known_values(values):
    rows, wrong, far = joining.compared([values])
    assert rows
    assert wrong == far == 0, rows


def test_the_page_has_them():
    """What is left out is no answer of ours: revealing alone, other routes, inputs, and what is false there."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "benchmarks_joining.md"
    rows, _, _ = joining.compared([joining.of_losses, joining.of_secrets])
    assert all(f"| {row[0]} | {row[1]} |" in page.read_text(encoding="utf-8") for row in rows)
    assert joining.KNOWN["filter"]["training"]["exact composition"] == "2.98403"  # 3.0000068 is true
