"""The gate on a network: encrypted where it is asked for, and closed in clear text unless the user says so."""

from __future__ import annotations

import re
import socket
from typing import Any

import pyarrow as pa
import pytest
import trustme
from pyarrow import flight

from penstock import Stream, flow
from penstock.spark import Spark, Tls
from penstock.spark.session.certificate import tls_given
from penstock.spark.wire.gate import DoorAddress, Gate, GateError
from penstock.spark.wire.tls import is_loopback
from tests.spark.wire.test_gate import Echo

SCHEMA = pa.schema([("n", pa.int64())])


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def proof(authority: trustme.CA, *names: str) -> Tls:
    made = authority.issue_cert(*names)
    chain = b"".join(blob.bytes() for blob in made.cert_chain_pems)
    return Tls(chain, made.private_key_pem.bytes(), authority.cert_pem.bytes())


def test_callers_who_trust_its_authority_enter(authority: trustme.CA) -> None:
    with Gate(tls=proof(authority, "127.0.0.1")) as gate:
        assert gate.uri.startswith("grpc+tls://127.0.0.1:")
        address = gate.admit(Echo())  # type: ignore[no-untyped-call]
        with address.connect() as caller:
            assert caller.act("double", n=3) == {"verb": "double", "n": 3}
            assert [batch.num_rows for batch in caller.get(n=5)] == [5]
        assert address.call().act("double", n=1)["n"] == 1
        assert gate.admitted()[0][0] == address


def test_nothing_is_read_or_answered_in_clear_text(authority: trustme.CA) -> None:
    with Gate(tls=proof(authority, "127.0.0.1")) as gate:
        address = gate.admit(Echo())  # type: ignore[no-untyped-call]
        plain = DoorAddress(address.uri.replace("grpc+tls", "grpc"), address.token, address.door)
        with pytest.raises(flight.FlightError), plain.connect() as caller:
            caller.act("double", n=1)
        with socket.create_connection(("127.0.0.1", gate.port), timeout=10) as stranger:
            stranger.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            try:
                said = stranger.recv(4096)
            except ConnectionError:
                said = b""
        assert b"grpc" not in said


def test_a_gate_that_cannot_prove_itself_is_not_trusted(authority: trustme.CA) -> None:
    with Gate(tls=proof(authority, "127.0.0.1")) as gate:
        address = gate.admit(Echo())  # type: ignore[no-untyped-call]
        other = DoorAddress(address.uri, address.token, address.door, trustme.CA().cert_pem.bytes().decode())
        with pytest.raises(flight.FlightError), other.connect() as caller:
            caller.act("double", n=1)
    with Gate(tls=proof(authority, "elsewhere.example")) as gate:  # made out to another host
        address = gate.admit(Echo())  # type: ignore[no-untyped-call]
        with pytest.raises(flight.FlightError), address.connect() as caller:
            caller.act("double", n=1)


def test_clear_text_beyond_loopback_is_refused_unless_it_is_said(authority: trustme.CA) -> None:
    words = "gate: rows would leave 0.0.0.0 in clear text; encrypt them with Spark(tls=True)"
    with pytest.raises(GateError, match=f"^{re.escape(words)}"):
        Gate("0.0.0.0")
    with Gate("0.0.0.0", clear=True, advertise="127.0.0.1") as gate:
        assert gate.uri.startswith("grpc://127.0.0.1:")
    with Gate("0.0.0.0", tls=proof(authority, "127.0.0.1"), advertise="127.0.0.1") as gate:
        address = gate.admit(Echo())  # type: ignore[no-untyped-call]
        with address.connect() as caller:
            assert caller.act("double", n=1)["n"] == 1


@pytest.mark.parametrize(
    ("host", "stays"),
    [
        *((host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")),
        *((host, False) for host in ("10.0.0.1", "0.0.0.0", "::", "driver.example", "localhost.example")),
    ],
)
def test_what_is_loopback(host: str, stays: bool) -> None:
    assert is_loopback(host) is stays


def test_what_is_no_certificate_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^tls: certificate must be PEM, -----BEGIN \.\.\., and not the name of a file$"
    ):
        Tls("/etc/gate.pem", "/etc/gate.key")
    with pytest.raises(TypeError, match=r"^spark: tls must be True, False or a Tls\(certificate, key\), got 'yes'$"):
        tls_given("yes")


def test_the_key_stays_out_of_what_is_printed(authority: trustme.CA) -> None:
    made = proof(authority, "127.0.0.1")
    assert "PRIVATE" not in repr(made)


def test_rows_and_failures_pass_through_a_gate_whose_certificate_was_made_for_the_run(spark: Spark) -> None:
    def broken(row: Any) -> Any:
        raise KeyError("mislaid")

    with Spark(session=spark.session, tls=True) as sealed:
        assert sealed.gate.uri.startswith("grpc+tls://127.0.0.1:")
        rows = Stream.range(300).map(lambda n: (n,))
        assert list(sealed.stream(sealed.frame(rows, "n long"), rows="tuple")) == [(n,) for n in range(300)]
        parts = sealed.partitioned(["a", "b"], lambda part, row: range(row, 3), "n long", streaming=True)
        assert sorted(sealed.stream(parts, rows="tuple")) == [(0,), (0,), (1,), (1,), (2,), (2,)]
        failing = spark.session.range(5).transform(sealed.stage(flow(lambda xs: xs.map(broken)), "n long"))
        with pytest.raises(KeyError, match="mislaid"):
            list(sealed.stream(failing))
