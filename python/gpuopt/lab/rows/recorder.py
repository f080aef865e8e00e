"""Where a sweep's rows go: into the study, and into a file that a killed process, a full disk or a second run leaves
whole."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from gpuopt import _core
from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.environments import told_differences
from gpuopt.lab.rows.groups import code_of, identity
from gpuopt.lab.rows.row_fields import Kind
from gpuopt.lab.rows.schema import ResultsError, Row, field, new_row, resume_key, utc_text
from gpuopt.lab.rows.store import REMOVED, SHARED, Store
from gpuopt.lab.rows.taken_over import taken_over
from gpuopt.lab.timing.fields import Clock

S = TypeVar("S")  # a study
_HELD = "rows are held in memory"


@checked
class UnsavedRowsError(ResultsError, Generic[S]):
    """A study that is complete, but not in its file: ``study`` has all rows, ``saved`` of them are in the file and
    ``unsaved`` are not. ``store.flush()`` writes these once there is room."""

    def __init__(self, study: S, store: Store, reason: str, rows: int) -> None:
        self.study, self.store, self.reason = study, store, reason
        self.unsaved = len(store.unsaved)
        self.saved = rows - self.unsaved
        super().__init__(
            f"{self.what()}; {self.saved} are. The others are in this error's study: free some space, then its "
            "store.flush() writes them"
        )

    def __reduce__(self) -> tuple[type[ResultsError], tuple[str]]:
        """Another process gets the message: the study and its file stay here."""
        return ResultsError, (str(self),)

    def what(self) -> str:
        """What is not saved, and why."""
        return f"{self.unsaved} of {self.saved + self.unsaved} rows are not in {self.store.path} ({self.reason})"


class Recorder:
    """Keeps rows in memory and, given a path, in a JSON-lines file. ``notes`` are for the reader of the study.

    Stored rows are taken over where they are of the same measurement (their keys) and of the same environment: that of
    the row of kind environment that was kept last. What another environment measured stays in the file, unused.

    Raises ParameterError within ``lab.capture``, which keeps the launches of single calls; ResultsError for a compact
    file, and for one that is no results file, at once, before anything is measured.
    """

    def __init__(self, path: str | Path | None) -> None:
        if _core.is_recording():
            raise ParameterError("call: it takes samples, which are many runs of one plan; capture a plain call")
        self.store = Store(path) if path is not None else None
        if self.store is not None:
            self.store.check_takes_rows()
        self.rows: list[Row] = []
        self.began_utc = utc_text(datetime.datetime.now(datetime.timezone.utc))
        self._environment: str | None = None
        self._elsewhere: dict[str, str | None] = {}  # stored rows that only their environment rules out
        self._reason = ""  # why the last row could not be written
        self.notes: list[str] = [f"passed over: {damage}" for damage in self.store.problems] if self.store else []

    def keep(self, row: Row) -> Row:
        """Validates and keeps a row. A file that cannot be written ends nothing: its rows are held and tried again,
        and :meth:`handed_over` says at the end what it lacks. Raises ResultsError for one that takes not even the
        environment that comes first."""
        return self.keep_all([row])[0]

    def keep_all(self, rows: Sequence[Row]) -> list[Row]:
        """The same of rows that follow from each other, as those of a block: an interrupt, or a full disk, leaves all
        of them in the file or none."""
        made = [new_row(**row) for row in rows]  # raises for an invalid row, whatever the file does
        first = made[0]["kind"] == "environment"
        if first:
            self._environment = made[0]["env_hash"]
        if self.store is not None:
            try:
                self.store.append_all(made)
                self._all_written()
            except ResultsError as error:
                if first and not self.rows:
                    raise
                self._forget_held()
                self.notes.append(f"{_HELD}: {error}")
                if not self._reason:  # at once: there may be hours to free some space in
                    warnings.warn(f"{_HELD} and tried again: {error}", stacklevel=2)
                self._reason = _reason(error)
        self.rows += made
        self._tell_of_others()
        return made

    def _tell_of_others(self) -> None:
        """Notes and warns, once, that another run writes to the file."""
        for found in self.store.problems if self.store is not None else ():
            if found.reason in (SHARED, REMOVED) and str(found) not in self.notes:
                self.notes.append(str(found))
                warnings.warn(str(found), stacklevel=3)

    def clock_of(self, fields: Row) -> Clock | None:
        """The clock of stored rows that are of these fields but for the clock; None without any."""
        clocks: tuple[Clock, ...] = ("event", "batch")
        keys = {resume_key(fields | {"clock": clock}): clock for clock in clocks}
        rows = self.store.latest() if self.store else []
        return next((keys[row["key"]] for row in rows if row["key"] in keys), None)

    def block_clock(self, baseline: Row) -> Clock | None:
        """The clock of stored blocks that a comparison with this baseline (its fields) goes on from; None without any,
        and for blocks of before comparisons had one clock and a clone."""
        clocks: tuple[Clock, ...] = ("event", "batch", "wall")
        keys = {resume_key(baseline | {"clock": clock}): clock for clock in clocks}
        rows = self.store.latest() if self.store else []
        clones = (row for row in rows if (row["kind"], row["role"], row["status"]) == ("block", "clone", "ok"))
        return next((keys[row["key"]] for row in clones if row["key"] in keys), None)

    def found(self, key: str, kind: Kind = "search") -> Row | None:
        """The stored row of this key and kind, if its result stands here; it joins the rows of this study. It is
        written anew where the file has a newer one of its configuration, as of an edit that was taken back: the last
        counts."""
        if self.store is None or not self.store.done(key, kind=kind):
            return None
        row = next((row for row in self.store.latest() if row["key"] == key and row["kind"] == kind), None)
        if row is None or not self._is_of_here(row):  # None: an edited file, whose ids are not of its keys
            return None
        if self._is_replaced(row):
            return self.keep(row)
        self.rows.append(row)
        return row

    def _is_replaced(self, row: Row) -> bool:
        """Whether the file has a newer row of the same configuration that tells another result: of its kind, a failure,
        or of another code."""
        for other in reversed(self.store.rows() if self.store else []):
            if other["row_id"] == row["row_id"]:
                return False
            told = other["status"] != "ok" or code_of(other) != code_of(row)
            says = other["kind"] == row["kind"] or (told and other["kind"] != "energy")
            if says and other["configuration"] == row["configuration"] and identity(other) == identity(row):
                return True
        return False

    def blocks(
        self,
        keys: set[str],
        baseline: Row,
        ceiling_sizes: Mapping[str, int] | None,
        *,
        host: Row | None = None,
        cloned: bool = False,
    ) -> dict[int, list[Row]]:
        """Stored blocks, by number, that hold a good row of each of these keys, all of them taken against ``baseline``
        (its fields); the ceilings of these sizes come along. ``host`` are the fields of the baseline by the host's
        clock, ``cloned`` is whether it has a clone: blocks without visits of theirs are not whole then.

        A block with another baseline holds other ratios, one of another profile other bounds. Which ceilings were the
        fastest may differ from run to run; a block's shares of its bound are in its rows. All are of this environment:
        blocks of two never go into one interval. All of a block's rows are of one pass: another selection that went on
        in the file has replaced the baseline's.
        """
        passes = self._passes()
        good = [
            row
            for row in (self.store.latest() if self.store else [])
            if (row["kind"], row["status"], row["baseline"]) == ("block", "ok", baseline["configuration"])
            and (row["role"] == "ceiling" or row["profile"] == baseline.get("profile"))
        ]
        sentinels = {resume_key(fields) for fields in (baseline, host) if fields is not None}
        alike = {_where(row) for row in good if row["key"] in keys}
        found: dict[int, list[Row]] = {}
        for row in good:
            beside = row["role"] == "ceiling" and row["sizes"] == ceiling_sizes and _where(row) in alike
            wanted = row["key"] in keys | sentinels or beside
            if row["block"] is not None and wanted and self._is_of_here(row):
                found.setdefault(row["block"], []).append(row)

        def whole(rows: list[Row]) -> bool:
            visited = {row["key"] for row in rows if row["role"] not in ("sentinel", "clone")}
            beside = {row["key"] for row in rows if row["role"] == "sentinel"}
            has_clone = any(row["role"] == "clone" for row in rows)
            return keys <= visited and sentinels <= beside and has_clone >= cloned

        def of_last_pass(rows: list[Row]) -> list[Row]:
            last = max((passes[row["row_id"]] for row in rows if row["key"] in keys), default=None)
            of_it = [row for row in rows if passes[row["row_id"]] == last]
            return sorted(of_it, key=lambda row: row["order"] or 0)

        last = {number: of_last_pass(rows) for number, rows in found.items()}
        return {number: rows for number, rows in last.items() if whole(rows)}

    def _passes(self) -> dict[str, int]:
        """The pass that each stored visit is of, by its row's id: a block begins with a visit of the baseline."""
        passes, number = {}, 0
        for row in self.store.rows() if self.store else []:
            if row["kind"] == "block":
                number += row["role"] == "sentinel" and row["order"] == 0
                passes[row["row_id"]] = number
        return passes

    def _is_of_here(self, row: Row) -> bool:
        """Whether a stored row is of this environment; one that is not is remembered for :meth:`note_earlier_runs`."""
        here = row["env_hash"] == self._environment or self._environment is None
        if not here:
            self._elsewhere[row["row_id"]] = row["env_hash"]
        return here

    def note_earlier_runs(self) -> None:
        """Says what of this study an earlier run measured, and what is in the file but of another environment."""
        if taken := taken_over(self.rows, self.began_utc):
            self.notes.append(
                f"{taken}: an earlier run measured them in this environment, and its file gave them; "
                "a fresh file (`--fresh`) measures everything now"
            )
        if self._elsewhere and self.store is not None:
            others = list(dict.fromkeys(self._elsewhere.values()))
            differ = told_differences([*self.store.latest(), *self.rows], others[-1], self._environment)
            self.notes.append(
                f"{len(self._elsewhere)} stored rows of the same measurements are of another environment"
                f"{f' ({differ})' if differ else ''}: they were not continued, everything was measured anew"
            )

    def finish(self) -> None:
        """Tries once more to write the rows that could not be written."""
        if self.store is not None and self.store.unsaved:
            try:
                self.store.flush()
                self._all_written()
            except ResultsError as error:
                self._reason = _reason(error)  # the note stands; it says which file

    def handed_over(self, study: S) -> S:
        """The study that was made of these rows. Raises UnsavedRowsError, which has it, where the file lacks some."""
        if self.store is not None and self.store.unsaved:
            raise UnsavedRowsError(study, self.store, self._reason, len(self.rows))
        return study

    def _all_written(self) -> None:
        """What was held was written with it: the next full disk is told anew."""
        if self._reason:
            self._forget_held()
            self._reason = ""

    def _forget_held(self) -> None:
        self.notes = [note for note in self.notes if not note.startswith(_HELD)]


def _reason(error: ResultsError) -> str:
    cause = error.__cause__
    return str((cause.strerror if isinstance(cause, OSError) else None) or error)


def _where(row: Row) -> tuple[object, ...]:
    """The fields that all rows of one comparison have in common, those of ceilings too."""
    names = ("problem", "data", "device", "unit", "driver", "protocol", "cache_state")
    return tuple(field(row, name) for name in names)


def interrupted_note(is_stored: bool) -> str:
    """What a study says that was interrupted."""
    told = "interrupted: what was finished is here"
    return f"{told} and in the file; the same call goes on from there" if is_stored else told
