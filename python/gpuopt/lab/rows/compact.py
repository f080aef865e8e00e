"""Compact results files: what tables, sentences, ratios and pictures need of a sweep's rows, in about a tenth of the
bytes. ``Study.load`` and ``Store`` read them like raw ones, but no sweep goes on from them.

Raw samples and what describes their distribution go; the flags that they earned stay. Summaries, searches, points and
environments are otherwise kept whole. A block whose summary is good keeps its place, its median, its ratio to the
baseline, the core clock and its flags; what it shares with the other blocks of its configuration stands in a template
(``lab.rows.templates``). Hashes that follow from other fields are left out, and made again by the reader. Numbers are
not rounded. Rows that later ones replace stay too: others of their blocks follow from them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuopt import files
from gpuopt.lab.rows import templates
from gpuopt.lab.rows.locks import locked
from gpuopt.lab.rows.schema import FIELDS, GROUPS, SCHEMA, ResultsError, Row, plain
from gpuopt.lab.rows.store import Damage, Store, no_templates, row_of
from gpuopt.lab.rows.templates import Fields
from gpuopt.signals import let_through

_SAMPLES = frozenset(("samples_ms", "q1_ms", "q3_ms", "p95_ms", "mad_ms")).union(
    ("autocorr1", "drift_pct_s", "bimodal", "queued_start_ms")
)
# What else a visit says beside its median; of a block's, the summary has it over all blocks, or its fields tell it.
_VISIT = _SAMPLES.union(
    ("min_ms", "max_ms", "ci_lo_ms", "ci_hi_ms", "busy_ms", "wall_ms", "warmup_ms", "gop_s", "gflop_s", "gb_s"),
    ("bound_ms", "bound_by", "pct_bound", "next_by", "pct_next", "uncached_ms", "pct_uncached"),
    ("mem_mhz", "temp_c", "power_w", "throttle", "time_utc"),
    ("load1", "others_load", "steal_pct", "quota_pct", "gpu_others"),
)
_COMPARED = ("variant", "call", "peer", "clone")  # the roles whose ratios to the baseline are read
_PLACE = {field: number for number, field in enumerate(FIELDS)}
_LIMITS = frozenset(("min_ms", "busy_ms"))  # of ceilings and launches: a block's bounds follow from them


@dataclass(frozen=True)
class Compacted:
    """What became of a file: how many rows ``target`` holds, the bytes of both, the lines that could not be read."""

    target: Path
    rows: int
    bytes_before: int
    bytes_after: int
    problems: list[Damage]

    def __str__(self) -> str:
        return f"{self.target}: {self.rows} rows, {self.bytes_before} bytes became {self.bytes_after}"


def compact_file(source: str | os.PathLike[str], target: str | os.PathLike[str] | None = None) -> Compacted:
    """Writes the rows of ``source`` compactly to ``target``, by default NAME-compact.jsonl beside it, in one step.

    A ``target`` that is the source replaces it; no other file is overwritten. A sweep that is under way waits
    meanwhile, and its further rows come behind the compact ones: none is lost. Lines that cannot be read are named in
    the result and are not in ``target``. Raises ResultsError where the source holds no rows or was written to
    meanwhile, and where ``target`` exists or cannot be written.
    """
    path = files.expanded(source)
    end = path.with_name(f"{path.stem}-compact{path.suffix}") if target is None else files.expanded(target)
    try:
        before = path.stat()
        if end.exists() and not end.samefile(path):
            raise ResultsError(f"{end} exists: give another name, for only the source itself is replaced")
        store = Store(path)
        rows = store.rows()
        if not rows:
            raise ResultsError(f"{path} holds no result rows: nothing was written")
        lines = compact(rows)
        if [row["row_id"] for row in read(map(json.loads, lines))] != [row["row_id"] for row in rows]:
            raise ResultsError(f"{path}: its compact rows are not its rows, which is a bug: nothing was written")
        text = "".join(f"{line}\n" for line in lines).encode("ascii")
        with locked(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY) as file:
            if _state(os.fstat(file.fileno())) != _state(before):
                raise ResultsError(
                    f"{path} was written to meanwhile: nothing was written; wait until its sweep has ended"
                )
            files.write(end, [text], over_rows=True)
    except RecursionError:
        raise ResultsError(f"{path} holds a row that is nested too deeply: nothing was written") from None
    except files.WriteError as error:
        raise ResultsError(str(error)) from error
    except OSError as error:
        let_through(error)
        raise ResultsError(f"{error.filename or end}: {error.strerror or error}; nothing was written") from error
    return Compacted(end, len(rows), before.st_size, len(text), store.problems)


def _state(file: os.stat_result) -> tuple[int, ...]:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns


def compact(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The lines, each a JSON object, that say the rows compactly and in their order; a template stands before the first
    row that extends it. What they are read back as is compacted to the same lines."""
    kept, groups = _kept([plain(row) for row in rows])
    commons = {group: _common(members) for group, members in groups.items() if len(members) > 1}
    shared = {group: fields for group, fields in commons.items() if len(fields) <= templates.MOST_FIELDS}
    alone = [row for row, group in kept if group not in shared and row.get("kind") != "environment"]
    root = _usual([*shared.values(), *alone])
    lines: list[str] = []
    written: set[str] = set()

    def template(like: str | None, fields: Fields) -> str:
        name = templates.name_of(like, fields)
        if name not in written:
            written.add(name)
            extends = {} if like is None else {"like": like}
            lines.append(_text({"schema": templates.SCHEMA, "shared": name, **extends, "fields": fields}))
        return name

    for row, group in kept:
        if row.get("kind") == "environment" or not root:
            lines.append(_text(row))
            continue
        like, base = template(None, root), root
        if group in shared:
            like, base = template(like, _beyond(root, shared[group])), shared[group]
        lines.append(_text({"like": like, **_beyond(base, row)}))
    return lines


