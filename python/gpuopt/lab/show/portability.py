"""How well configurations carry over from one device to others.

The efficiency of a configuration on a device is the fastest time there divided by its own. Performance portability is
the harmonic mean of its efficiencies, and 0 where it does not run on one of the devices: Pennycook, Sewall and Lee, "A
Metric for Performance Portability" (2016). The cascade, efficiencies from the best device to the worst, is Sewall et
al., "Interpreting and Visualizing Performance Portability Metrics" (2020)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.pairs import elsewhere
from gpuopt.lab.rows.ratios import other_environment
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.schema import field as field_of
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.certainty import refusals
from gpuopt.lab.show.header import dotted

if TYPE_CHECKING:
    from gpuopt.lab.show.style import Picture

SHOWN = 6  # configurations in a picture
LISTED = 12  # names in a message
_DEVICE = ("device", "platform", "driver", "unit")  # what tells one device from another


@checked
@dataclass(frozen=True)
class Portability:
    """Efficiencies by configuration and device, parts of 1; ``best`` is each device's fastest configuration. Devices
    are in the order of the studies. ``refused`` says of a device why no verdict is given there, where its rows have
    none: it was too busy or too noisy. Raises ParameterError for unknown names, parts that are not above 0 and at most
    1, and a ``best`` that another one outruns. Scores are those of Pennycook, Sewall and Lee (2016), the cascade is
    that of Sewall et al. (2020).

    Examples
    --------
    >>> parts = {"a": {"one": 1.0, "two": 0.25}, "b": {"one": 0.5, "two": 1.0}}
    >>> found = lab.Portability("tmv 4096", ("one", "two"), parts, best={"one": "a", "two": "b"})
    >>> found.score("a"), found.moved("one", to="two")
    (0.4, 0.25)
    >>> found.cascade("a"), found.ranked, found.letters
    ([('one', 1.0), ('two', 0.25)], ['b', 'a'], {'one': 'A', 'two': 'B'})
    >>> type(found.picture()).__name__
    'Picture'
    """

    problem: str
    devices: tuple[str, ...]
    efficiency: Mapping[str, Mapping[str, float]]
    best: Mapping[str, str]
    refused: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.devices:
            raise ParameterError("devices: there are none; name at least one")
        if len(set(self.devices)) < len(self.devices):
            raise ParameterError("devices: one stands there twice; name each once")
        for device in self.refused:
            self._known("refused", device, self.devices)
        for device in self.devices:
            if self.best.get(device) not in self.efficiency:
                raise ParameterError(f"best: {device} has none; give one of the configurations of efficiency")
        for configuration, found in self.efficiency.items():
            for device, part in found.items():
                self._known("efficiency", device, self.devices)
                if not 0 < part <= 1:
                    raise ParameterError(
                        f"efficiency: {configuration} has {part} on {device}; give parts of 1, above 0"
                    )
                if part > self.efficiency[self.best[device]].get(device, 0):
                    raise ParameterError(f"best: {configuration} is faster on {device} than {self.best[device]}")

    def _known(self, argument: str, name: str, names: Collection[str]) -> None:
        """Raises ParameterError for a name that is none of these."""
        if name not in names:
            listed = ", ".join([*names][:LISTED]) + (", ..." if len(names) > LISTED else "")
            raise ParameterError(f"{argument}: there is no {name!r}; there are {listed}")

    def score(self, configuration: str) -> float:
        """Pennycook's: the harmonic mean over all devices, 0 where it ran on fewer. Raises ParameterError for an
        unknown configuration."""
        self._known("configuration", configuration, self.efficiency)
        found = self.efficiency[configuration]
        if any(device not in found for device in self.devices):
            return 0.0
        return len(self.devices) / sum(1 / found[device] for device in self.devices)

    @property
    def ranked(self) -> list[str]:
        """The configurations, the most portable first."""
        return sorted(self.efficiency, key=lambda one: (-self.score(one), one))

    def moved(self, of: str, to: str) -> float | None:
        """What the fastest configuration of one device keeps on another; None where it was not measured there. Raises
        ParameterError for an unknown device."""
        self._known("of", of, self.devices)
        self._known("to", to, self.devices)
        return self.efficiency[self.best[of]].get(to)

    def cascade(self, configuration: str) -> list[tuple[str, float]]:
        """Devices with its efficiency there, the best first; 0 where it did not run. Raises ParameterError for an
        unknown configuration."""
        self._known("configuration", configuration, self.efficiency)
        found = self.efficiency[configuration]
        return sorted(((device, found.get(device, 0.0)) for device in self.devices), key=lambda pair: -pair[1])

    @property
    def letters(self) -> dict[str, str]:
        """What tables and pictures call each device: A, B, C, and numbers beyond 26."""
        return {one: chr(65 + at) if len(self.devices) <= 26 else str(at + 1) for at, one in enumerate(self.devices)}

    def _score_told(self, configuration: str) -> str:
        ran = len(self.efficiency[configuration])
        whole = ran == len(self.devices)
        return f"{self.score(configuration):.3f}" if whole else f"0, for it has times of {ran} of {len(self.devices)}"

    def __str__(self) -> str:
        wide = max(24, *(len(one) for one in self.efficiency)) if self.efficiency else 24
        heads = "  ".join(f"{name:>8}" for name in self.letters.values())
        lines = [f"Portability · {self.problem}", *(f"{name}: {device}" for device, name in self.letters.items())]
        lines += [f"NO VERDICTS on {self.letters[device]}: {why}" for device, why in self.refused.items()]
        lines += ["", f"{'configuration':{wide}}  {'score':>6}  {heads}"]
        for one in self.ranked:
            shown = _cells(self.efficiency[one].get(device) for device in self.devices)
            lines.append(f"{one:{wide}}  {self.score(one):6.3f}  {shown}")
        if any(len(found) < len(self.devices) for found in self.efficiency.values()):
            lines.append("-: there is no time of it; the score counts that as not running there.")
        lines += ["", "What the fastest configuration of a device (a line) keeps on the others:"]
        for device, name in self.letters.items():
            shown = _cells(self.moved(device, other) for other in self.devices)
            lines.append(f"{name + ': ' + self.best[device]:{wide + 8}}  {shown}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def picture(self) -> Picture:
        """The cascade of the most portable configurations and of each device's own fastest, of six in all. Letters are
        devices; a line ends where there are no more times."""
        from gpuopt.lab.show.canvas import CYCLE, MARKERS, decorate
        from gpuopt.lab.show.style import Picture

        every = list(dict.fromkeys([*self.best.values(), *self.ranked]))
        chosen = every[:SHOWN]
        picture = Picture(figsize=(8, 3.6 + 0.2 * (len(chosen) + len(self.devices))), layout="constrained")
        ax = picture.subplots()
        for number, one in enumerate(chosen):
            found = [(device, 100 * part) for device, part in self.cascade(one) if part > 0]
            style: dict[str, Any] = {"color": CYCLE[number % len(CYCLE)], "marker": MARKERS[number % len(MARKERS)]}
            label = f"{one}: {self._score_told(one)}"
            ax.plot(range(1, len(found) + 1), [part for _, part in found], label=label, **style)
            for at, (device, part) in enumerate(found, 1):
                place, aside = (at, part), (6 + 9 * number, 6)
                ax.annotate(
                    self.letters[device], place, aside, textcoords="offset points", color=style["color"], size=8
                )
        ax.set_xticks(range(1, len(self.devices) + 1))
        ax.set_xlim(0.8, len(self.devices) + 0.3)
        ax.set_ylim(0, 110)
        ax.set_xlabel("devices, each line's best first")
        ax.set_ylabel("% of the device's fastest")
        ax.set_title(f"Portability · {self.problem}", loc="left", fontsize=10, fontweight="bold")
        decorate(ax)
        devices = [
            f"{name}: {device}{' (no verdicts)' if device in self.refused else ''}"
            for device, name in self.letters.items()
        ]
        left = f" ({len(every) - SHOWN} more are not drawn)" if len(every) > SHOWN else ""
        told = "\n".join([*devices, f"configuration: score{left}"])
        picture.legend(
            loc="outside lower left", fontsize=8, frameon=False, title=told, title_fontsize=8, alignment="left"
        )
        return picture


def _cells(parts: Iterable[float | None]) -> str:
    return "  ".join(f"{'-' if part is None else f'{100 * part:.1f} %':>8}" for part in parts)


@checked
def portability(studies: Iterable[StudyRows]) -> Portability:
    """How well configurations carry over between the devices of studies of one problem, two devices at least.

    Configurations are compared by their text, so measure the same ones everywhere. Two units of one model are two
    devices, and so is one under two drivers; their names say which. Raises ParameterError for studies of several
    problems, states of caches, of a single device, of one on which nothing has a time, and of one whose times are of
    several environments or of two codes of a baseline, which are not held against each other.

    Examples
    --------
    >>> row = {"kind": "summary", "role": "variant", "status": "ok", "variant": "naive"}
    >>> times = {("one", "a"): 1.0, ("one", "b"): 2.0, ("two", "a"): 4.0, ("two", "b"): 1.0}
    >>> found = lab.portability([lab.Study(row | {"device": device, "configuration": name, "median_ms": time}
    ...                                    for (device, name), time in times.items())])
    >>> found.ranked, found.cascade("a")
    (['b', 'a'], [('one', 1.0), ('two', 0.25)])
    """
    groups = [group for study in studies for group in study.groups()]
    problems = {tuple(group.first[name] for name in ("workload", "problem", "dtype", "data")) for group in groups}
    if len(problems) != 1:
        names = sorted(str(problem[1]) for problem in problems)
        told = ", ".join(names if len(set(names)) > 1 else [*names[:1], *("other data" for _ in names[1:])]) or "none"
        raise ParameterError(f"studies: they are of {told}; give studies of one problem")
    _refuse_states(groups)
    times: dict[str, dict[str, float]] = {}
    refused: dict[str, str] = {}
    for where, rows in _by_device(groups).items():
        held = times.setdefault(where, {})
        timed = _timed(rows)
        if any(other_environment(row, timed[0]) for row in timed):
            raise ParameterError(
                f"studies: on {where} the times are of several environments, and are not held against each other; give "
                "rows of one"
            )
        for row in timed:
            one = str(row["configuration"])
            held[one] = min(held.get(one, float("inf")), time_ms(row))
        if why := refusals(rows):
            refused[where] = why
    for replaced in filter(None, (elsewhere(group, row) for group in groups for row in _timed(group.rows))):
        raise ParameterError(f"studies: times are {replaced}, as before and after an edit; measure all of them again")
    for where in [where for where, held in times.items() if not held]:
        raise ParameterError(f"studies: on {where} no configuration has a time; leave its study out")
    if len(times) < 2:
        raise ParameterError("studies: they are of a single device; give studies of at least two")
    fastest = {device: min(held, key=held.__getitem__) for device, held in times.items()}
    found: dict[str, dict[str, float]] = {}
    for device, held in times.items():
        for one, time in held.items():
            found.setdefault(one, {})[device] = held[fastest[device]] / time
    return Portability(str(groups[0].first["problem"]), tuple(times), found, fastest, refused)


def _by_device(groups: Sequence[Group]) -> dict[str, list[Row]]:
    """The rows of each device by its name, to which driver and unit are added where they tell several apart."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for group in groups:
        found.setdefault(tuple(str(field_of(group.first, key) or "") for key in _DEVICE), []).extend(group.rows)

    def named(device: tuple[str, ...]) -> str:
        alike = [other for other in found if other[:2] == device[:2]]
        facts = zip(_DEVICE[2:], device[2:], zip(*(other[2:] for other in alike), strict=True), strict=True)
        return dotted([*device[:2], *(f"{key} {own or 'unknown'}" for key, own, all_ in facts if len({*all_}) > 1)])

    return {named(device): rows for device, rows in found.items()}


def _refuse_states(groups: Sequence[Group]) -> None:
    """Raises ParameterError for times of several states of the caches, which say nothing of each other."""
    states = sorted({row["cache_state"] for group in groups for row in _timed(group.rows) if row["cache_state"]})
    if len(states) > 1:
        raise ParameterError(f"studies: their times are of {' and '.join(states)} caches; give those of one state")


def _timed(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["role"] == "variant" and row["status"] == "ok" and row["kind"] == "summary"]
