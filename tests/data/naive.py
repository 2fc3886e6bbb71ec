"""Counting rows (who, when, state) one by one, as slowly and plainly as it can be said."""

from collections import Counter


def histories(rows):
    """The states of each person in order of time."""
    people = {}
    for who, when, state in rows:
        people.setdefault(who, []).append((when, state))
    return {who: [state for _, state in sorted(entries, key=lambda entry: entry[0])] for who, entries in people.items()}


def transitions(rows, states):
    """Matrix and first states, as lists."""
    steps, first = Counter(), Counter()
    for history in histories(rows).values():
        first[history[0]] += 1
        for place in range(1, len(history)):
            steps[history[place - 1], history[place]] += 1
    return [[steps[a, b] for b in states] for a in states], [first[state] for state in states]


def columns(rows, names=("who", "when", "state")):
    """Rows as a dict of columns."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
