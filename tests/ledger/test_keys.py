"""Keys: RFC 8032's own vectors, files that are whole, private and never replaced, and garbage that never raises."""

from __future__ import annotations

import base64
import copy
import errno
import os
import pickle
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter, LedgerUnavailable, MissingExtra
from quiltwork.ledger.chain import keys
from quiltwork.ledger.chain.keys import SigningKey, is_public_key, signed_by

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, x25519

posix = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")

# RFC 8032, section 7.1: secret key, public key, message, signature
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
]
SEED = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = SigningKey(SEED)
MESSAGE = b"quiltwork"
SIGNATURE = KEY.signature(MESSAGE)


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def pem(private: Any, password: bytes | None = None) -> bytes:
    lock = serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password)
    return bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))


def private_file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
def test_the_vectors_of_rfc_8032(secret: str, public: str, message: str, signature: str) -> None:
    key = SigningKey(ed25519.Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret)))
    assert base64.b64decode(key.public).hex() == public
    assert key.sign(bytes.fromhex(message)).hex() == signature
    assert signed_by(key.public, bytes.fromhex(message), text(bytes.fromhex(signature)))


def test_a_new_key_is_private_and_loads_as_itself(tmp_path: Path) -> None:
    path = tmp_path / "budgets.db.key"
    made = SigningKey.create(path)
    loaded = SigningKey.load(str(path))
    assert loaded.public == made.public
    assert signed_by(made.public, MESSAGE, loaded.signature(MESSAGE))
    assert len(base64.b64decode(made.public)) == 32
    assert [child.name for child in tmp_path.iterdir()] == ["budgets.db.key"]
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_keys_differ(tmp_path: Path) -> None:
    assert SigningKey.create(tmp_path / "a").public != SigningKey.create(tmp_path / "b").public


@posix
def test_a_generous_umask_does_not_open_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        SigningKey.create(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("links", [True, False])
def test_an_existing_file_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(os, "link", refusing(errno.EOPNOTSUPP))
    path = private_file(tmp_path / "key", b"precious")
    with pytest.raises(InvalidParameter, match="never replaced"):
        SigningKey.create(path)
    assert path.read_bytes() == b"precious"
    assert [child.name for child in tmp_path.iterdir()] == ["key"]


@posix
def test_a_dangling_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidParameter):
        SigningKey.create(tmp_path / "key")
    assert not (tmp_path / "elsewhere").exists()


def refusing(code: int) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return refuse


def test_file_systems_without_links_get_the_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refusing(errno.EPERM))
    made = SigningKey.create(tmp_path / "key")
    assert SigningKey.load(tmp_path / "key").public == made.public
    assert [child.name for child in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("step", ["fsync", "link"])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(os, step, refusing(errno.ENOSPC))
    with pytest.raises(LedgerUnavailable, match="cannot be written"):
        SigningKey.create(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_directory_that_does_not_reach_the_disk_leaves_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_sync_directory", refusing(errno.EIO))
    with pytest.raises(LedgerUnavailable, match="cannot be written"):
        SigningKey.create(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_file_and_directory_reach_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    sync = os.fsync

    def watched(handle: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        sync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    SigningKey.create(tmp_path / "key")
    assert synced == ([False, True] if os.name == "posix" else [False])


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="directory must exist"):
        SigningKey.create(tmp_path / "none" / "key")


@pytest.mark.parametrize("path", ["", "a\x00b", None, 3, b"key", 1.5, True])
@pytest.mark.parametrize("act", [SigningKey.create, SigningKey.load])
def test_what_is_no_path_is_refused(act: Any, path: Any) -> None:
    with pytest.raises(InvalidParameter, match="path"):
        act(path)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"SigningKey\.create"):
        SigningKey.load(tmp_path / "key")


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o777, 0o610, 0o601])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    SigningKey.create(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        SigningKey.load(tmp_path / "key")


@posix
def test_a_file_that_its_owner_cannot_write_is_fine(tmp_path: Path) -> None:
    made = SigningKey.create(tmp_path / "key")
    (tmp_path / "key").chmod(0o400)
    assert SigningKey.load(tmp_path / "key").public == made.public


def test_an_unreadable_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", refusing(errno.EACCES))
    with pytest.raises(LedgerUnavailable, match="cannot be read"):
        SigningKey.load(tmp_path / "key")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n  \n", "empty"),
        (b"hunter2", "no readable private key"),
        (bytes(range(256)), "no readable private key"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "no readable private key"),
        (b"x" * 70_000, "too large"),
    ],
    ids=["empty", "blank", "word", "bytes", "pem", "large"],
)
def test_garbage_files_are_refused_without_quoting_them(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words) as caught:
        SigningKey.load(private_file(tmp_path / "key", content))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("private", [ec.generate_private_key(ec.SECP256R1()), x25519.X25519PrivateKey.generate()])
def test_keys_of_another_type_are_refused(tmp_path: Path, private: Any) -> None:
    with pytest.raises(InvalidParameter, match="another type"):
        SigningKey.load(private_file(tmp_path / "key", pem(private)))


def test_a_public_key_file_is_refused(tmp_path: Path) -> None:
    public = SEED.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(InvalidParameter, match="no readable private key"):
        SigningKey.load(private_file(tmp_path / "key", public))


