"""The gate: nobody enters without the token, garbage does no harm, and closing frees the port."""

from __future__ import annotations

import json
import socket
import threading

import pyarrow as pa
import pytest
from pyarrow import flight

from penstock.spark.wire.gate import Gate, GateError, whole

SCHEMA = pa.schema([("n", pa.int64())])


class Echo:
    """A door that answers what it is told, and holds whoever says `wait` until it is closed."""

    def __init__(self):
        self.entered = threading.Event()
        self.closed = threading.Event()
        self.gone = threading.Event()
        self.rows = 0

    def act(self, call, verb, body):
        if verb == "wait":
            self.entered.set()
            self.closed.wait()
            raise flight.FlightCancelledError("closed")
        if verb == "lease":
            self.entered.set()
            while not call.gone():
                self.closed.wait(0.01)
            self.gone.set()
            return {}
        return {"verb": verb, "n": whole(body, "n")}

    def get(self, body):
        batch = pa.record_batch([pa.array(range(whole(body, "n")))], schema=SCHEMA)
        return SCHEMA, iter([batch])

    def put(self, body, reader, writer):
        for chunk in reader:
            self.rows += chunk.data.num_rows
            writer.write(b"ok")

    def close(self):
        self.closed.set()


@pytest.fixture
def gate():
    with Gate() as gate:
        yield gate


def test_a_door_answers_actions_reads_and_writes(gate):
    door = Echo()
    with gate.admit(door).connect() as caller:
        assert caller.act("double", n=3) == {"verb": "double", "n": 3}
        assert [batch.num_rows for batch in caller.get(n=5)] == [5]
        writer, reader = caller.put(SCHEMA)
        writer.write_batch(pa.record_batch([pa.array([1, 2])], schema=SCHEMA))
        assert reader.read().to_pybytes() == b"ok"
        writer.close()
    assert door.rows == 2


def put(client, message, options):
    """Write nothing, and hear what the gate says to it, whenever it says so."""
    writer, reader = client.do_put(flight.FlightDescriptor.for_command(message), SCHEMA, options)
    reader.read()
    writer.close()


@pytest.mark.parametrize(
    "headers",
    [[], [(b"authorization", b"Bearer wrong")], [(b"authorization", b"")], [(b"x", b"y")]],
)
def test_a_call_without_the_token_is_refused(gate, headers):
    address = gate.admit(Echo())
    message = json.dumps({"door": address.door, "n": 1}).encode()
    options = flight.FlightCallOptions(headers=headers)
    with flight.FlightClient(gate.uri) as client:
        with pytest.raises(flight.FlightUnauthenticatedError, match="the call carries no valid token"):
            list(client.do_action(flight.Action("double", message), options))
        with pytest.raises(flight.FlightUnauthenticatedError, match="the call carries no valid token"):
            client.do_get(flight.Ticket(message), options).read_all()
        with pytest.raises(flight.FlightUnauthenticatedError, match="the call carries no valid token"):
            put(client, message, options)


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (b"\x80\x04garbage", "a message must be a JSON object"),
        (b"[1]", "a message must be a JSON object"),
        (b"[" * 100_000, "a message must be a JSON object"),
        (b'{"door": "nowhere"}', "there is no door 'nowhere'"),
        (b'{"n": 1}', "there is no door None"),
        (b'{"door": "echo", "n": -1}', "n must be a whole number >= 0, got -1"),
        (b'{"door": "echo", "n": true}', "n must be a whole number >= 0, got True"),
        (b"x" * (1 << 21), "a message of 2097152 bytes is larger than 1048576"),
    ],
)
def test_a_message_that_is_not_understood_is_refused(gate, message, answer):
    address = gate.admit(Echo(), "echo")
    options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {address.token}".encode())])
    with flight.FlightClient(gate.uri) as client, pytest.raises(flight.FlightServerError, match=answer):
        list(client.do_action(flight.Action("double", message), options))
    with address.connect() as caller:
        assert caller.act("double", n=1)["n"] == 1


def test_garbage_on_the_port_does_no_harm(gate):
    address = gate.admit(Echo())
    for garbage in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00" * 1000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 500,
        b"",
    ):
        with socket.create_connection(("127.0.0.1", gate.port)) as stranger:
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            stranger.settimeout(10)
            try:
                while stranger.recv(4096):
                    pass
            except ConnectionError:
                pass
    with address.connect() as caller:
        assert caller.act("double", n=1)["n"] == 1


def test_a_dismissed_door_is_not_found(gate):
    address = gate.admit(Echo())
    gate.dismiss(address)
    with address.connect() as caller, pytest.raises(flight.FlightServerError, match="there is no door"):
        caller.act("double", n=1)


def test_closing_wakes_whoever_waits_and_frees_the_port():
    gate = Gate()
    door = Echo()
    address = gate.admit(door)
    failures = []

    def wait():
        with address.connect() as caller:
            try:
                caller.act("wait")
            except flight.FlightError as error:
                failures.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert door.entered.wait(10)
    gate.close()
    gate.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert len(failures) == 1
    assert gate.closed
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # fails only where somebody listens
        probe.bind(("127.0.0.1", gate.port))
    with pytest.raises(GateError, match=r"^gate: it is closed, and so is the Spark session that it belonged to$"):
        gate.admit(Echo())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock-gate")]


def test_a_door_learns_that_its_caller_has_gone(gate):
    import subprocess
    import sys

    door = Echo()
    address = gate.admit(door)
    where = (address.uri, address.token, address.door)
    begin = "from penstock.spark.wire.gate import DoorAddress"
    code = f"{begin}\nwith DoorAddress{where}.connect() as caller: caller.act('lease')"
    caller = subprocess.Popen([sys.executable, "-c", code])
    try:
        assert door.entered.wait(30)
        assert not door.gone.is_set()
    finally:
        caller.kill()
        caller.wait()
    assert door.gone.wait(10)


def test_a_busy_port_is_named():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(GateError, match=rf"^gate: cannot listen on 127\.0\.0\.1:{port}: .*in use"):
            Gate(port=port)
    with Gate() as first, pytest.raises(GateError, match=rf"^gate: cannot listen on 127\.0\.0\.1:{first.port}: "):
        Gate(port=first.port)


def test_the_token_stays_out_of_what_is_printed(gate):
    address = gate.admit(Echo())
    assert address.token not in repr(address)


def test_what_is_no_longer_wanted_leaves_once_at_the_next_look(gate):
    wanted, left = {"a", "b"}, []
    for name in ("a", "b"):
        gate.leave_when(lambda name=name: name not in wanted, lambda name=name: left.append(name))
    gate.look()
    assert left == []
    wanted.discard("a")
    gate.look()
    gate.look()
    assert left == ["a"]
    wanted.clear()
    gate.look()
    assert left == ["a", "b"]
