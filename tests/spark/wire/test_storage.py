"""Folders that outlive a driver: files are whole, one run at a time writes, and a URI is never a local name."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path

import pytest

from penstock.spark import Spark
from penstock.spark.ingest.spool import SpoolFile, joined
from penstock.spark.wire import hadoop
from penstock.spark.wire.hadoop import HadoopFolder
from penstock.spark.wire.places import folder, here
from penstock.spark.wire.storage import FolderBusy, LocalFolder, StorageError


def mounted(spark: Spark, path: Path) -> str:
    """Return the URI of a folder on a file system that is not local, with a new mount table."""
    table = f"t{secrets.token_hex(4)}"
    conf = spark.session.sparkContext._jsc.hadoopConfiguration()
    conf.set(f"fs.viewfs.mounttable.{table}.link./data", path.absolute().as_uri())
    return f"viewfs://{table}/data"


@pytest.fixture(params=["path", "file", "viewfs", "object store"])
def place(request, tmp_path):
    """Return a new folder of each kind; an object store is one whose files appear when they are closed."""
    if request.param == "path":
        return folder(tmp_path / "f", None, "test")
    if request.param == "file":
        return folder(f"file://{tmp_path}/f", None, "test")
    found = folder(
        f"{mounted(request.getfixturevalue('spark'), tmp_path)}/f", request.getfixturevalue("spark").session, "test"
    )
    assert isinstance(found, HadoopFolder)
    return HadoopFolder(found.location, found.jvm, found.files, appears_whole=request.param == "object store")


def test_what_is_written_is_read(place, tmp_path):
    assert place.names() == []
    place.make()
    place.make()
    large = bytes(range(256)) * 1000
    for name, data in (("empty", b""), ("small", b"x"), ("large", large)):
        place.write(name, data)
        assert place.read(name).to_pybytes() == data
    assert [name for name in place.names() if not name.endswith(".crc")] == ["empty", "large", "small"]
    place.delete("small")
    place.delete("small")
    assert "small" not in place.names()
    inner = place / "inner"
    inner.make()
    inner.write("x", b"1")
    assert (tmp_path / "f" / "inner" / "x").read_bytes() == b"1"
    assert (tmp_path / "f" / "large").read_bytes() == large


def test_a_file_that_is_not_there_is_named(place):
    place.make()
    with pytest.raises(StorageError, match=rf"^{place}/none: "):
        place.read("none")


def test_one_run_at_a_time_writes(place):
    place.make()
    first = place.claim()
    first.check()
    if first.number is None:
        with pytest.raises(FolderBusy, match=rf"^{place} is in use by another stream$"):
            place.claim()
        first.release()
        place.claim().release()
        return
    second = place.claim()
    assert second.number == first.number + 1
    second.check()
    with pytest.raises(FolderBusy, match=rf"^{place} was taken over by another run$"):
        first.check()
    second.release()


def test_of_many_runs_that_claim_at_once_one_has_it(spark, tmp_path):
    place = folder(mounted(spark, tmp_path), spark.session, "test")
    claims, lock = [], threading.Lock()

    def claim():
        made = place.claim()
        with lock:
            claims.append(made)

    threads = [threading.Thread(target=claim) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = []
    for made in claims:
        try:
            made.check()
        except StorageError:
            continue
        left.append(made)
    assert len(left) == 1
    assert left[0].number == max(made.number for made in claims)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/a/b", "/a/b"),
        ("a", "a"),
        (Path("/a"), "/a"),
        ("file:///a b/%20", "/a b/%20"),
        ("file:/a", "/a"),
        ("FILE://localhost/a", "/a"),
        ("c:/a", "c:/a"),
        ("hdfs://nn:8020/ck", None),
        ("s3a://bucket/ck", None),
        ("viewfs:/ck", None),
    ],
)
def test_a_path_and_a_file_uri_are_here(given, path):
    assert here(given, "test") == (None if path is None else Path(path))


def test_what_is_no_place_is_refused():
    with pytest.raises(
        ValueError, match=r"^run: checkpoint must be a path of this machine, or a URI as text, got Posix"
    ):
        here(Path("hdfs://nn:8020/ck"), "run: checkpoint")
    with pytest.raises(ValueError, match=r"^test: a file: URI must be like file:///folder, got 'file://host/x'$"):
        here("file://host/x", "test")
    with pytest.raises(ValueError, match=r"^test must be a path or a URI, got ''$"):
        here("", "test")
    with pytest.raises(TypeError, match=r"^test must be a path or a URI, got 7$"):
        here(7, "test")  # type: ignore[arg-type]


def test_spark_is_told_the_same_place(tmp_path):
    assert folder(tmp_path, None, "test").location == f"file://{tmp_path}"
    assert LocalFolder(Path("a")).location == f"file://{Path.cwd()}/a"


def test_a_scheme_without_a_file_system_is_refused(spark):
    with pytest.raises(
        StorageError,
        match=r"^frame: spool: Spark has no file system for s3a://, wanted for s3a://b/x \(.*S3AFileSystem",
    ):
        folder("s3a://b/x", spark.session, "frame: spool")
    with pytest.raises(
        StorageError, match=r"^test: Spark has no file system for nosuch://, wanted for nosuch://b/x \("
    ):
        folder("nosuch://b/x", spark.session, "test")
    with pytest.raises(StorageError, match=r"^test: hdfs://no-such-host.invalid:1/x cannot be used: .*no-such-host"):
        folder("hdfs://no-such-host.invalid:1/x", spark.session, "test")
    with pytest.raises(StorageError, match=r"^test: hdfs://nn/x is reached through the JVM of a Spark driver in this"):
        folder("hdfs://nn/x", None, "test")


def test_object_stores_are_known_by_their_scheme():
    assert {"s3a", "gs", "wasbs"} <= hadoop.OBJECT_STORES
    assert not {"hdfs", "viewfs", "abfs", "file"} & hadoop.OBJECT_STORES


def test_what_a_replaced_run_left_behind_is_not_joined():
    def files(*numbers):
        return [SpoolFile(first, end, f"{first}", claim) for first, end, claim in numbers]

    # Claim 2 began at row 100; what claim 1 wrote after that was promised to no query.
    assert joined(files((0, 100, 1), (100, 150, 1), (100, 140, 2), (140, 200, 2))) == files(
        (0, 100, 1), (100, 140, 2), (140, 200, 2)
    )
    assert joined(files((100, 150, 1), (500, 600, 2))) == files((500, 600, 2))
    assert joined(files((0, 100, 1), (100, 150, 1))) == files((0, 100, 1), (100, 150, 1))
    assert joined([]) == []