def test_a_key_with_a_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="password"):
        SigningKey.load(private_file(tmp_path / "key", pem(SEED, b"secret")))


def test_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir(mode=0o700)
    with pytest.raises((InvalidParameter, LedgerUnavailable), match=r"directory|cannot be read"):
        SigningKey.load(tmp_path / "key")


@posix
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(InvalidParameter, match="device"):
        SigningKey.load(tmp_path / "key")


def test_the_private_half_is_not_printed_pickled_or_copied() -> None:
    raw = bytes(range(32))
    assert KEY.public in repr(KEY)
    assert text(raw) not in repr(KEY)
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            act(KEY)


@pytest.mark.parametrize("missing", ["cryptography.hazmat.primitives", "cryptography.hazmat.primitives.asymmetric"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for act in (
        lambda: SigningKey.create(tmp_path / "key"),
        lambda: SigningKey.load(tmp_path / "key"),
        lambda: signed_by(KEY.public, MESSAGE, SIGNATURE),
    ):
        with pytest.raises(MissingExtra, match=r"quiltwork\[ledger\]"):
            act()


@given(st.binary(max_size=64))
def test_a_signature_fits_its_message_and_key_only(message: bytes) -> None:
    signature = KEY.signature(message)
    assert signed_by(KEY.public, message, signature)
    assert not signed_by(KEY.public, message + b"\x00", signature)
    other = SigningKey(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)))
    assert not signed_by(other.public, message, signature)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


def test_no_character_of_a_signature_or_key_can_be_changed() -> None:
    # exhaustive over the last two letters, where base64 has spare bits, and a sample elsewhere
    for whole, at_signature in ((SIGNATURE, True), (KEY.public, False)):
        for place in range(len(whole)):
            for letter in LETTERS if place > len(whole) - 4 else "Az/=":
                changed = whole[:place] + letter + whole[place + 1 :]
                if changed != whole:
                    pair = (KEY.public, changed) if at_signature else (changed, SIGNATURE)
                    assert not signed_by(pair[0], MESSAGE, pair[1])


def test_a_signature_with_the_group_order_added_is_refused() -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    raw = base64.b64decode(SIGNATURE)
    moved = int.from_bytes(raw[32:], "little") + order
    assert not signed_by(KEY.public, MESSAGE, text(raw[:32] + moved.to_bytes(32, "little")))


GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=100),
    st.binary(max_size=100),
    st.just("A" * 10**6),
    st.binary(min_size=32, max_size=32).map(text),
    st.binary(min_size=64, max_size=64).map(text),
    st.just(KEY.public),
    st.just(SIGNATURE),
    st.just(MESSAGE),
)


@given(GARBAGE, GARBAGE, GARBAGE)
def test_garbage_is_false_and_never_an_error(public: Any, message: Any, signature: Any) -> None:
    expected = (public, message, signature) == (KEY.public, MESSAGE, SIGNATURE)
    assert signed_by(public, message, signature) is expected


@pytest.mark.parametrize(
    "spelling",
    [
        SIGNATURE + "\n",
        " " + SIGNATURE,
        SIGNATURE.rstrip("="),
        SIGNATURE + "=",
        SIGNATURE.encode(),
        SIGNATURE[:40] + "\n" + SIGNATURE[40:],
    ],
)
def test_other_spellings_of_a_signature_are_refused(spelling: Any) -> None:
    assert not signed_by(KEY.public, MESSAGE, spelling)


# --- points of small order, from the curve's equation alone -x^2 + y^2 = 1 + d x^2 y^2 over GF(p)
PRIME = 2**255 - 19
D = -121665 * pow(121666, -1, PRIME) % PRIME


def doubled(point: tuple[int, int]) -> tuple[int, int]:
    x, y = point
    product = D * x * x * y * y
    return (
        2 * x * y * pow(1 + product, -1, PRIME) % PRIME,
        (y * y + x * x) * pow(1 - product, -1, PRIME) % PRIME,
    )


def root(square: int) -> int:
    found = pow(square, (PRIME + 3) // 8, PRIME)
    if found * found % PRIME != square % PRIME:
        found = found * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    assert found * found % PRIME == square % PRIME
    return found


def test_every_weak_coordinate_has_small_order() -> None:
    heights = set()
    for y in keys._WEAK:
        x = root((y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME)
        for side in {x, -x % PRIME}:
            point = (side, y)
            for _ in range(3):
                point = doubled(point)
            assert point == (0, 1)
            heights.add((side, y))
    assert len(heights) == 8  # the curve has cofactor 8: these are all of them


def test_keys_of_small_order_are_refused_although_the_library_takes_their_signatures() -> None:
    identity = (1).to_bytes(32, "little")
    forged = identity + bytes(32)
    # nobody signed this: S = 0 and R = A = the neutral point fit every message
    ed25519.Ed25519PublicKey.from_public_bytes(identity).verify(forged, MESSAGE)
    assert not signed_by(text(identity), MESSAGE, text(forged))
    for y in keys._WEAK | {PRIME, PRIME + 1, 2**255 - 1}:
        for sign in (0, 2**255):
            assert not is_public_key(text((y | sign).to_bytes(32, "little")))
    assert is_public_key(KEY.public)
