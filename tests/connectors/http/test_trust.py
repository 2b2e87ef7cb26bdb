"""trust: the certificates are read once, and again when they have changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import certifi
import pytest

from penstock.connectors.http.trust import trusted


def test_certificates_are_read_again_when_they_have_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    usual = trusted()
    assert trusted() is usual
    own = tmp_path / "own.pem"
    shutil.copy(certifi.where(), own)
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    first = trusted()
    assert first is not usual
    assert trusted() is first
    os.utime(own, (1, 1))
    assert trusted() is not first
