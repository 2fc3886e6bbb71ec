"""`import quiltwork` is light: nothing that a question does not need is loaded before it is asked."""

import json
import subprocess
import sys

HEAVY = {
    "scipy",
    "matplotlib",
    "pandas",
    "torch",
    "pydantic",
    "typer",
    "rich",
    "yaml",
    "jinja2",
    "sqlalchemy",
    "fastapi",
}


def loaded_by(code: str) -> set[str]:
    """Top-level packages that a fresh interpreter holds after running the code."""
    report = "; import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_import_loads_nothing_heavy():
    # What interpreter start-up itself loads (site hooks, coverage) is not the library's doing.
    before = loaded_by("pass")
    assert not (loaded_by("import quiltwork") - before) & HEAVY


def test_the_probe_sees_what_is_loaded():
    assert "scipy" in loaded_by("import scipy")
