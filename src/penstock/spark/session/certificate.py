"""certificate: a certificate and a key for the gate of one session, made by the JVM that runs Spark.

Python's standard library can use certificates and cannot make them; every Java can. The key store is made by keytool in
a folder that only this user can read, and is gone when this is over.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.spark.session.connect import is_remote
from penstock.spark.session.java import SparkSetupError, find_java
from penstock.spark.wire.tls import Tls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALIAS, _PASSWORD = "gate", "PENSTOCK_STORE_PASSWORD"
_DAYS = 3650
"""Longer than any run; the key is forgotten with the process."""


def tls_given(given: object) -> Tls | bool | None:
    """Return what was said about encryption, or refuse it."""
    if given is None or isinstance(given, bool):
        return given
    if not isinstance(given, Tls):
        raise TypeError(f"spark: tls must be True, False or a Tls(certificate, key), got {given!r}")
    return given


def made_for(session: SparkSession, host: str) -> Tls:
    """Make a certificate for a host, which signs itself."""
    if is_remote(session):
        raise SparkSetupError("spark: tls=True needs a JVM here, and with remote= there is none; give Tls(...)")
    password = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        store = Path(folder) / "gate.p12"
        _keytool(store, host, password)
        certificate, key = _read(session.sparkContext._jvm, store, password)
    return Tls(_pem("CERTIFICATE", certificate), _pem("PRIVATE KEY", key))


def _keytool(store: Path, host: str, password: str) -> None:
    try:
        name = f"ip:{ipaddress.ip_address(host.strip('[]'))}"
    except ValueError:
        name = f"dns:{host}"
    command = [str(find_java().home / "bin" / "keytool"), "-genkeypair", "-alias", _ALIAS]
    command += ["-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=penstock", "-ext", f"SAN={name}"]
    command += ["-validity", str(_DAYS), "-storetype", "PKCS12", "-keystore", str(store)]
    command += ["-storepass:env", _PASSWORD, "-keypass:env", _PASSWORD]
    try:
        made = subprocess.run(
            command, env={**os.environ, _PASSWORD: password}, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise SparkSetupError(f"spark: tls=True needs Java's keytool: {error}; or give a Tls(...)") from error
    if made.returncode:
        raise SparkSetupError(f"spark: keytool made no certificate for {host}: {(made.stdout + made.stderr).strip()}")


def _read(jvm: Any, store: Path, password: str) -> tuple[bytes, bytes]:
    """Return the certificate and the key as they are encoded."""
    writer = jvm.java.io.CharArrayWriter()
    writer.write(password, 0, len(password))
    letters = writer.toCharArray()
    keys = jvm.java.security.KeyStore.getInstance("PKCS12")
    opened = jvm.java.io.FileInputStream(str(store))
    try:
        keys.load(opened, letters)
    finally:
        opened.close()
    # The class of the key itself is none of Java's public ones, so its methods cannot be called from here.
    encoded = jvm.java.lang.Class.forName("java.security.spec.PKCS8EncodedKeySpec")
    key = jvm.java.security.KeyFactory.getInstance("EC").getKeySpec(keys.getKey(_ALIAS, letters), encoded)
    return bytes(keys.getCertificate(_ALIAS).getEncoded()), bytes(key.getEncoded())


def _pem(kind: str, encoded: bytes) -> str:
    text = base64.encodebytes(encoded).decode().replace("\n", "")
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])


__all__ = ["made_for", "tls_given"]
