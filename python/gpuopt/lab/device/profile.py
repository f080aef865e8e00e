"""A device's profile: its measured ceilings, which percentages of a bound divide by, and the levels of its caches.

Profiles are kept a physical device and driver in the user's cache and are plain JSON. They remember the ceilings of
earlier sittings, which tell how far those of the next one may lie apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from gpuopt import _core, files
from gpuopt._core import Device, ParameterError
from gpuopt.lab.device.environment import device_label, slug
from gpuopt.lab.device.levels import Level
from gpuopt.lab.device.sittings import MOST, Sitting, spread
from gpuopt.lab.report import Study
from gpuopt.lab.rows import compact
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.table import Column, Line, Sheet, byte_count, significant
from gpuopt.lab.rows.table import spread as with_interval
from gpuopt.lab.timing.sittings import Spread
from gpuopt.selection import Selector, select
from gpuopt.unit import has_twins, unit_of

SCHEMA = 3  # of schema 1 the rows were whole, before 3 there was one sitting; both are read


@dataclass(frozen=True)
class Ceiling:
    """The highest rate that was measured of one kind of work, its unit, and the kernel that reached it. ``lo`` and
    ``hi`` are its 95 % interval over the rounds of one sitting, ``apart`` how wide the middle half of them is, as a
    fraction."""

    rate: float
    unit: str
    configuration: str
    lo: float | None = None
    hi: float | None = None
    apart: float | None = None


@dataclass(frozen=True)
class Profile:
    """Ceilings by name, cache levels (the last is memory, of no size), and the points behind them.

    Names: ``dram.read``, ``dram.write``, ``dram.copy``, ``dram.triad``, ``cache1`` and on (the levels of reading, the
    fastest first), ``l1``, ``local``, ``constant``, ``image``, ``fetch``, ``fetch.linear``, ``taps`` (means of
    four pixels by loads), ``float32`` and other dtypes (multiply-adds),
    ``mma_fp16``, ``mma_bf16``, ``mma_tf32`` (multiply-adds of tensor cores, where PTX reaches them), the special
    functions and integer operations, ``latency.*`` in ns, ``launch`` in us, ``upload``, ``download``.

    ``sittings`` are the latest ones, this one last. ``refused`` says by name which ceilings of the latest sitting were
    not kept, and why; what an earlier one found then stands. ``unit`` tells equal devices apart.
    """

    device: str
    driver: str
    platform: str
    date: str
    gpuopt_version: str
    ceilings: Mapping[str, Ceiling]
    levels: Sequence[Level] = ()
    rows: Sequence[Row] = field(default=(), repr=False)
    sittings: Sequence[Sitting] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None  # of the physical device; earlier profiles have none

    def rate(self, name: str) -> float | None:
        """The ceiling's rate, None where it was not measured."""
        found = self.ceilings.get(name)
        return found.rate if found else None

    def between(self, ceiling: str) -> float | None:
        """The relative standard deviation (of logarithms) of a ceiling between sittings, None below two of them.

        Where few sittings have it, that of all ceilings of its kind. A resource such as "dram" stands for its kind.
        """
        found = self.spread_between(ceiling)
        return found.sd if found else None

    def spread_between(self, ceiling: str) -> Spread | None:
        """:meth:`between` with the number of sittings behind it; those of other units of this device do not count."""
        return spread([sitting for sitting in self.sittings if sitting.unit == self.unit], ceiling)

    @property
    def last_level_cache_bytes(self) -> int | None:
        """The knee of the largest cache, None where the sweep shows none."""
        sizes = [level.bytes for level in self.levels if level.bytes]
        return int(max(sizes)) if sizes else None

    @property
    def study(self) -> Study:
        """The points, as a study."""
        return Study(self.rows, {"name": "profile", "workload": "microbench"})

    def sitting(self) -> Sitting:
        """The ceilings as those of one sitting."""
        return Sitting(self.date, self.driver, {name: made.rate for name, made in self.ceilings.items()}, self.unit)

    def after(self, earlier: Profile | None) -> Profile:
        """This profile, of one sitting, with the latest sittings of an ``earlier`` one before it."""
        before = tuple(earlier.sittings) if earlier is not None else ()
        return replace(self, sittings=(*before, *(self.sittings or (self.sitting(),)))[-MOST:])

    def check_is_of(self, device: Device) -> None:
        """Raises ParameterError unless it was measured on this device with this driver. One without a unit may be of
        any device of the name: it counts where this machine has one of them alone."""
        here = (device_label(device), device.driver)
        if self.unit not in (None, unit_of(device)) or (self.unit is None and has_twins(device)):
            raise ParameterError(
                f"profile: it is of {f'unit {self.unit}' if self.unit else 'one of several equal devices'}, not of "
                f"unit {unit_of(device)} ({here[0]}): equal devices differ; run `gpuopt profile` for this one"
            )
        # The number of one of several equal devices depends on which others are visible; its unit does not.
        if (_bare(self.device), self.driver) != (_bare(here[0]), here[1]):
            raise ParameterError(
                f"profile: it is of {self.device} with driver {self.driver}, not of {here[0]} with driver {here[1]}; "
                "run `gpuopt profile` for this one"
            )

    def to_json(self) -> str:
        """Everything but the rows' samples, as JSON text; a row a line, as ``lab.rows.compact`` writes them."""
        facts = {"schema": SCHEMA, **asdict(replace(self, rows=(), sittings=self.sittings or (self.sitting(),)))}
        del facts["rows"]  # they come last
        head, end = json.dumps(facts | {"rows": []}, allow_nan=False, indent=1).rsplit("]", 1)
        lines = ",\n".join(f"  {line}" for line in compact.compact(self.rows))
        return f"{head}\n{lines}\n ]{end}"

    @classmethod
    def from_json(cls, text: str) -> Profile:
        """The profile that ``to_json`` wrote. Raises ParameterError for any other text."""
        try:
            held = json.loads(text)
            if (schema := held.pop("schema")) not in range(1, SCHEMA + 1):
                raise ValueError(f"its schema is {schema!r}, this gpuopt reads those up to {SCHEMA}")
            held["rows"] = tuple(compact.read(held["rows"]))
            held["sittings"] = tuple(Sitting(**sitting) for sitting in held.get("sittings", ()))
            held["ceilings"] = {name: Ceiling(**ceiling) for name, ceiling in held["ceilings"].items()}
            held["levels"] = tuple(
                Level(**{**level, "between": level["between"] and tuple(level["between"])}) for level in held["levels"]
            )
            if not all(
                isinstance(ceiling.rate, int | float) and ceiling.rate > 0 for ceiling in held["ceilings"].values()
            ):
                raise ValueError("a ceiling without a rate")
            read = cls(**held)
            return read if read.sittings else replace(read, sittings=(read.sitting(),))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ResultsError) as error:
            raise ParameterError(f"profile: the text holds none ({error}); run `gpuopt profile` again") from error

    def _sheet(self) -> Sheet:
        columns = (
            Column("name", "ceiling", ("",), "00000", right=False),
            Column("rate", "rate", ("[95 % CI within this sitting]", "[95 % CI]", "± CI", ""), "00123"),
            Column("unit", "", ("",), "00000", right=False),
            Column("between", "between", ("sittings",), "0000-"),
            Column("by", "reached by", ("",), "0----", right=False),
        )
        lines = [
            Line(
                {
                    "name": (name,),
                    "rate": _four(with_interval(ceiling.rate, ceiling.lo, ceiling.hi)),
                    "unit": (ceiling.unit,),
                    "between": ("-" if (sd := self.between(name)) is None else f"± {100 * sd:.2g} %",),
                    "by": (ceiling.configuration,),
                }
            )
            for name, ceiling in self.ceilings.items()
        ]
        levels = [
            f"{byte_count(level.bytes)} at {significant(level.rate_gb_s)} GB/s"
            if level.bytes
            else f"beyond them {significant(level.rate_gb_s)} GB/s"
            for level in self.levels
        ]
        header = [
            f"profile · {self.device} · driver {self.driver}",
            f"gpuopt {self.gpuopt_version} · {self.date} · {len(self.sittings)} sittings",
        ]
        footers = [("cache levels, by reading ever larger sets", "; ".join(levels))]
        footers += [(f"{name} was not kept", reason) for name, reason in self.refused.items()]
        return Sheet(columns, header, [("", lines)], footers)

    def __repr__(self) -> str:
        return self._sheet().text()

    def _repr_html_(self) -> str:
        return self._sheet().html()


