"""A device's profile: its measured ceilings, which percentages of a bound divide by, and the levels of its caches.

Profiles are kept a device and driver in the user's cache and are plain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from gpuopt import _core, files
from gpuopt._core import Device, ParameterError
from gpuopt.lab.device.environment import device_label, slug
from gpuopt.lab.device.levels import Level
from gpuopt.lab.report import Study
from gpuopt.lab.rows import compact
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.table import Column, Line, Sheet, byte_count, significant, spread
from gpuopt.selection import Selector, select

SCHEMA = 2  # of schema 1 the rows were whole; read as well


@dataclass(frozen=True)
class Ceiling:
    """The highest rate that was measured of one kind of work, its unit and interval, and the kernel that reached it."""

    rate: float
    unit: str
    configuration: str
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Profile:
    """Ceilings by name, cache levels (the last is memory, of no size), and the points behind them.

    Names: ``dram.read``, ``dram.write``, ``dram.copy``, ``dram.triad``, ``cache1`` and on (the levels of reading, the
    fastest first), ``l1``, ``local``, ``constant``, ``image``, ``fetch``, ``fetch.linear``, ``taps`` (means of
    four pixels by loads), ``float32`` and other dtypes (multiply-adds),
    ``mma_fp16``, ``mma_bf16``, ``mma_tf32`` (multiply-adds of tensor cores, where PTX reaches them), the special
    functions and integer operations, ``latency.*`` in ns, ``launch`` in us, ``upload``, ``download``.
    """

    device: str
    driver: str
    platform: str
    date: str
    gpuopt_version: str
    ceilings: Mapping[str, Ceiling]
    levels: Sequence[Level] = ()
    rows: Sequence[Row] = field(default=(), repr=False)

    def rate(self, name: str) -> float | None:
        """The ceiling's rate, None where it was not measured."""
        found = self.ceilings.get(name)
        return found.rate if found else None

    @property
    def last_level_cache_bytes(self) -> int | None:
        """The knee of the largest cache, None where the sweep shows none."""
        sizes = [level.bytes for level in self.levels if level.bytes]
        return int(max(sizes)) if sizes else None

    @property
    def study(self) -> Study:
        """The points, as a study."""
        return Study(self.rows, {"name": "profile", "workload": "microbench"})

    def check_is_of(self, device: Device) -> None:
        """Raises ParameterError unless it was measured on this device with this driver."""
        here = (device_label(device), device.driver)
        if (self.device, self.driver) != here:
            raise ParameterError(
                f"profile: it is of {self.device} with driver {self.driver}, not of {here[0]} with driver {here[1]}; "
                "run `gpuopt profile` for this one"
            )

    def to_json(self) -> str:
        """Everything but the rows' samples, as JSON text; a row a line, as ``lab.rows.compact`` writes them."""
        facts = {"schema": SCHEMA, **asdict(replace(self, rows=()))}
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
            held["ceilings"] = {name: Ceiling(**ceiling) for name, ceiling in held["ceilings"].items()}
            held["levels"] = tuple(
                Level(**{**level, "between": level["between"] and tuple(level["between"])}) for level in held["levels"]
            )
            if not all(
                isinstance(ceiling.rate, int | float) and ceiling.rate > 0 for ceiling in held["ceilings"].values()
            ):
                raise ValueError("a ceiling without a rate")
            return cls(**held)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ResultsError) as error:
            raise ParameterError(f"profile: the text holds none ({error}); run `gpuopt profile` again") from error

    def _sheet(self) -> Sheet:
        columns = (
            Column("name", "ceiling", ("",), "0000", right=False),
            Column("rate", "rate", ("[95 % CI]", "± CI", ""), "0012"),
            Column("unit", "", ("",), "0000", right=False),
            Column("by", "reached by", ("",), "0---", right=False),
        )
        lines = [
            Line(
                {
                    "name": (name,),
                    "rate": spread(ceiling.rate, ceiling.lo, ceiling.hi),
                    "unit": (ceiling.unit,),
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
            f"gpuopt {self.gpuopt_version} · {self.date}",
        ]
        return Sheet(columns, header, [("", lines)], [("cache levels, by reading ever larger sets", "; ".join(levels))])

    def __repr__(self) -> str:
        return self._sheet().text()

    def _repr_html_(self) -> str:
        return self._sheet().html()


# ---------------------------------------------------------------- keeping


def path_of(device: Device) -> Path:
    """Where the profile of a device and driver lies."""
    return Path(_core.cache_dir()) / "profiles" / f"{slug(device_label(device))}-{slug(device.driver)}.json"


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
    """The kept profile of this device and driver, None without a good one."""
    path = path_of(device)
    if not path.exists():
        return None
    try:
        return load(path, device)
    except ParameterError:
        return None
