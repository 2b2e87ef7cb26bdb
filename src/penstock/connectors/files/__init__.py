"""files: files that are read under demand and written whole: growing ones, folders of them, and files that roll.

Lines, JSON lines and CSV need nothing beyond the standard library; Parquet and `.zst` need `penstock[files]`.
"""

from __future__ import annotations

from penstock.connectors.files.api import folder, read, roll, tail
from penstock.connectors.files.bad_lines import BadLine, BadLineError, DeadLines
from penstock.connectors.files.csv_form import Csv
from penstock.connectors.files.folder import LateFileError
from penstock.connectors.files.forms import FileForm, LineForm, SheetForm
from penstock.connectors.files.parquet_form import Parquet, ParquetGroups
from penstock.connectors.files.text_forms import JsonLines, Lines

__all__ = [
    "BadLine",
    "BadLineError",
    "Csv",
    "DeadLines",
    "FileForm",
    "JsonLines",
    "LateFileError",
    "LineForm",
    "Lines",
    "Parquet",
    "ParquetGroups",
    "SheetForm",
    "folder",
    "read",
    "roll",
    "tail",
]
