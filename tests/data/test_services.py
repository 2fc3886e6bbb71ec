"""A promised service that is missing must fail, not pass by."""

import pytest
from tests.data.services import lacking, need_spark


def test_a_missing_service_skips(monkeypatch):
    monkeypatch.delenv("QUILTWORK_REQUIRE_SERVICES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such thing"):
        lacking("no such thing")


def test_a_promised_service_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("QUILTWORK_REQUIRE_SERVICES", "1")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="no Java"):
        need_spark()
