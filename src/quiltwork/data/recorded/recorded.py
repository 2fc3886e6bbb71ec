"""Entries of real people in order of time, in groups, and the part of them that a prior may be fitted on.

Messages about files name a file, a line and a reason, never what stands there: a line is about a person.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.files import file_path
from quiltwork.kinds import not_written

Part = Literal["all", "fit", "test"]
PARTS = ("all", "fit", "test")


@not_written("it is about people", "write the counts that it gives")
@attrs.frozen(eq=False, repr=False)
class Recorded:
    """One row an entry, sorted by person and time; `fit` marks the entries that a prior may be fitted on.

    `who` numbers people from 0, in an order that tells nothing; `state` and `group` are places in `states` and
    `group_names`.  All answers are exact facts about the data, not releases: they carry no privacy.
    """

    states: tuple[str, ...]
    group_names: tuple[str, ...]
    who: NDArray[np.int32]
    when: NDArray[np.int64]
    state: NDArray[np.int16]
    group: NDArray[np.int16]
    fit: NDArray[np.bool_]
    name: str

    @classmethod
    def sorted(
        cls, states: Any, group_names: Any, who: Any, when: Any, state: Any, group: Any, fit: Any, name: str
    ) -> Recorded:
        """The same entries in order of person and time; entries of one moment stay as they were listed."""
        _, person = np.unique(np.asarray(who), return_inverse=True)
        moment = np.asarray(when, dtype=np.int64)
        order = np.lexsort((moment, person))
        columns = (
            person.astype(np.int32)[order],
            moment[order],
            np.asarray(state, dtype=np.int16)[order],
            np.asarray(group, dtype=np.int16)[order],
            np.asarray(fit, dtype=np.bool_)[order],
        )
        for column in columns:
            column.setflags(write=False)
        return cls(tuple(states), tuple(group_names), *columns, name)

    def hold_out(self, people: int, seed: int = 0) -> Recorded:
        """The same entries with so many people of each group, chosen by `seed`, for testing, and all others to fit."""
        out, rng = checks.count("held_out", people), np.random.default_rng(checks.count("seed", seed))
        _, first = np.unique(self.who, return_index=True)
        group = self.group[first]
        testing = np.zeros(len(group), dtype=np.bool_)
        for place, name in enumerate(self.group_names):
            members = np.flatnonzero(group == place)
            if members.size and members.size <= out:
                raise InvalidParameter("held_out", out, f"less than {members.size}, the people of {name}")
            testing[rng.permutation(members)[:out]] = True
        fit = ~testing[self.who]
        fit.setflags(write=False)
        return attrs.evolve(self, fit=fit)

    def __len__(self) -> int:
        return len(self.state)

    @property
    def people(self) -> int:
        """How many people have an entry."""
        return int(np.unique(self.who).size)

    def rows(self, part: Part = "all") -> NDArray[np.bool_]:
        """The entries of a part: those to fit a prior on, those to test with, or all."""
        checks.one_of("part", part, PARTS)
        return np.ones(len(self), dtype=np.bool_) if part == "all" else self.fit == (part == "fit")

    def counts(self, part: Part = "all") -> NDArray[np.int64]:
        """How often each state occurs, one row a group."""
        kept, width = self.rows(part), len(self.states)
        cells = self.group[kept].astype(np.int64) * width + self.state[kept]
        return np.bincount(cells, minlength=width * len(self.group_names)).reshape(-1, width)

    def sequences(self, part: Part = "all", group: int | None = None) -> list[NDArray[np.int16]]:
        """The states of each person in order of time, for `MarkovChain.fit`."""
        kept = self.rows(part)
        if group is not None:
            if checks.count("group", group) >= len(self.group_names):
                raise InvalidParameter("group", group, f"a whole number below {len(self.group_names)}")
            kept &= self.group == group
        who, state = self.who[kept], self.state[kept]
        return np.split(state, np.flatnonzero(np.diff(who)) + 1) if len(who) else []

    def table(self, part: Part = "all", *, named: bool = True) -> dict[str, NDArray[Any]]:
        """The columns who, when, state and group, for an engine; states and groups as texts, or else as numbers."""
        kept = self.rows(part)
        columns: dict[str, NDArray[Any]] = {"who": self.who[kept], "when": self.when[kept]}
        if checks.flag("named", named):
            states, groups = np.array(self.states), np.array(self.group_names)
            return columns | {"state": states[self.state[kept]], "group": groups[self.group[kept]]}
        return columns | {"state": self.state[kept], "group": self.group[kept]}

    def __repr__(self) -> str:
        return (
            f"<Recorded ({self.name}): {self.people} people in {len(self.group_names)} groups, {len(self)} entries, "
            f"{len(self.states)} states>"
        )


def folder_of(value: Any, holds: str) -> Path:
    """A folder that is there."""
    folder = file_path("folder", value)
    if not folder.is_dir():
        raise InvalidParameter("folder", str(folder), f"a folder with {holds}")
    return folder
