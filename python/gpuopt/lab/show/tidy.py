"""A study as a plain table: a line for each row of its summary (15 columns) or each point (12). It is for spreadsheets,
pandas and scripts; rows hold everything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gpuopt.lab.rows.frames import as_text
from gpuopt.lab.rows.groups import Group, is_baseline, share_of_bound
from gpuopt.lab.rows.pairs import elsewhere, verdict_of
from gpuopt.lab.rows.schema import ResultsError, Row, plain
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.points import rate_of

if TYPE_CHECKING:
    import pandas
    import xarray

Cell: TypeAlias = str | float | int | None

COMPARED = (
    "device",
    "problem",
    "dtype",
    "name",
    "role",
    "status",
    "time_ms",
    "time_lo_ms",
    "time_hi_ms",
    "speedup",
    "speedup_lo",
    "speedup_hi",
    "verdict",
    "bound_pct",
    "bound_by",
)
ASKED = (
    "device",
    "family",
    "name",
    "dtype",
    "bytes",
    "status",
    "time_ms",
    "time_lo_ms",
    "time_hi_ms",
    "rate",
    "unit",
    "flags",
)
_NUMBERS = ("time", "speedup", "bound_pct", "rate")  # how columns of numbers begin, which may all be missing
INDEX = ("device", "problem", "dtype", "name", "role")  # what tells lines of comparisons apart


def columns(study: StudyRows) -> tuple[str, ...]:
    """The names of the columns: of comparisons, of a survey's points, or of both."""
    if not study.points:
        return COMPARED
    return (*COMPARED, *(name for name in ASKED if name not in COMPARED)) if study.summary else ASKED


def lines(study: StudyRows) -> list[dict[str, Cell]]:
    """A mapping of `columns` for each line; None where a row has no such number."""
    made = [_compared(group, row) for group in study.groups() for row in group.rows]
    made += [_asked(row) for row in study.points]
    names = columns(study)
    return [{name: _kept(line.get(name)) for name in names} for line in made]


def _kept(cell: Cell) -> Cell:
    """What any table can keep: texts without halves of characters, and whole numbers of 64 bits."""
    if isinstance(cell, str):
        return as_text(cell)
    return cell if cell is None or -(2**63) <= cell < 2**63 else float(cell)


def _compared(group: Group, row: Row) -> dict[str, Cell]:
    away = elsewhere(group, row) is not None
    none = away or is_baseline(row, row)
    low, ratio, high = (None if none else row[end] for end in ("ratio_lo", "ratio", "ratio_hi"))
    return {
        "device": group.device,
        "problem": group.problem,
        "dtype": group.dtype,
        "name": group.label(row),
        "role": row["role"] or "variant",
        "status": row["status"],
        **_times(row),
        "speedup": 1 / ratio if ratio else None,
        "speedup_lo": 1 / high if high else None,
        "speedup_hi": 1 / low if low else None,
        "verdict": None if away else verdict_of(group, row),
        "bound_pct": share_of_bound(row),
        "bound_by": row["bound_by"] if share_of_bound(row) is not None else None,
    }


def _asked(row: Row) -> dict[str, Cell]:
    rate, unit = rate_of(row)
    return {
        "device": row["device"],
        "family": row["family"],
        "name": row["configuration"] or row["variant"],
        "dtype": row["dtype"],
        "bytes": (row["sizes"] or {}).get("bytes"),
        "status": row["status"],
        **_times(row),
        "rate": rate,
        "unit": unit if rate is not None else None,
        "flags": " ".join(row["flags"]),
    }


def _times(row: Row) -> dict[str, Cell]:
    return {"time_ms": row["median_ms"], "time_lo_ms": row["ci_lo_ms"], "time_hi_ms": row["ci_hi_ms"]}


# ---------------------------------------------------------------- as text and as other libraries' tables


def as_csv(names: Sequence[str], table: Sequence[Mapping[str, Cell]]) -> str:
    """The table as CSV with a line of names, by RFC 4180 but for its line ends; what is not known is left empty."""

    def line(cells: Sequence[Cell]) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n").writerow(cells)  # quotes what holds either
        return out.getvalue().removesuffix("\r\n") + "\n"

    return "".join(map(line, [names, *([row.get(name) for name in names] for row in table)]))


def as_json(table: Sequence[Mapping[str, Cell]]) -> str:
    """The table as a list of objects, a line each; null for numbers that are none."""
    told = ",\n".join(json.dumps(plain(line), allow_nan=False) for line in table)
    return f"[\n{told}\n]\n" if told else "[]\n"


def as_frame(names: Sequence[str], table: Sequence[Mapping[str, Cell]]) -> pandas.DataFrame:
    """The table as a DataFrame. Raises ResultsError without pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ResultsError("to_pandas needs pandas: pip install 'gpuopt[lab]'") from error
    frame = pandas.DataFrame.from_records([dict(line) for line in table], columns=list(names))
    return frame.astype({name: "float64" for name in names if name.startswith(_NUMBERS)})


def as_dataset(study: StudyRows) -> xarray.Dataset:
    """The lines of comparisons as variables over device, problem, dtype, name and role. Raises ResultsError without
    xarray, for points, and for lines that these do not tell apart."""
    try:
        import xarray
    except ImportError as error:
        raise ResultsError("to_xarray needs xarray: pip install xarray") from error
    if study.points:
        raise ResultsError("to_xarray: points have no common axes; use to_pandas()")
    frame = as_frame(COMPARED, lines(study)).set_index(list(INDEX))
    if not frame.index.is_unique:
        raise ResultsError("to_xarray: several runs of one problem are in this study; make a Study of one run's rows")
    return xarray.Dataset.from_dataframe(frame)
