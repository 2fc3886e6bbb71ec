"""A small world of tables, listed in full: who is a neighbour of whom under every notion, by its definition.

A record is a pair (u, d): whose it is, and a day from 0 to 2.
"""

import itertools
from collections import Counter
from functools import cache

from quiltwork.tables import Id, Int, Table
from quiltwork.tables.notions import neighbors
from quiltwork.tables.notions.spaces import Space, multisets

PEOPLE, DAYS, MOST = (0, 1), (0, 1, 2), 3
TABLE = Table(u=Id(), d=Int(0, 2)).rows(0, MOST)
PLACE = {"u": 0, "d": 1}
ALL = multisets(list(itertools.product(PEOPLE, DAYS)), MOST)


@cache
def changed(first, second):
    """Records that one table has and the other has not."""
    one, two = Counter(first), Counter(second)
    return list((one - two).elements()), list((two - one).elements())


def swapped(first, second):
    """The columns in which the only changed record differs; None when more happened."""
    gone, new = changed(first, second)
    if len(gone) != 1 or len(new) != 1:
        return None
    return {name for name, i in PLACE.items() if gone[0][i] != new[0][i]}


def fits(notion, table):
    """Whether the table is one that a notion with caps speaks of."""
    if not isinstance(notion, neighbors.User):
        return True
    persons = Counter(u for u, _ in table)
    caps = [(Counter((record[0], record[PLACE[column]]) for record in table), cap) for column, cap in notion.max_per]
    return max(persons.values(), default=0) <= notion.max_records and all(
        max(counts.values(), default=0) <= cap for counts, cap in caps
    )


def relation(notion):
    """The neighbour relation of a notion, as a function of two tables."""

    def replaced(first, second):
        columns = swapped(first, second)
        return columns is not None and not columns & notion.fixed

    def entry(first, second):
        columns = swapped(first, second)
        return columns is not None and len(columns) == 1 and (not notion.columns or columns <= notion.columns)

    def user(first, second):
        gone, new = changed(first, second)
        people = {u for u, _ in (*gone, *new)}
        if len(people) != 1:
            return False
        return any(not people & {u for u, _ in table} for table in (first, second))

    def window(first, second):
        both = [d for _, d in itertools.chain(*changed(first, second))]
        return 0 < len(both) <= notion.max_records and max(both) - min(both) < notion.length

    def moved(first, second):
        if swapped(first, second) != {"d"}:
            return False
        (old,), (new,) = changed(first, second)
        return abs(old[1] - new[1]) <= notion.within

    return {
        "add_remove": lambda first, second: len(list(itertools.chain(*changed(first, second)))) == 1,
        "replace_one": replaced,
        "entry": entry,
        "user": user,
        "window": window,
        "metric": moved,
        "free_lunch": lambda first, second: first != second,
    }[notion.kind]


@cache
def space(notion, tables):
    """The space of these tables, with the notion's steps."""
    return Space(tables, relation(notion))


def of_class(*notions, least=0):
    """All tables that every notion speaks of, with at least so many records."""
    return tuple(table for table in ALL if len(table) >= least and all(fits(notion, table) for notion in notions))
