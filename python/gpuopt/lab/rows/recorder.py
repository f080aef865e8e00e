"""Where a sweep's rows go: into the study, and into a file that a killed process, a full disk or a second run leaves
whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuopt.lab.rows.schema import Kind, ResultsError, Row, new_row, resume_key
from gpuopt.lab.rows.store import Store
from gpuopt.lab.timing.fields import Clock

_HELD = "rows are held in memory"


class Recorder:
    """Keeps rows in memory and, given a path, in a JSON-lines file. ``notes`` are for the reader of the study.

    Raises ResultsError for a compact file at once, before anything is measured.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.store = Store(path) if path is not None else None
        if self.store is not None:
            self.store.check_takes_rows()
        self.rows: list[Row] = []
        self.notes: list[str] = [f"passed over: {damage}" for damage in self.store.problems] if self.store else []

    def keep(self, row: Row) -> Row:
        """Validates and keeps a row. A file that cannot be written ends nothing: its rows are held and tried again."""
        made = new_row(**row)  # raises for an invalid row, whatever the file does
        if self.store is not None:
            try:
                self.store.append(made)
            except ResultsError as error:
                self._forget_held()
                self.notes.append(f"{_HELD}: {error}")
        self.rows.append(made)
        return made

    def clock_of(self, fields: Row) -> Clock | None:
        """The clock of stored rows that are of these fields but for the clock; None without any."""
        clocks: tuple[Clock, ...] = ("event", "batch")
        keys = {resume_key(fields | {"clock": clock}): clock for clock in clocks}
        rows = self.store.latest() if self.store else []
        return next((keys[row["key"]] for row in rows if row["key"] in keys), None)

    def found(self, key: str, kind: Kind = "search") -> Row | None:
        """The stored row of this key and kind, if its result stands; it joins the rows of this study."""
        if self.store is None or not self.store.done(key, kind=kind):
            return None
        row = next(row for row in self.store.latest() if row["key"] == key and row["kind"] == kind)
        self.rows.append(row)
        return row

    def blocks(self, keys: set[str], baseline: Row, ceiling_sizes: Mapping[str, int] | None) -> dict[int, list[Row]]:
        """Stored blocks, by number, that hold a good row of each of these keys, all of them taken against ``baseline``
        (its fields); the ceilings of these sizes come along.

        A block with another baseline holds other ratios, one of another profile other bounds. Which ceilings were the
        fastest may differ from run to run; a block's shares of its bound are in its rows.
        """
        good = [
            row
            for row in (self.store.latest() if self.store else [])
            if (row["kind"], row["status"], row["baseline"]) == ("block", "ok", baseline["configuration"])
            and (row["role"] == "ceiling" or row["profile"] == baseline.get("profile"))
        ]
        alike = {_where(row) for row in good if row["key"] in keys}
        found: dict[int, list[Row]] = {}
        for row in good:
            beside = row["role"] == "ceiling" and row["sizes"] == ceiling_sizes and _where(row) in alike
            if row["block"] is not None and (row["key"] in keys or beside):
                found.setdefault(row["block"], []).append(row)
        sentinel = resume_key(baseline)

        def whole(rows: list[Row]) -> bool:
            visited = {row["key"] for row in rows if row["role"] != "sentinel"}
            return keys <= visited and any(row["key"] == sentinel for row in rows if row["role"] == "sentinel")

        return {number: rows for number, rows in found.items() if whole(rows)}

    def note_other_environments(self, present: str | None) -> None:
        """Says how many rows of this study were measured in another environment than the ``present`` one."""
        measured = [row for row in self.rows if row["kind"] in ("search", "block", "point") and row["env_hash"]]
        others = [row for row in measured if row["env_hash"] != present]
        if others:
            self.notes.append(
                f"{len(others)} of {len(measured)} measured rows are stored ones from another environment (software, "
                "settings or machine; the rows of kind environment tell them apart): use a fresh file to measure anew"
            )

    def finish(self) -> None:
        """Tries once more to write the rows that could not be written."""
        if self.store is not None and self.store.unsaved:
            try:
                self.store.flush()
                self._forget_held()
            except ResultsError:
                pass  # the note stands; it says which file, and why

    def _forget_held(self) -> None:
        self.notes = [note for note in self.notes if not note.startswith(_HELD)]


def _where(row: Row) -> tuple[object, ...]:
    """The fields that all rows of one comparison have in common, those of ceilings too."""
    return (row["problem"], row["device"], row["driver"], row["protocol"], row["cache_state"])
