"""The soundness campaign: random questions to every room, each answer against a truth of its own.

    python -m benchmarks.soundness --minutes 15 [--seed S] [--only ROOM ...] [--workers 2] [--checks N] [--docs]

`docs/soundness.md` says what is compared with what.
"""
