"""Result rows as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gpuopt.lab.rows.schema import FIELDS, ResultsError

if TYPE_CHECKING:
    import pandas


def to_pandas(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """One line a row; mappings become columns `params.SLICE`, `sizes.n`, `bytes.dram`.

    Sizes of work-groups become text ("64x4"), flags too ("drift bimodal"); ``samples_ms`` stays a list. Needs pandas.
    """
    try:
        import pandas
    except ImportError as error:
        raise ResultsError("to_pandas needs pandas: pip install 'gpuopt[lab]'") from error
    flat = []
    for row in rows:
        line: dict[str, object] = {}
        for field, value in row.items():
            if isinstance(value, Mapping):
                line.update({f"{field}.{name}": item for name, item in value.items()})
            elif field in ("global_size", "local_size"):
                line[field] = None if value is None else "x".join(str(size) for size in value)
            elif field == "flags":
                line[field] = " ".join(value or [])
            elif field not in ("params", "sizes", "bytes", "environment"):
                line[field] = value
        flat.append({name: as_text(value) if isinstance(value, str) else value for name, value in line.items()})
    columns = list(dict.fromkeys(name for line in flat for name in line))
    place = {field: number for number, field in enumerate(FIELDS)}
    columns.sort(key=lambda name: place.get(name.split(".", 1)[0], len(place)))
    return pandas.DataFrame.from_records(flat, columns=columns)


def as_text(value: str) -> str:
    """Names of files may hold bytes that are no text, which no table can keep: they become question marks."""
    return value if value.isascii() else value.encode(errors="replace").decode()
