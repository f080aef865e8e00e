"""What comparisons of identical kernels showed on this machine, kept beside the device's profile: how small a
difference it can show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from gpuopt import files, sealed
from gpuopt._core import Device
from gpuopt.checked import methods_checked
from gpuopt.lab.device import profile
from gpuopt.lab.device.sittings import MOST, is_number
from gpuopt.lab.rows.table import Column, Line, Sheet, joined, significant
from gpuopt.lab.timing.fields import Clock

SCHEMA = 2  # of schema 1 there was no checksum
Launch = Literal["short", "long"]
STUDIED: tuple[tuple[Clock, Launch], ...] = (("event", "long"), ("batch", "short"))  # the clock that a study takes


@dataclass(frozen=True)
class Shown:
    """Comparisons of identical kernels on one clock, each kernel with buffers of its own.

    ``launch_ms`` is the time of one. ``false`` of them were called FAST or SLOW, ``same`` SAME, ``refused`` got no
    verdict. ``smallest`` is the difference, as a fraction, that nine of ten of them could have certified, None where no
    interval was reached.
    """

    clock: Clock
    launch: Launch
    launch_ms: float
    comparisons: int
    false: int
    same: int
    refused: int
    smallest: float | None


@methods_checked
@dataclass(frozen=True)
class AA:
    """How small a difference a machine could show on one date: a line for each clock and length of launch.

    ``conditions`` are those of the host, such as its load before and after; ``unit`` tells equal devices apart.
    """

    device: str
    driver: str
    platform: str
    time_utc: str
    gpuopt_version: str
    seconds: float
    shown: tuple[Shown, ...]
    conditions: Mapping[str, float | str | None] = field(default_factory=dict)
    unit: str | None = None

    def smallest(self, clock: Clock | None = None) -> float | None:
        """The smallest difference, as a fraction, that a quick study could certify by this clock; with None by the
        worse of both. Each clock stands for the launches that a study times by it: events for long ones, batches for
        short ones."""
        told = [
            one.smallest
            for one in self.shown
            if (one.clock, one.launch) in STUDIED and clock in (None, one.clock) and one.smallest is not None
        ]
        return max(told, default=None)

    def sentence(self) -> str:
        """`this machine could show 1.3 % on 2026-11-22`, for the header of a study."""
        found, date = self.smallest(), self.time_utc[:10]
        if found is None:
            return f"identical kernels could not be compared to the end on {date}"
        return f"this machine could show {_percent(found)} on {date}"

    def _sheet(self) -> Sheet:
        columns = (
            Column("clock", "clock", ("",), "00", right=False),
            Column("launch", "launches", ("",), "00", right=False),
            Column("count", "identical", ("pairs",), "00"),
            Column("false", "FAST or", ("SLOW",), "00"),
            Column("same", "SAME", ("",), "00"),
            Column("refused", "no", ("verdict",), "00"),
            Column("smallest", "smallest difference", ("to certify",), "00"),
        )
        lines = [
            Line(
                {
                    "clock": (one.clock,),
                    "launch": (f"{one.launch}, {significant(one.launch_ms * 1e3)} us",),
                    "count": (str(one.comparisons),),
                    "false": (f"{100 * one.false / one.comparisons:.0f} %" if one.comparisons else "-",),
                    "same": (f"{100 * one.same / one.comparisons:.0f} %" if one.comparisons else "-",),
                    "refused": (str(one.refused),),
                    "smallest": ("-" if one.smallest is None else _percent(one.smallest),),
                }
            )
            for one in self.shown
        ]
        conditions = joined([f"{name} {value}" for name, value in self.conditions.items() if value is not None])
        header = [
            f"identical kernels, each with its own buffers · {self.device} · driver {self.driver}",
            f"gpuopt {self.gpuopt_version} · {self.time_utc[:16]} · {self.seconds:.0f} s"
            + (f" · {conditions}" if conditions else ""),
        ]
        meaning = "what nine of ten of these comparisons, of a quick study each, could have called FAST or SLOW"
        return Sheet(columns, header, [("", lines)], [("", self.sentence()), ("smallest difference", meaning)])

    def __repr__(self) -> str:
        return self._sheet().text()

    def _repr_html_(self) -> str:
        return self._sheet().html()


def _percent(fraction: float) -> str:
    return f"{significant(100 * fraction, 2)} %"


# ---------------------------------------------------------------- keeping


def path_of(device: Device) -> Path:
    """Where those of a device and driver lie: beside its profile."""
    kept = profile.path_of(device)
    return kept.with_name(f"{kept.stem}-aa.json")


def save(made: AA, path: str | Path) -> Path:
    """Appends it to the file, whose latest twenty are kept. Raises WriteError, which has it, where it cannot."""
    with files.holding(made):
        sealed.made(Path(path).parent)
        sealed.locked(Path(path).parent, lambda: _append(made, Path(path)))
    return Path(path)


def _append(made: AA, path: Path) -> None:
    sealed.replaceable(path, SCHEMA)
    listed = [asdict(one) for one in [*history(path), made][-MOST:]]
    lines = ",\n".join(f"  {json.dumps(one, allow_nan=False)}" for one in listed)
    checksum = sealed.digest({"schema": SCHEMA, "comparisons": listed})
    text = f'{{"schema": {SCHEMA}, "{sealed.CHECKSUM}": "{checksum}", "comparisons": [\n{lines}\n]}}\n'
    files.write(path, [text.encode()], way_out=files.OTHER_CACHE)


def history(path: str | Path) -> list[AA]:
    """Those in a file, the oldest first; none where there is no file. A damaged one is set aside with a warning."""
    content = sealed.read(Path(path))
    if content is None:
        return []
    try:
        return _read_all(sealed.parsed(content, SCHEMA))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        sealed.set_aside(Path(path), content, error)
        return []


def _read_all(held: Any) -> list[AA]:
    """Those of a parsed file: of schema 1 it is a list, each with its schema, without a checksum."""
    if isinstance(held, dict):
        if held.keys() != {"schema", sealed.CHECKSUM, "comparisons"} or held["schema"] != SCHEMA:
            raise ValueError("its fields are not those of this version")
        return [_read(one) for one in held["comparisons"]]
    if any(one["schema"] != 1 for one in held):
        raise ValueError("its schema is none of this version's")
    return [_read({name: value for name, value in one.items() if name != "schema"}) for one in held]


def _read(held: dict[str, Any]) -> AA:
    read = AA(**held | {"shown": tuple(Shown(**one) for one in held["shown"])})
    texts = (read.device, read.driver, read.platform, read.time_utc, read.gpuopt_version, read.unit or "")
    numbers = [read.seconds]
    for one in read.shown:
        numbers += [one.launch_ms, one.comparisons, one.false, one.same, one.refused, one.smallest or 0.0]
        if one.clock not in ("event", "batch", "wall") or one.launch not in ("short", "long"):
            raise ValueError("a comparison of another kind")
    if not all(isinstance(text, str) for text in texts) or not all(map(is_number, numbers)):
        raise ValueError("a field of another type than comparisons have there")
    if not isinstance(read.conditions, dict):
        raise ValueError("conditions that are no mapping")
    return read


def last(device: Device) -> AA | None:
    """The latest of this device and driver, None where there is none."""
    every = history(path_of(device))
    return every[-1] if every else None
