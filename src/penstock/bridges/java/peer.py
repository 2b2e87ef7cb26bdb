"""peer: the JVM at the other end, and our own few classes in it.

They are sent there as they are in `flow.jar`, when first needed, and loaded by a separate class loader, so the JVM
needs nothing on its class path and no compiler. `Peer.java` is their source.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from importlib.resources import files
from threading import Lock
from typing import Any

try:
    from py4j.java_gateway import JavaClass, JavaGateway, JavaObject  # type: ignore[import-untyped]
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.java needs py4j, which is not installed: pip install 'penstock[java]'", name="py4j"
    ) from missing

from penstock.bridges.java.errors import KINDS
from penstock.spec.dialects.strangers import cure_for

JAR = files("penstock.bridges.java").joinpath("flow.jar")
_PLACE = "_penstock_flow"
_ILLEGAL = "java.lang.IllegalArgumentException"
_NULL = "java.lang.NullPointerException"
_loading = Lock()


def client_of(function: str, gateway: Any) -> Any:
    """Return what calls into the JVM of a gateway, or of a Spark session or context."""
    if not isinstance(gateway, JavaGateway):  # which has every attribute one asks it for
        gateway_of = getattr(getattr(gateway, "sparkContext", gateway), "_gateway", None)
    else:
        gateway_of = gateway
    if not isinstance(gateway_of, JavaGateway):
        raise TypeError(
            f"{function}: gateway must be a gateway of Py4J, a SparkSession or a SparkContext, got {gateway!r}"
        )
    return gateway_of._gateway_client


def party_given(function: str, parameter: str, party: Any, gateway: Any) -> tuple[Any, str]:
    """Return the client of a party in the JVM, and the party's name; refuse what is none, by the name of its class."""
    if not isinstance(party, JavaObject):
        raise TypeError(f"{function}: {parameter} must be an object of Java's, got {party!r}{cure_for(party)}")
    there: Any = party
    client = there._gateway_client
    if gateway is not None and client_of(function, gateway) is not client:
        raise ValueError(f"{function}: {parameter} must be an object of this gateway, got {party!r}")
    found = str(peer_of(client).kind(party))
    if not found:
        name = there.getClass().getName()
        raise TypeError(
            f"{function}: {parameter} must be a Publisher, a Subscriber or a Processor of java.util.concurrent.Flow or "
            f"of org.reactivestreams, got an object of the class {name}; look for its adapter, such as "
            "JdkFlowAdapter of Reactor or AdaptersToFlow of Mutiny"
        )
    return client, found


def as_flow(client: Any, party: Any, kind: str) -> Any:
    """Return a party of either interface as one of Flow."""
    api, name = kind.split()
    return party if api == "flow" else peer_of(client).flow(party, name)


def reactive_known(function: str, client: Any) -> None:
    """Refuse to go on where the JVM does not know org.reactivestreams."""
    if not peer_of(client).knowsReactive():
        raise ModuleNotFoundError(
            f"{function}: the JVM has no org.reactivestreams.Publisher; put the jar "
            'org.reactivestreams:reactive-streams on its class path, or say api="flow"',
            name="org.reactivestreams",
        )


def as_reactive(client: Any, party: Any, name: str) -> Any:
    """Return a party of Flow as one of org.reactivestreams."""
    return peer_of(client).reactive(party, name)


def peer_of(client: Any) -> Any:
    """Return the object that makes ours in this JVM, bringing in its class if it is not there yet."""
    with _loading:
        # Kept by the client itself: it refers to the client, so a table of clients would never let go of one.
        found = getattr(client, _PLACE, None)
        if found is None:
            found = _brought(client)
            setattr(client, _PLACE, found)
        return found


def _brought(client: Any) -> Any:
    """Load our classes; nothing of the way they came is left behind."""
    content = JAR.read_bytes()

    def java(name: str) -> Any:
        return JavaClass(name, client)

    def array(kind: str, *items: Any) -> Any:
        made = java("java.lang.reflect.Array").newInstance(java("java.lang.Class").forName(kind), len(items))
        for place, item in enumerate(items):
            made[place] = item
        return made

    kept = java("java.io.File").createTempFile("penstock-flow", ".jar")
    try:
        java("java.nio.file.Files").write(kept.toPath(), content, array("java.nio.file.OpenOption"))
        urls = array("java.net.URL", kept.toURI().toURL())
        loader = java("java.net.URLClassLoader").newInstance(urls)
        with zipfile.ZipFile(io.BytesIO(content)) as jar:
            for name in jar.namelist():
                loader.loadClass(name.removesuffix(".class").replace("/", "."))
        kind = loader.loadClass("penstock.flow.Peer")
        made = kind.getConstructor(array("java.lang.Class")).newInstance(array("java.lang.Object"))
        loader.close()
        return made
    finally:
        kept.delete()


def as_java_error(function: str, error: Exception) -> Exception:
    """Return what Java threw as a JavaError, and any other failure of a call as the loss of the JVM that it is."""
    try:
        if not isinstance(error, Py4JJavaError):
            raise error
        thrown = error.java_exception
        names = []
        kind = thrown.getClass()
        while kind is not None:
            names.append(kind.getName())
            kind = kind.getSuperclass()
        letter = "V" if _ILLEGAL in names else "T" if _NULL in names else "E"
        made: Exception = KINDS[letter](names[0], _said(thrown.getMessage), _said(error.__str__) or "", thrown)
    except Exception:  # noqa: BLE001  the call failed for another reason, or the JVM is gone meanwhile
        made = ConnectionError(f"{function}: the JVM is gone")
    made.__cause__ = error
    return made


def _said(say: Callable[[], str | None]) -> str | None:
    """Return what an exception says of itself; its class is a stranger's and may throw then."""
    try:
        return say()
    except Py4JJavaError:
        return None


__all__ = [
    "JAR",
    "JavaClass",
    "JavaObject",
    "Py4JError",
    "Py4JJavaError",
    "as_flow",
    "as_java_error",
    "as_reactive",
    "client_of",
    "party_given",
    "peer_of",
    "reactive_known",
]