def _four(forms: tuple[str, ...]) -> tuple[str, ...]:
    """The forms of a number with the first one twice, for two widths of the heading above it."""
    return (forms[0], *forms)


# ---------------------------------------------------------------- keeping


def path_of(device: Device) -> Path:
    """Where the profile of a physical device and driver lies."""
    return _folder() / f"{slug(device.name)}-{slug(device.driver)}-{unit_of(device)}.json"


def _earlier_path_of(device: Device) -> Path:
    """Where earlier versions kept it: under the device's name and number."""
    return _folder() / f"{slug(device_label(device))}-{slug(device.driver)}.json"


def _folder() -> Path:
    return Path(_core.cache_dir()) / "profiles"


def _bare(label: str) -> str:
    """A device's label without the number of one of several equal devices."""
    return re.sub(r" #\d+$", "", label)


def save(made: Profile, path: str | Path) -> Path:
    """Writes it in one step: readers and a full disk find the file whole. Raises WriteError where it cannot."""
    files.write(path, [made.to_json().encode()], make_folder=True, way_out=files.OTHER_CACHE)
    return Path(path)


def load(path: str | Path, device: Selector = None) -> Profile:
    """The profile in a file; with ``device``, refused by name where it is another's. Raises ParameterError."""
    try:
        found = Profile.from_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"path: {path} cannot be read ({error.strerror})") from error
    if device is not None:
        found.check_is_of(select(device))
    return found


def stored(device: Device) -> Profile | None:
    """The kept profile of this device and driver, None without a good one. One that an earlier version kept counts
    where this machine has a single device of the name."""
    for path in (path_of(device), _earlier_path_of(device)):
        if path.exists():
            with suppress(ParameterError):
                return load(path, device)
    return None
