"""What a sweep says of an entry: ratios to the bug, verdicts, and whether the predictions were right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.ratios import Ratio, ratio_between
from gpuopt.lab.rows.schema import Row
from gpuopt.workloads.casebook.entry import DeviceClass, Entry, Prediction, Version
from gpuopt.workloads.casebook.programs import call_name

Verdict = Literal["confirmed", "inverted here", "no effect here", "undecided", "refused", "not measured"]
_OF_FIXES: dict[str | None, Verdict] = {
    "FAST": "confirmed",
    "SLOW": "inverted here",
    "SAME": "no effect here",
}


@dataclass(frozen=True)
class Program:
    """The whole call of a version beside that of its bug, by the host's clock: their rows, and the ratio of times. No
    number of it is one of a kernel."""

    row: Row
    bug: Row
    ratio: Ratio

    @property
    def verdict(self) -> Verdict:
        """As of a finding."""
        return _OF_FIXES.get(self.ratio.verdict, "undecided")


@dataclass(frozen=True)
class Finding:
    """One version of an entry beside its bug.

    ``row`` and ``bug`` are the sweep's rows of the two, ``ratio`` that of their times, None where one of them has no
    time; ``reason`` then says why, or why nothing is decided. ``program`` is of the whole call, None where the entry
    has none or it was not measured.
    """

    entry: Entry
    version: Version
    device_class: DeviceClass
    row: Row | None = None
    bug: Row | None = None
    ratio: Ratio | None = None
    reason: str = ""
    program: Program | None = None

    @property
    def verdict(self) -> Verdict:
        """By the lab's verdict: ``confirmed`` where it is faster than the bug, ``inverted here`` where it is slower,
        ``no effect here`` within 5 %; else ``undecided``. ``refused`` is what the entry says to be wrong and was found
        so, ``not measured`` is where one of the two did not run."""
        if self.version.kind == "wrong" and self.row is not None and self.row["status"] == "wrong":
            return "refused"
        if self.ratio is None:
            return "not measured"
        return _OF_FIXES.get(self.ratio.verdict, "undecided")

    @property
    def predicted(self) -> Prediction | None:
        """What the entry predicted for this class of device."""
        return self.version.predicted.get(self.device_class)

    @property
    def right(self) -> bool | None:
        """Whether the prediction was right; None where nothing is decided, or nothing was predicted."""
        decided = self.ratio is not None and self.ratio.verdict in _OF_FIXES
        if not decided or self.predicted is None or self.ratio is None:
            return None
        return self.predicted.word == self.ratio.verdict

    def to_json(self) -> dict[str, Any]:
        """Everything as one flat record; times in ms, ``gain`` is the bug's time over this one's."""
        ratio, row, bug = self.ratio, self.row or {}, self.bug or {}
        whole = self.program.ratio if self.program else None
        return {
            "entry": self.entry.id,
            "name": self.entry.name,
            "category": self.entry.category,
            "project": self.entry.project,
            "bug": self.entry.bug.name,
            "version": self.version.name,
            "kind": self.version.kind,
            "device": row.get("device") or bug.get("device"),
            "device_class": self.device_class,
            "bug_ms": bug.get("median_ms"),
            "version_ms": row.get("median_ms"),
            "gain": 1 / ratio.mid if ratio else None,
            "gain_lo": 1 / ratio.hi if ratio and ratio.hi else None,
            "gain_hi": 1 / ratio.lo if ratio and ratio.lo else None,
            "verdict": self.verdict,
            "program_gain": 1 / whole.mid if whole else None,
            "program_gain_lo": 1 / whole.hi if whole and whole.hi else None,
            "program_gain_hi": 1 / whole.lo if whole and whole.lo else None,
            "program_verdict": self.program.verdict if self.program else None,
            "predicted": self.predicted.word if self.predicted else None,
            "right": self.right,
            "explains": self.entry.explains,
            "paper": "; ".join(map(str, self.version.paper)),
            "reason": self.reason,
        }


def findings_of(entry: Entry, study: Study, labels: Sequence[str], device_class: DeviceClass) -> list[Finding]:
    """What the study of a sweep says of each version but the bug. ``labels`` are the versions' configurations as rows
    have them, the bug's first."""
    rows = {str(row["configuration"]): (row, group) for group in study.groups() for row in group.rows}
    bug, _ = rows.get(labels[0], (None, None))
    found = []
    for version, label in zip(entry.others, labels[1:], strict=True):
        row, group = rows.get(label, (None, None))
        if group is None or row is None or bug is None:
            reason = "interrupted" if study.interrupted else "; ".join(study.notes[-1:]) or "it was not measured"
            found.append(Finding(entry, version, device_class, row, bug, None, reason))
        elif failed := [each for each in (bug, row) if each["status"] != "ok"]:
            what = "the bug" if failed[0] is bug else version.name
            said = str(failed[0]["reason"]).removeprefix(f"{failed[0]['status']}: ")
            reason = f"{what}: {failed[0]['status']}: {said}"
            found.append(Finding(entry, version, device_class, row, bug, None, reason))
        else:
            ratio = ratio_between(group, row, bug)
            whole = _program(rows, entry.bug.name, version.name)
            found.append(Finding(entry, version, device_class, row, bug, ratio, ratio.refused or "", whole))
    return found


def _program(rows: dict[str, tuple[Row, Group]], bug: str, version: str) -> Program | None:
    """The two whole calls, where both were measured."""
    first, second = (rows.get(call_name(name)) for name in (bug, version))
    if first is None or second is None or any(row["status"] != "ok" for row, _ in (first, second)):
        return None
    return Program(second[0], first[0], ratio_between(second[1], second[0], first[0]))


def not_run(entry: Entry, device_class: DeviceClass, reason: str) -> list[Finding]:
    """What is said of an entry of which nothing could be run."""
    return [Finding(entry, version, device_class, reason=reason) for version in entry.others]
