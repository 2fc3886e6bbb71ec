"""An export with anything wrong in it is refused, the entry is named, and nothing is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import PROFILE, examples, some
from tests.ledger.exports import Target, exported, json_same, rechained, replaced, tables, value_of
from tests.ledger.forge import FIELDS
from tests.ledger.rich import Rich, rich

from quiltwork.errors import BrokenChain, InvalidParameter
from quiltwork.ledger import Ledger, SigningKey
from quiltwork.ledger.chain.entries import canonical
from quiltwork.ledger.chain.statements import HEAD, Facts
from quiltwork.ledger.chain.tree import Tree


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rich, Path, str]]:
    """A rich ledger, its key, and its export."""
    folder = tmp_path_factory.mktemp("source")
    made = rich(f"sqlite:///{folder}/budgets.db", folder / "budgets.db.key")
    yield made, folder / "budgets.db.key", exported(made.ledger)
    made.ledger.dispose()


@pytest.fixture(scope="module")
def lines(source: tuple[Rich, Path, str]) -> list[str]:
    return source[2].splitlines(keepends=True)


@pytest.fixture
def target(sqlite_url: str) -> Target:
    return Target(sqlite_url)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """The same for tests of many examples: nothing is ever made in it."""
    return Target(f"sqlite:///{tmp_path_factory.mktemp('shared')}/empty.db")


# ---- lines missing, moved, twice


def test_every_line_missing(lines, target):
    count = len(lines)
    for at in some(range(count), 12):
        given = "".join(lines[:at] + lines[at + 1 :])
        if at == 0:
            target.refuses(given)  # no header
        else:
            target.refuses(given, at if at < count - 1 else count - 1)


def test_every_two_lines_swapped(lines, target):
    count = len(lines)
    for at in range(count - 1):
        made = list(lines)
        made[at], made[at + 1] = made[at + 1], made[at]
        error = target.refuses("".join(made), at if 0 < at < count - 2 else None)
        if at == count - 2:  # the last entry comes after the end
            assert isinstance(error, BrokenChain)
            assert error.seq in (at - 1, at)


def test_every_line_twice(lines, target):
    count = len(lines)
    for at in range(count):
        error = target.refuses("".join([*lines[: at + 1], *lines[at:]]))
        if 0 < at < count - 1:
            assert isinstance(error, BrokenChain)
            assert error.seq == at + 1


def test_cut_file(lines, source, target):
    """After every line, and in the middle of every line."""
    for at in range(len(lines)):
        target.refuses("".join(lines[:at]))
        target.refuses("".join(lines[:at]) + lines[at][: len(lines[at]) // 2])
    target.refuses(source[2][:-2])  # the last bracket


def test_foreign_lines(lines, target):
    last = len(lines) - 2
    strange = [
        '{"schema":"quiltwork/receipt/1"}',
        "hello",
        "[]",
        "7",
        "null",
        '""',
        "{}",
        "\x00",
        "{" * 5000,
        "[" * 10**5,
    ]
    for line in strange:
        for at in (1, 2, 20):
            target.refuses("".join([*lines[:at], line + "\n", *lines[at:]]), at)
        target.refuses("".join([*lines[:-1], line + "\n", lines[-1]]), last + 1)
        target.refuses("".join([*lines, line + "\n"]))
        target.refuses("".join([line + "\n", *lines]))


@pytest.mark.parametrize(
    "given", ["", "\n\n", " ", "{}", "[]", "null", "7", "\ufeff", "x" * 10**6, "\x00", "{}\n{}\n{}\n"]
)
def test_no_export_at_all(target, given):
    target.refuses(given)


def test_not_lines(source, target):
    """Values that are no lines of text."""
    content = source[2]
    for strange in ([], [None], [7], [b"x"], [content.encode()], content.encode().splitlines(), 7, None, [["x"]], [{}]):
        target.refuses(strange)


def test_a_source_that_breaks_off(lines, target):
    """What the reader of the lines raises comes out as it is, and nothing is made."""

    def broken() -> Iterator[str]:
        yield from lines[:5]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        Ledger.restore(target.url, broken())
    assert tables(target.url) == []


# ---- bytes


@settings(max_examples=examples(200))
@given(st.data())
def test_a_random_byte(source, shared, data):
    """One character of the file is replaced, removed or added."""
    content = source[2]
    place = data.draw(st.integers(0, len(content) - 1))
    act = data.draw(st.sampled_from(["replace", "remove", "add"]))
    char = data.draw(st.characters(min_codepoint=0, max_codepoint=0x2FFF))
    after = content[:place] + {"replace": char, "remove": "", "add": char + content[place]}[act] + content[place + 1 :]
    outside = {line for line in after.splitlines() if line.strip()} == set(content.splitlines())
    if after == content or outside:  # a blank line more, an end of line less at the end
        return
    where = content.count("\n", 0, place)  # the line's number is that of its entry
    if json_same(after, content):
        return
    error = shared.refuses(after)
    if isinstance(error, InvalidParameter):
        assert where == 0
    elif 0 < where < len(content.splitlines()) - 1:
        assert error.seq in (where, where + 1)  # an end of line that is gone joins two


@pytest.mark.parametrize("field", ["schema", *FIELDS])
def test_fields_of_every_type(lines, target, field):
    """An entry near the beginning and one later; in a campaign every value in both."""
    values = (None, 7, -1, 0.5, 2**80, True, [], {}, "", "x", "\x00", "\ud800", "y" * 10**5)
    for turn, at in enumerate((1, 17)):
        for value in values if PROFILE == "campaign" else values[turn::2]:
            if value_of(lines[at])[field] != value or isinstance(value, bool):
                target.refuses(replaced(lines, at, **{field: value}), at)
        value = value_of(lines[at])
        del value[field]
        target.refuses("".join([*lines[:at], json.dumps(value) + "\n", *lines[at + 1 :]]), at)


def test_nan_and_twice_the_same_key(lines, target):
    for at in (1, 9, len(lines) - 2):
        for junk in ("NaN", "Infinity", "-Infinity", "1e999"):
            target.refuses(
                "".join([*lines[:at], lines[at].replace('"key":', f'"more":{junk},"key":', 1), *lines[at + 1 :]]), at
            )
        double = lines[at].replace('"kind":', '"kind":"spend","kind":', 1)
        target.refuses("".join([*lines[:at], double, *lines[at + 1 :]]), at)
    for at in (0, len(lines) - 1):
        target.refuses("".join([*lines[:at], lines[at].replace("{", '{"schema":"x",', 1), *lines[at + 1 :]]))
        target.refuses("".join([*lines[:at], lines[at].replace("{", '{"more":NaN,', 1), *lines[at + 1 :]]))


def test_header_and_closing_line(lines, target):
    last = len(lines) - 2
    for changes in (
        {"schema": "quiltwork/ledger-export/1"}, {"schema": "quiltwork/ledger-export/3"}, {"schema": None},
        {"entries": last + 1}, {"entries": last - 1},
        {"entries": None}, {"entries": "42"}, {"entries": True}, {"entries": []},
    ):  # fmt: skip
        target.refuses(replaced(lines, 0, **changes))
    closing = value_of(lines[-1])
    other = closing["signature"].swapcase()
    for changes in (
        {"schema": "x"}, {"time": "x"}, {"root": "0" * 64}, {"access": "0" * 64}, {"access": None},
        {"seq": last - 1}, {"seq": str(last)}, {"seq": None}, {"hash": "0" * 64}, {"hash": None},
        {"signature": other}, {"signature": None}, {"signature": ""}, {"signature": 7}, {"signature": "\ud800"},
        {"signature": closing["signature"] + " "}, {"signature": []},
    ):  # fmt: skip
        target.refuses(replaced(lines, len(lines) - 1, **changes))


def test_huge_line(lines, target):
    """Ten million characters of one line are refused like any other change, also as a number."""
    target.refuses(replaced(lines, 5, body="x" * 10**7), 5)
    huge = lines[5].replace('"key":', '"key":' + "9" * 10**5 + ',"old":', 1)
    target.refuses("".join([*lines[:5], huge, *lines[6:]]), 5)


# ---- who can hash


def test_hashed_again_without_the_key(lines, target):
    last = len(lines) - 2
    assert rechained(lines, lambda entries: entries) == lines
    for at in (1, 10, last - 1):
        target.refuses(
            "".join(rechained(lines, lambda e, at=at: [*e[:at], {**e[at], "key": "forged"}, *e[at + 1 :]])), last
        )
    target.refuses("".join(rechained(lines, lambda entries: entries[:-1])), last - 1)


def test_what_the_key_signed_must_still_keep_the_limit(source, lines, target):
    """A signed chain that spends more than its budget has is refused at the entry that does."""
    made, key, _ = source
    signer = SigningKey.load(key)

    def spent(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = next(row for row in entries if row["budget"] == "pure" and row["kind"] == "spend")
        more = [{**found, "key": f"more {turn}", "time": entries[-1]["time"]} for turn in range(20)]
        return [*entries, *more]

    forged = rechained(lines, spent)
    closing = value_of(forged[-1])
    tree = Tree()
    for line in forged[1:-1]:
        tree.append(bytes.fromhex(value_of(line)["hash"]))
    closing |= {"time": value_of(forged[-2])["time"], "root": tree.root.hex()}
    facts = Facts(made.ledger.identity, *(closing[name] for name in ("seq", "time", "hash", "root", "access")))
    closing["signature"] = signer.signature(facts.message(HEAD))
    error = target.refuses("".join([*forged[:-1], canonical(closing) + "\n"]))
    assert isinstance(error, BrokenChain)
    assert len(lines) - 2 < (error.seq or 0) <= len(lines) + 18


def test_amounts_are_not_computed_before_they_are_checked(lines, target):
    """Ten to the billionth power in a line of a stranger."""
    at = next(at for at, line in enumerate(lines) if '"kind":"spend"' in line)

    def huge(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        body = json.loads(entries[at - 1]["body"])
        body["cost"] = ["1e3000000", "0"]
        return [*entries[: at - 1], {**entries[at - 1], "body": canonical(body)}, *entries[at:]]

    target.refuses("".join(rechained(lines, huge)), at)
