"""Files that commands write: refused before the work, and never over one another's secrets."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quiltwork.errors import InvalidParameter


def check_writable(**targets: Path | None) -> None:
    """Refuse a file that was asked for before the work, not after it; named by its option."""
    for name, target in targets.items():
        if target is None:
            continue
        try:
            if target.is_dir():
                raise IsADirectoryError("it is a directory")
            trial = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
            with trial.open("x"):
                pass
            trial.unlink()
        except (OSError, ValueError) as error:
            raise unwritable(name, target, error) from None


def unwritable(name: str, target: Path, error: Exception) -> InvalidParameter:
    """The file cannot be written, and why."""
    why = getattr(error, "strerror", None) or str(error)
    return InvalidParameter(name, str(target), "a file that can be written", why)


@contextmanager
def secret_file(name: str, target: Path) -> Iterator[Callable[[str], bool]]:
    """A new file that only its owner can read, made before the secret is; an existing one is never replaced.

    The function that is given writes the secret and says whether that worked.
    """
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidParameter(name, str(target), "a file that does not exist yet") from None
    except (OSError, ValueError) as error:
        raise unwritable(name, target, error) from None

    def write(text: str) -> bool:
        try:
            os.write(handle, text.encode("ascii"))
            os.fsync(handle)
        except OSError:
            return False
        return True

    try:
        yield write
    except BaseException:
        with suppress(OSError):
            target.unlink()
        raise
    finally:
        os.close(handle)
