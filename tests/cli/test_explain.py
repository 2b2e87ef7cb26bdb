"""`penstock explain`: a pipeline as text, mermaid and SVG, without Spark, Java, or PySpark where none is needed."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from penstock.cli import main
from tests.cli.commands import NO_JAVA, penstock, without

LOCAL = """
from penstock import Sink, Stream

pipeline = Stream.range(3).map(str) | Sink.count()
numbers = Stream.range(3)
"""
SPARK = """
from penstock import Sink, Stream
from penstock.spark import frame

pipeline = Stream.just("a") | frame(lambda df: df.where("value = 'a'"), schema="value string") | Sink.to_list()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(LOCAL)
    return path


def test_it_is_text_by_default(file, capsys):
    assert main(["explain", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["in this process", "  source ├─ range | map(str)"]


def test_it_is_mermaid(file, capsys):
    assert main(["explain", str(file), "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "flowchart LR"


def test_it_is_svg(file, capsys):
    assert main(["explain", str(file), "--format", "svg"]) == 0
    assert "range | map(str)" in "".join(ET.fromstring(capsys.readouterr().out).itertext())


@pytest.mark.parametrize(("name", "first"), [("a.svg", "<svg "), ("a.mmd", "flowchart"), ("a.txt", "in this process")])
def test_a_file_is_written_as_its_name_says(file, tmp_path, capsys, name, first):
    assert main(["explain", str(file), "--output", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(first)
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"penstock explain: wrote {tmp_path / name}\n")


def test_a_file_that_cannot_be_written_is_status_2(file, capsys):
    assert main(["explain", str(file), "--output", str(file / "x.svg")]) == 2
    assert capsys.readouterr().err == f"penstock explain: {file / 'x.svg'} cannot be written: Not a directory\n"


@pytest.mark.parametrize("name", ["a.png", "a.md"])
def test_a_name_that_says_no_form_is_refused(file, tmp_path, capsys, name):
    assert main(["explain", str(file), "--output", name]) == 2
    assert capsys.readouterr().err == (
        f"penstock explain: --output must end in one of .txt, .svg, .mmd, .mermaid, got {name!r};"
        " --format says the form for other names\n"
    )
    assert main(["explain", str(file), "--output", str(tmp_path / name), "--format", "svg"]) == 0


def test_what_cannot_be_explained_is_told_what_can(file, capsys):
    assert main(["explain", str(file), "--name", "Stream"]) == 2
    assert capsys.readouterr().err == (
        f"penstock explain: 'Stream' in {file} must be a Pipeline (source | ... | sink) or a Stream or a Flow"
        " or a Sink, got <class 'penstock.stream.Stream'>\n"
    )


def test_a_stream_is_explained_by_its_name(file, capsys):
    assert main(["explain", str(file), "--name", "numbers"]) == 0
    assert capsys.readouterr().out == "in this process\n  source ├─ range\n"


def test_a_pipeline_of_this_process_needs_no_pyspark(file, tmp_path):
    done = penstock("explain", file, first=without(tmp_path, "pyspark", "pyarrow"))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pipeline_on_spark_with_a_ddl_schema_needs_neither_java_nor_a_session(file):
    file.write_text(SPARK)
    done = penstock("explain", file, code=NO_JAVA)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:4] == [
        "on Spark (local[*])",
        "  this process ├─ just",
        "               │    through the gate as (value string)",
        "               │    asked for at most 100,000 rows beyond Spark's last commit",
    ]
