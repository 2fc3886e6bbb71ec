"""Tokens whose hashes are quickly made and checked, for tests that are about something else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)  # to the module's end, so that tests elsewhere see the true cost
def cheap_tokens(request: pytest.FixtureRequest) -> Iterator[None]:
    """In all modules below a conftest that names this fixture but that of the tokens themselves."""
    if request.path.name == "test_tokens.py":
        yield
        return
    from quiltwork.ledger import tokens

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "MEMORY_COST", 64)
        patch.setattr(tokens, "TIME_COST", 1)
        yield
