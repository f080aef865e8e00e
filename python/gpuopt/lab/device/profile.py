"""A device's profile: its measured ceilings, which percentages of a bound divide by, and the levels of its caches.

Profiles are kept a physical device and driver in the user's cache and are plain JSON. They remember the ceilings of
earlier sittings, which tell how far those of the next one may lie apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from gpuopt import files, sealed
from gpuopt._core import Device, Error, ParameterError
from gpuopt.checked import checked
from gpuopt.lab.device.environment import device_label, slug
from gpuopt.lab.device.levels import Level
from gpuopt.lab.device.sittings import MOST, Sitting, is_number, spread
from gpuopt.lab.report import Study
from gpuopt.lab.rows import compact
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import Column, Line, Sheet, byte_count, significant
from gpuopt.lab.rows.table import spread as with_interval
from gpuopt.lab.timing.sittings import Spread
from gpuopt.selection import Selector, select
from gpuopt.signals import let_through
from gpuopt.unit import has_twins, unit_of

SCHEMA = 4  # of schema 1 the rows were whole, before 3 there was one sitting, before 4 no checksum; all are read

_UNSEALED = "0" * 64  # where the checksum will stand


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


@checked
@dataclass(frozen=True)
class Profile:
    """Ceilings by name, cache levels (the last is memory, of no size), and the points behind them.

    Names: ``dram.read``, ``dram.write``, ``dram.copy``, ``dram.triad``, ``cache1`` and on (the levels of reading, the
    fastest first), ``l1``, ``local``, ``constant``, ``image``, ``fetch``, ``fetch.linear``, ``taps`` (means of
    four pixels by loads), ``float32`` and other dtypes (multiply-adds),
    ``mma_fp16``, ``mma_bf16``, ``mma_tf32`` (multiply-adds of tensor cores, where PTX reaches them), the special
    functions and integer operations, ``latency.*`` in ns, ``launch`` in us, ``upload``, ``download``.

    ``sittings`` are the latest ones, this one last. ``refused`` says by name which ceilings of the latest sitting were
    not kept, and why; what an earlier one found then stands. ``unit`` tells equal devices apart. A rate
    is in its ceiling's ``unit``: GB/s, GFLOP/s, billions of something a second, ns or us. Raises ParameterError for
    rates that are not above 0, and for numbers that are not finite.

    Examples
    --------
    >>> from gpuopt.lab.device.profile import Ceiling
    >>> read = Ceiling(20.3, "GB/s", "read(AHEAD=4)")
    >>> made = lab.Profile("A device", "1.0", "A platform", "2026-11-21", "0.1.0", {"dram.read": read})
    >>> made.rate("dram.read"), made.rate("local")
    (20.3, None)
    >>> lab.Profile.from_json(made.to_json()).rate("dram.read")
    20.3
    >>> made.between("dram.read")  # of one sitting, nothing is known between sittings
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

    def __post_init__(self) -> None:
        _check_numbers(self)

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
        before = earlier._all_sittings() if earlier is not None else ()
        return replace(self, sittings=(*before, *self._all_sittings())[-MOST:])

    def _all_sittings(self) -> Sequence[Sitting]:
        """Its sittings; of one that was made without any its ceilings are those of one."""
        return self.sittings or (self.sitting(),)

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
        facts = {
            "schema": SCHEMA,
            sealed.CHECKSUM: _UNSEALED,
            **asdict(replace(self, rows=(), sittings=self._all_sittings())),
        }
        del facts["rows"]  # they come last
        head, end = json.dumps(facts | {"rows": []}, allow_nan=False, indent=1, default=float).rsplit("]", 1)
        lines = ",\n".join(f"  {line}" for line in compact.compact(self.rows))
        text = f"{head}\n{lines}\n ]{end}"
        return text.replace(_UNSEALED, sealed.digest(json.loads(text)), 1)

    @classmethod
    def from_json(cls, text: str | bytes) -> Profile:
        """The profile that ``to_json`` wrote. Raises ParameterError for any other text."""
        try:
            held = sealed.parsed(text, SCHEMA)
            if type(schema := held.pop("schema")) is not int or not 1 <= schema <= SCHEMA:
                raise ValueError(f"its schema is {schema!r}, this gpuopt reads those up to {SCHEMA}")
            if held.pop(sealed.CHECKSUM, None) is None and schema >= 4:
                raise ValueError("it has no checksum")
            held["rows"] = tuple(compact.read(held["rows"]))
            held["sittings"] = tuple(Sitting(**sitting) for sitting in held.get("sittings", ()))
            held["ceilings"] = {name: Ceiling(**ceiling) for name, ceiling in held["ceilings"].items()}
            held["levels"] = tuple(
                Level(**{**level, "between": level["between"] and tuple(level["between"])}) for level in held["levels"]
            )
            read = cls(**held)
            _check_texts(read)
            return replace(read, sittings=read._all_sittings())
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, Error) as error:
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
        count = len(self.sittings)
        header = [
            f"profile · {self.device} · driver {self.driver}",
            f"gpuopt {self.gpuopt_version} · {self.date} · {count} sitting{'' if count == 1 else 's'}",
        ]
        footers = [("cache levels, by reading ever larger sets", "; ".join(levels))]
        footers += [(f"{name} was not kept", reason) for name, reason in self.refused.items()]
        return Sheet(columns, header, [("", lines)], footers)

    def __repr__(self) -> str:
        return self._sheet().text()

    def _repr_html_(self) -> str:
        return self._sheet().html()