def read(lines: Iterable[Any]) -> list[Row]:
    """The rows of lines that JSON's parser has read, compact or raw. Raises ValueError for what is neither, and
    ResultsError for what a newer gpuopt wrote."""
    known = no_templates()
    return [row for line in lines if (row := row_of(line, "the text", known)) is not None]


# ---------------------------------------------------------------- what is kept

_Group = tuple[str, str]  # key and role


def _kept(rows: list[Fields]) -> tuple[list[tuple[Fields, _Group]], dict[_Group, list[Fields]]]:
    """What stays of each row, with the group whose template it may extend; and of each group its blocks."""
    groups: dict[_Group, list[Fields]] = {}
    kept: list[tuple[Fields, _Group]] = []
    complete = [_complete(row) for row in rows]
    good = [row for row in complete if (row.get("kind"), row.get("status")) == ("summary", "ok")]
    summed = {_group(row): str(row.get("time_utc") or "") for row in good}
    for row in complete:
        key, role = group = _group(row)
        is_block = row.get("kind") == "block"
        # The sentinels are visits of the baseline, whose summary is that of its visits as a variant.
        summary = (key, "variant" if role == "sentinel" else role)
        short = is_block and summary in summed
        dropped = _VISIT if short else _SAMPLES
        if short and str(row.get("time_utc") or "") > summed[summary]:
            dropped -= {"time_utc"}  # of a comparison that went on, and did not end
        if short and role not in _COMPARED:
            dropped |= {"ratio"}
        if role in ("ceiling", "overhead"):
            dropped -= _LIMITS
        if role == "variant":
            dropped -= {"wall_ms"}  # what a loop on the host is held against
        if (starts := row.get("at_s")) and len(starts) > 2:
            row = row | {"at_s": [starts[0], starts[-1]]}  # the middle of a visit needs no more
        left = _without_derived({field: value for field, value in row.items() if field not in dropped})
        kept.append((left, group))
        if is_block:
            groups.setdefault(group, []).append(left)
    return kept, groups


def _group(row: Fields) -> _Group:
    return str(row["key"]), str(row.get("role"))


def _complete(row: Fields) -> Fields:
    """The row as a store reads it."""
    (made,) = read([{"schema": SCHEMA} | {field: value for field, value in row.items() if value is not None}])
    return dict(made)


def _without_derived(row: Fields) -> Fields:
    """The fields that are there, in one order, without the hashes that the reader makes of them."""
    there = [field for field, value in row.items() if value is not None]
    there.sort(key=lambda field: (_PLACE.get(field, len(_PLACE)), field))
    bare = {field: row[field] for field in there if field not in GROUPS["identity"]}
    derived = _complete(bare)
    return bare | {field: row[field] for field in GROUPS["identity"] if row[field] != derived[field]}


# ---------------------------------------------------------------- templates


def _text(value: Any) -> str:
    """JSON without spaces; two values are the same where their texts are, the order of sizes included."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _common(rows: list[Fields]) -> Fields:
    """The fields that all of the rows have with one value."""
    return {
        field: value
        for field, value in rows[0].items()
        if all(field in row and _text(row[field]) == _text(value) for row in rows)
    }


def _usual(rows: list[Fields]) -> Fields:
    """The fields that more than half of several rows have with one value."""
    counts = Counter((field, _text(value)) for row in rows for field, value in row.items())
    usual = [(field, text) for (field, text), count in counts.items() if 2 * count > len(rows) > 1]
    usual.sort(key=lambda item: (_PLACE.get(item[0], len(_PLACE)), item[0]))
    return {field: json.loads(text) for field, text in usual[: templates.MOST_FIELDS]}


def _beyond(base: Fields, row: Fields) -> Fields:
    """What extends ``base`` to ``row``: the fields that differ, None for those that the row does not have."""
    own = {field: value for field, value in row.items() if field not in base or _text(value) != _text(base[field])}
    return own | {field: None for field in base if field not in row}
