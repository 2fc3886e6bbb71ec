"""What a service may be told, and what it refuses to be."""

import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.web.settings import Settings


def test_it_is_for_this_machine_unless_said_otherwise():
    assert Settings().local
    assert Settings().hosts == ("127.0.0.1", "localhost", "::1", "[::1]")
    for host in ("127.0.0.2", "::1", "localhost"):
        assert Settings(host=host).local


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "::", "example.org", ""])
def test_other_machines_reach_a_public_service_only(host):
    with pytest.raises(InvalidParameter, match="public"):
        Settings(host=host)
    assert not Settings(host=host, public=True, names=("budgets.example",)).local


def test_a_public_service_has_a_name():
    with pytest.raises(InvalidParameter, match="names"):
        Settings(public=True)
    assert "budgets.example" in Settings(public=True, names=("budgets.example",)).hosts


@pytest.mark.parametrize(
    "bad",
    [
        {"port": -1}, {"port": 65536}, {"port": 1.5}, {"seconds": 0.0}, {"seconds": float("nan")}, {"processes": 0},
        {"most_bytes": 0}, {"idle": -1.0}, {"lifetime": 0.0}, {"memory": 5},
    ],
)  # fmt: skip
def test_bad_numbers(bad):
    with pytest.raises(InvalidParameter, match=next(iter(bad))):
        Settings(**bad)


def test_from_the_environment():
    found = Settings.from_environment(
        {
            "QUILTWORK_LEDGER": " sqlite:///b.db ",
            "QUILTWORK_LEDGER_KEY": "b.key",
            "QUILTWORK_HOST": "::1",
            "QUILTWORK_PORT": "81",
            "QUILTWORK_NAMES": "a.example, b.example,",
            "QUILTWORK_PUBLIC": "YES",
            "QUILTWORK_PROCESSES": "3",
        }
    )
    assert found == Settings(
        ledger="sqlite:///b.db", key_file="b.key", host="::1", port=81, names=("a.example", "b.example"), public=True,
        processes=3,
    )  # fmt: skip
    assert Settings.from_environment({}) == Settings()


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "x"), ("PORT", "-1"), ("PUBLIC", "maybe"), ("PROCESSES", "9" * 20)]
)
def test_bad_variables_are_named(name, value):
    with pytest.raises(InvalidParameter, match=f"QUILTWORK_{name}"):
        Settings.from_environment({f"QUILTWORK_{name}": value})
