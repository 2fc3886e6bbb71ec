"""Studies on disk: each is written whole or not at all, and read only if nothing that decides it has changed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from examples.gallery.item import Effort, Finding, Study

SCHEMA = "quiltwork/gallery-study/1"


@attrs.frozen
class Outcome:
    """What became of a study: its findings, or the problem that ended it."""

    study: Study
    findings: Mapping[str, Finding]
    problem: str = ""
    seconds: float = 0.0
    kept: bool = False  # taken from an earlier run


@attrs.frozen
class Shelf:
    """The folder of finished studies."""

    folder: Path

    @classmethod
    def below(cls, folder: Path, effort: Effort) -> Shelf:
        """Of a gallery in this folder; quick and whole runs do not take each other's place."""
        return cls(folder / "studies" / ("quick" if effort.quick else "whole"))

    def path(self, study: Study) -> Path:
        return self.folder / f"{study.name}.json"

    def notes(self, study: Study) -> Path:
        """Where the whole story of a failure is written."""
        return self.folder / f"{study.name}.failed.txt"

    def read(self, study: Study, fingerprint: str) -> Outcome | None:
        """What an earlier run has written, if it is whole and still true."""
        try:
            document = json.loads(self.path(study).read_text(encoding="utf-8"))
            if (document["schema"], document["fingerprint"]) != (SCHEMA, fingerprint):
                return None
            if document["digest"] != _digest(document["findings"]):
                return None
            findings = read_findings(study, document["findings"])
            return Outcome(study, findings, seconds=float(document["seconds"]), kept=True)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # missing, or damaged: it is run again
            return None

    def write(self, study: Study, fingerprint: str, findings: Mapping[str, Any], seconds: float) -> None:
        """Keep what was found."""
        document = {
            "schema": SCHEMA,
            "study": study.name,
            "fingerprint": fingerprint,
            "seconds": seconds,
            "digest": _digest(findings),
            "findings": findings,
        }
        written(self.path(study), json.dumps(document, indent=1, allow_nan=False) + "\n")
        self.notes(study).unlink(missing_ok=True)

    def note(self, study: Study, story: str) -> None:
        """Keep what is known about a failure; an old result that no longer counts goes."""
        written(self.notes(study), story)
        self.path(study).unlink(missing_ok=True)


def read_findings(study: Study, document: Mapping[str, Any]) -> dict[str, Finding]:
    """The findings of a study from plain values; exactly one for each of its items."""
    wanted = {item.key for item in study.items}
    if set(document) != wanted:
        missing, more = sorted(wanted - set(document)), sorted(set(document) - wanted)
        raise ValueError(f"the study must answer exactly its keys; missing: {missing}, not asked for: {more}")
    return {key: Finding.from_json(finding) for key, finding in document.items()}


def written(path: Path, text: str) -> None:
    """The file has the old text or the new one, never a part."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _digest(findings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(findings, sort_keys=True).encode()).hexdigest()
