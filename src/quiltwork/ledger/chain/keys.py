"""The key that signs a ledger's entries: Ed25519, one private file, one public line of text.

A signature of the last entry's hash vouches for the whole chain below it (see entries.py). Only the holder of the
private file can make one; everybody can check it with the 32 public bytes, offline and without the ledger.

The private file is PEM (PKCS #8) without a password and readable by its owner alone: its protection is the file
system's. Whoever copies it can sign in the ledger's name, so it belongs into no backup that others can read.

Reference: RFC 8032 (Ed25519), RFC 8410 (its PKCS #8 form); small-order keys: Brendel, Cremers, Jackson and Zhao,
The provable security of Ed25519, IEEE S&P 2021, section II.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quiltwork.errors import InvalidParameter, LedgerUnavailable, MissingExtra
from quiltwork.kinds import not_written

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MOST_BYTES: Final = 65536  # an Ed25519 key file has about 120

_PRIME: Final = 2**255 - 19
_ORDER_EIGHT: Final = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
# y coordinates of the curve's eight points of small order: such a "key" has signatures that fit nearly any message
_WEAK: Final = frozenset({0, 1, _PRIME - 1, _ORDER_EIGHT, _PRIME - _ORDER_EIGHT})
# file systems without hard links answer one of these
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK})


@not_written("it is a secret", "keep its key file, readable by its owner only")
class SigningKey:
    """A private Ed25519 key. `create` makes a new file, `load` reads one; it is never printed or pickled."""

    __slots__ = ("_private", "_public")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self._public = base64.b64encode(private.public_key().public_bytes_raw()).decode("ascii")

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> SigningKey:
        """Makes a key and its file (mode 0600, on disk when this returns); an existing file is never replaced."""
        place = _place(path)
        serialization, ed25519 = _cryptography()
        private = ed25519.Ed25519PrivateKey.generate()
        content = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        try:
            _write_once(place, content)
        except FileExistsError:
            hint = "keys are never replaced; load it, or name another"
            raise InvalidParameter("path", str(place), "a file that does not exist yet", hint) from None
        except OSError as problem:
            raise LedgerUnavailable(
                f"the key file {str(place)!r} cannot be written ({problem.strerror or problem})",
                "its directory must exist, be writable and have room",
            ) from None
        return cls(private)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SigningKey:
        """Reads a key file; one that others than its owner can read is refused."""
        place = _place(path)
        serialization, ed25519 = _cryptography()
        content = _read_private(place)
        allowed = "an Ed25519 private key file (PEM, PKCS #8, no password)"
        from cryptography.exceptions import UnsupportedAlgorithm

        try:
            private = serialization.load_pem_private_key(content, password=None)
        except TypeError:
            raise InvalidParameter("path", str(place), allowed, "this one is protected by a password") from None
        except (ValueError, UnsupportedAlgorithm):
            # the library's own words may quote the file, which may be a secret of another kind
            why = "the file is empty" if not content.strip() else "this file holds no readable private key"
            raise InvalidParameter("path", str(place), allowed, f"{why}; {_how_to_make()}") from None
        if not isinstance(private, ed25519.Ed25519PrivateKey):
            kind = type(private).__name__.lstrip("_")
            raise InvalidParameter("path", str(place), allowed, f"this one is of another type ({kind})")
        return cls(private)

    @property
    def public(self) -> str:
        """The public key: base64 of its 32 bytes. Give it to everybody who checks receipts."""
        return self._public

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature; the same message always gets the same ones."""
        return bytes(self._private.sign(message))

    def signature(self, message: bytes) -> str:
        """The signature as base64 text, as receipts and `signed_by` take it."""
        return base64.b64encode(self.sign(message)).decode("ascii")

    def derived(self, purpose: bytes) -> bytes:
        """32 secret bytes for another purpose (RFC 5869), from which the key cannot be found."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return bytes(HKDF(SHA256(), 32, None, purpose).derive(self._private.private_bytes_raw()))

    def __repr__(self) -> str:
        return f"SigningKey(public={self._public!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a private key is not copied into pickles: load it from its file")


def is_public_key(text: object) -> bool:
    """Whether a text is the base64 of an Ed25519 public key that stands for one signer.

    Points of small order and coordinates beyond the prime are refused: the first fit signatures nobody made, the
    second are other spellings of a key.
    """
    raw = _decoded(text, PUBLIC_BYTES)
    if raw is None:
        return False
    height = int.from_bytes(raw, "little") & (2**255 - 1)  # the top bit is the sign of x
    return height < _PRIME and height not in _WEAK


def signed_by(public: Any, message: Any, signature: Any) -> bool:
    """Whether the signature (base64) of the message was made with this public key's private half.

    False, never an error, for garbage of any kind. Base64 must be the one spelling: spare bits are zero, so that no
    byte of a signature can be changed unnoticed.
    """
    raw = _decoded(signature, SIGNATURE_BYTES)
    if raw is None or not isinstance(message, bytes) or not is_public_key(public):
        return False
    _, ed25519 = _cryptography()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(base64.b64decode(public)).verify(raw, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _decoded(text: object, size: int) -> bytes | None:
    if not isinstance(text, str) or len(text) > 2 * size or not text.isascii():
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == size and base64.b64encode(raw).decode("ascii") == text else None


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra("cryptography", "ledger") from None
    return serialization, ed25519


def _place(path: Any) -> Path:
    allowed = "the path of a key file"
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise InvalidParameter("path", path, allowed)
    name = os.fspath(path)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise InvalidParameter("path", path, allowed, "a lone surrogate is no Unicode text") from None
    if not Path(name).name or "\x00" in name:
        raise InvalidParameter("path", path, allowed)
    return Path(name)


def _how_to_make() -> str:
    return "make one with SigningKey.create(path), or: quiltwork ledger key FILE --make"


def _write_once(place: Path, content: bytes) -> None:
    """Writes a file that must not exist; after a crash it is there whole or not at all (a `.new` draft may remain)."""
    draft = place.with_name(f"{place.name}.{secrets.token_hex(8)}.new")
    _write_new(draft, content)
    try:
        os.link(draft, place)  # unlike a rename, a link refuses to replace what is there
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        _write_new(place, content)
    finally:
        os.unlink(draft)
    try:
        _sync_directory(place.parent)
    except OSError:
        os.unlink(place)  # a key that may be gone after a crash must sign nothing
        raise


def _write_new(place: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(place, flags | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(place)
        raise


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return  # other systems open no directories
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_private(place: Path) -> bytes:
    allowed = "a key file"
    try:
        # a named pipe must not make this wait for a writer
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise InvalidParameter("path", str(place), allowed, f"there is none; {_how_to_make()}") from None
    except OSError as problem:
        raise LedgerUnavailable(f"the key file {str(place)!r} cannot be read ({problem.strerror or problem})") from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise InvalidParameter("path", str(place), allowed, "this is a directory or a device")
        if os.name == "posix" and mode & 0o077:
            hint = f"its mode is {stat.S_IMODE(mode):04o}; chmod 600 it, and think about who has read it"
            raise InvalidParameter("path", str(place), "a key file that only its owner can read", hint)
        with os.fdopen(handle, "rb", closefd=False) as stream:
            content = stream.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise InvalidParameter("path", str(place), allowed, "this file is far too large for one")
    return content