def _check_texts(read: Profile) -> None:
    """Raises ValueError unless each text is one: earlier files have no checksum."""
    texts = [read.device, read.driver, read.platform, read.date, read.gpuopt_version, read.unit or ""]
    texts += [text for made in read.ceilings.values() for text in (made.unit, made.configuration)]
    texts += [text for each in read.sittings for text in (each.time_utc, each.driver, each.unit or "")]
    texts += [text for refused in read.refused.items() for text in refused]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("a text of another type")


def _check_numbers(made: Profile) -> None:
    """Raises ParameterError unless each rate is a number above 0, and whatever else is a number is finite."""
    rates = [(f"ceilings: {name}", each.rate) for name, each in made.ceilings.items()]
    rates += [(f"sittings: {name}", rate) for each in made.sittings for name, rate in each.rates.items()]
    rates += [("levels: rate_gb_s", level.rate_gb_s) for level in made.levels]
    others: list[tuple[str, object]] = [
        (f"ceilings: {name}, {field}", getattr(each, field))
        for name, each in made.ceilings.items()
        for field in ("lo", "hi", "apart")
    ]
    for level in made.levels:
        others += [("levels: bytes", level.bytes), ("levels: lo", level.lo), ("levels: hi", level.hi)]
        others += [("levels: between", size) for size in level.between or ()]
    for what, rate in rates:
        if not is_number(rate) or rate <= 0:
            raise ParameterError(f"{what} is {rate!r}; give a number above 0")
    for what, value in others:
        if value is not None and not is_number(value):
            raise ParameterError(f"{what} is {value!r}; give a finite number")


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
    return sealed.folder("profiles")


def _bare(label: str) -> str:
    """A device's label without the number of one of several equal devices."""
    return re.sub(r" #\d+$", "", label)


def save(made: Profile, path: str | Path) -> Path:
    """Writes it in one step: readers and a full disk find the file whole. Raises WriteError, which has it, where it
    cannot."""
    with files.holding(made):
        sealed.made(Path(path).parent)
        sealed.replaceable(Path(path), SCHEMA)
        files.write(path, [made.to_json().encode()], way_out=files.OTHER_CACHE)
    return Path(path)


def load(path: str | Path, device: Selector = None) -> Profile:
    """The profile in a file; with ``device``, refused by name where it is another's. Raises ParameterError."""
    files.refuse_irregular("path", path)
    try:
        found = Profile.from_json(Path(path).read_bytes())
    except OSError as error:
        let_through(error)
        raise ParameterError(f"path: {path} cannot be read ({error.strerror})") from error
    if device is not None:
        found.check_is_of(select(device))
    return found


def stored(device: Device) -> Profile | None:
    """The kept profile of this device and driver, None without a good one; a damaged file is set aside with a warning.
    One that an earlier version kept counts where this machine has a single device of the name."""
    for path in (path_of(device), _earlier_path_of(device)):
        if (content := sealed.read(path)) is None:
            continue
        try:
            found = _read(content)
        except ParameterError as error:
            sealed.set_aside(path, content, error)
            continue
        with suppress(ParameterError):
            found.check_is_of(device)
            return found
    return None


@lru_cache(maxsize=4)
def _read(content: bytes) -> Profile:
    """The profile in a file: each sweep asks for it, and reading one of many sittings takes a while."""
    return Profile.from_json(content)


def absent(device: Device) -> str:
    """What to say where this device and driver have no profile."""
    aside = f" (a damaged one was set aside as {found[-1].name})" if (found := damaged(device)) else ""
    return f"this device has no profile{aside}: bounds are those of memory alone; `gpuopt profile` measures the others"


def damaged(device: Device) -> list[Path]:
    """Profiles of this device and driver that were set aside."""
    path = path_of(device)
    return sorted(path.parent.glob(f"{path.stem}-[0-9]*{path.suffix}"))
