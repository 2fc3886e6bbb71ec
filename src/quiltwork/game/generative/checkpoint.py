"""The state of a training run in a file: written whole or not at all, and read only by the run it belongs to.

A file is a line that names the format, a line with the SHA-256 of the rest, and the rest as torch writes it (tensors
and plain values only: it is read with `weights_only=True`, so that a file cannot bring code along).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork.errors import InvalidParameter, MissingExtra
from quiltwork.game.generative.training import Game
from quiltwork.game.torching import torch

__all__ = ["fingerprint", "restore", "save"]

_FORMAT = b"quiltwork/generative/1\n"
_PARTS = {
    "fingerprint",
    "generator",
    "log_scale",
    "attacker",
    "generator_adam",
    "attacker_adam",
    "rng",
    "rows",
}
_ALLOWED = "a file that train(..., checkpoint=...) wrote"


def fingerprint(game: Game) -> dict[str, str]:
    """What a run depends on; the number of steps is not part of it, so that a run may be made longer."""
    population = game.statistic.population
    people = hashlib.sha256(repr(population.size).encode())
    people.update(np.ascontiguousarray(population.candidates).tobytes())
    prior = repr(population.prior)
    return {
        "options": json.dumps(attrs.asdict(game.settings), sort_keys=True),
        "candidates": people.hexdigest(),
        "prior": prior,
        "denominator": game.statistic.denominator,
        "seed": str(game.seed),
    }


def save(game: Game, path: Path) -> None:
    """Write beside the target first, then put it in place at once: a reader sees the old file or the new one."""
    library, buffer = torch(), io.BytesIO()
    scale = game.generator.log_scale
    library.save(
        {
            "fingerprint": fingerprint(game),
            "generator": game.generator.net.state_dict(),
            "log_scale": None if scale is None else scale.detach(),
            "attacker": game.attacker.net.state_dict(),
            "generator_adam": game.generator_adam.state_dict(),
            "attacker_adam": game.attacker_adam.state_dict(),
            "rng": json.dumps(game.rng.bit_generator.state),
            "rows": library.tensor(game.history, dtype=library.float64),
        },
        buffer,
    )
    body = buffer.getvalue()
    digest = hashlib.sha256(body).hexdigest().encode() + b"\n"
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_FORMAT + digest + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def restore(game: Game, path: Path) -> None:
    """Bring a fresh game to the state in the file; a file of another run, or a damaged one, changes nothing."""
    state = _read(path)
    mine, theirs = fingerprint(game), state["fingerprint"]
    differing = [name for name, value in mine.items() if theirs.get(name) != value]
    if differing:
        hint = f"it was written by a run with other {' and '.join(differing)}: train anew, or name another file"
        raise InvalidParameter("checkpoint", str(path), "the checkpoint of this very run", hint)
    game.generator.net.load_state_dict(state["generator"])
    if game.generator.log_scale is not None:
        with torch().no_grad():
            game.generator.log_scale.copy_(state["log_scale"])
    game.attacker.net.load_state_dict(state["attacker"])
    game.generator_adam.load_state_dict(state["generator_adam"])
    game.attacker_adam.load_state_dict(state["attacker_adam"])
    game.rng.bit_generator.state = json.loads(state["rng"])
    game.rows = [(row[0], row[1], row[2], row[3]) for row in state["rows"].tolist()]


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, str(error)) from None
    digest, _, body = content[len(_FORMAT) :].partition(b"\n")
    if not content.startswith(_FORMAT):
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, "it begins differently")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, "it is damaged: its checksum does not hold")
    try:
        state = torch().load(io.BytesIO(body), weights_only=True)
    except MissingExtra:
        raise
    except Exception as error:  # whatever torch makes of bytes that it did not write
        raise InvalidParameter(
            "checkpoint", str(path), _ALLOWED, f"torch refuses it ({type(error).__name__})"
        ) from None
    if not isinstance(state, dict) or set(state) != _PARTS or not isinstance(state["fingerprint"], dict):
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, "it does not hold the parts of a game")
    return state
