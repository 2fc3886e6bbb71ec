"""The audit example runs, and its bounds are on the right sides."""

import re

from examples.game_audit import main


def test_the_example_prints_lower_bounds_below_certificates(capsys, tmp_path):
    picture = tmp_path / "audit.svg"
    assert main(["--quick", "--trials", "400", "--figure", str(picture)]) == 0
    printed = capsys.readouterr().out
    rows = re.findall(r"epsilon\s+(\S+)\s+>=\s+(\S+) \(any:\s+(\S+)\)\s+>=\s+(\S+)\s+>=\s+(\S+)", printed)
    assert len(rows) == 2
    for row in rows:
        certified, *audited = map(float, row)
        assert all(0.0 <= bound < certified for bound in audited)
    assert picture.read_text().startswith("<?xml")
