"""A problem as a sweep takes it: inputs, a reference in double precision, a tolerance, and how a configuration is bound
to a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np

from gpuopt._core import Device, DeviceArray, Prepared
from gpuopt.configuration import Configuration


class Work(TypedDict, total=False):
    """The declared work of one run: bytes by class of memory, special functions by name, and what it does in the
    workload's own unit."""

    flops: float | None
    bytes: Mapping[str, float]
    special: Mapping[str, float]
    counted: Mapping[str, float]


def work_of(prepared: Prepared) -> Work:
    """The work that a plan declares; the count in the workload's own unit is the problem's."""
    declared = prepared.work
    return {"flops": declared["flops"], "bytes": declared["bytes"], "special": declared["special"]}


@dataclass(frozen=True)
class Bound:
    """A configuration built and bound to one problem's data on one device: sample ``prepared``, run ``proof`` where
    there is one, read ``output``."""

    prepared: Prepared
    output: DeviceArray
    proof: Prepared | None = None  # the same kernels, told to store what a timed run only computes
    doubled: Prepared | None = None  # the same with twice the work: it must take twice the time

    @property
    def work(self) -> Work:
        """Declared flops, special functions and bytes by memory class of one run."""
        return work_of(self.prepared)


def _identity(result: Any) -> np.ndarray:
    return np.asarray(result)


State = TypeVar("State")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Peer(Generic[State, Result]):
    """A competitor in a sweep.

    ``prepare(problem)`` makes its state (uploads, conversions: not timed). ``run(state)`` is one product, which returns
    only when it is done, unless ``sample(state, count, batch)`` gives ``count`` times in ms a product from a clock of
    its own, each of ``batch`` products queued one behind the other. ``fetch(result)`` turns its result into NumPy.
    ``platform`` says whose code it is. ``tolerance`` is what its result may be off by where that is more than the
    problem's own: of products of short numbers.
    """

    name: str
    prepare: Callable[[Problem], State]
    run: Callable[[State], Result]
    fetch: Callable[[Result], np.ndarray] = _identity
    sample: Callable[[State, int, int], list[float]] | None = None
    platform: str = "host"
    tolerance: Callable[[Problem], np.ndarray] | None = None


AnyPeer = Peer[Any, Any]  # peers of different libraries stand in one list


def _no_peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    return []


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs and reference of one workload at one size.

    ``reference`` is float64, ``tolerance`` the largest absolute error allowed for each of its elements. ``prepare``
    puts the data on a device (once) and binds a configuration to it, with an output of its own between guard zones.
    ``flops`` is what the rates of calls and peers count, None where these have none; ``flops_counted`` says which
    operations it counts. ``tolerance_of`` is asked instead of ``tolerance`` where configurations may round their
    inputs. ``calls`` are whole calls as a user makes them, by what the user writes: each makes, for a device, a
    function that returns the result as NumPy. ``traits`` are facts of the input that cost nothing to know, in the words
    of tuned records: what is tuned here is kept for such inputs alone.
    ``checked`` are the indices of the output's elements that ``reference`` and ``tolerance`` are of, None for all.
    ``tunable`` says whether a plain call may come to use a configuration, whatever the input; ``untuned`` is what it
    uses where no record fits ``traits``, None where one always does.
    ``family`` names the variants that answer it, of a workload of several questions.
    ``counted`` is what one run does in the workload's own unit, such as ``{"pair": 1e9}``: what its rate counts.
    ``peers(device, notes)`` makes the competitors that are installed and fit the device; ``notes`` receive why an
    installed one was left out.
    """

    workload: str
    name: str
    dtype: np.dtype[Any]
    sizes: Mapping[str, int]
    seed: int
    inputs: Mapping[str, Any]
    reference: np.ndarray
    tolerance: np.ndarray
    footprint_bytes: int
    prepare: Callable[[Configuration, Device], Bound]
    flops: float | None = None
    flops_counted: str = ""
    notes: list[str] = field(default_factory=list)
    tolerance_of: Callable[[Configuration], np.ndarray] | None = None
    calls: Mapping[str, Callable[[Device], Callable[[], np.ndarray]]] = field(default_factory=dict)
    traits: Mapping[str, object] = field(default_factory=dict)
    checked: np.ndarray | None = None
    counted: Mapping[str, float] = field(default_factory=dict)
    tunable: Callable[[Configuration], bool] = lambda configuration: True
    untuned: Configuration | None = None
    family: str = ""
    peers: Callable[[Device, list[str]], list[AnyPeer]] = _no_peers

    def seen(self, output: np.ndarray) -> np.ndarray:
        """The part of an output that ``reference`` holds the right values of."""
        return output if self.checked is None else output[self.checked]

    def tolerance_for(self, configuration: Configuration) -> np.ndarray:
        """The largest absolute error allowed for each element where ``configuration`` computed it."""
        return self.tolerance if self.tolerance_of is None else self.tolerance_of(configuration)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        return f"<{self.workload} problem {self.name}: {sizes}, {self.dtype.name}, {self.footprint_bytes / 1e6:.1f} MB>"
