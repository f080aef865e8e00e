"""Problems, which a sweep measures: inputs, a reference in fp64, a tolerance, and how a configuration gets its plan on
a device. And peers: other people's code for the same problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np

from gpuopt._core import Device, DeviceArray, ParameterError, Prepared, Variant, empty
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, OwnVariant

_own_inputs: ContextVar[bool] = ContextVar("own_inputs", default=False)


@contextmanager
def own_inputs() -> Iterator[None]:
    """Plans that a problem prepares within share no input with its other plans: their data are uploaded anew."""
    token = _own_inputs.set(True)
    try:
        yield
    finally:
        _own_inputs.reset(token)


def wants_own_inputs() -> bool:
    """Whether an upload that is kept for the next plan must not serve this one."""
    return _own_inputs.get()


def guarded_output(shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> DeviceArray:
    """Return an array for a plan to write, between zones that tell of writes beside it."""
    return empty(shape, dtype, device, guarded=True)


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
class ManyOutputs:
    """What a plan of somebody's own kernel writes, here or in another process: its results as one row of numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]  # of results of several dtypes the one that holds them all
    read: Callable[[], np.ndarray] = field(repr=False)

    def to_numpy(self) -> np.ndarray:
        """The elements of its results, one after the other, as the last run left them. Raises WrongResultError where a
        run in another process wrote something else."""
        return self.read()


@checked
@dataclass(frozen=True)
class BoundPlan:
    """A configuration's plan on one device, bound to the data of one problem.

    ``prepared`` is what is timed, ``output`` the array that it writes, of the problem's dtype and the shape of
    its ``reference`` (of the elements that are checked, see :class:`Problem`). Of a :class:`lab.Kernel` it has
    ``shape``, ``dtype`` and ``to_numpy()``, which gives all results in one row; of several dtypes in the one that holds
    them all. Where a timed run does not store its whole result, ``proof`` is run for the check instead.

    Examples
    --------
    >>> plan = problems.tmv(8, 4).prepare(gpuopt.Configuration("naive"), gpuopt.devices()[0])
    >>> plan.prepared.run()
    >>> plan.output.shape, plan.work["flops"]
    ((4,), 64.0)
    """

    prepared: Any  # a Prepared, or what stands for one in another process
    output: DeviceArray | ManyOutputs
    proof: Prepared | None = None  # the same kernels, which store everything they compute
    doubled: Prepared | None = None  # the same kernels with twice the work: it must take twice the time
    checks: Any = None  # a kernel that somebody brings: its own ``verify`` and ``again``, in place of the lab's
    restore: Callable[[], None] | None = None  # before each timed run, of a plan that changes what it reads
    plan: str | None = None  # a hash of what a kernel that somebody brings is run by, beside its source

    @property
    def work(self) -> Work:
        """The declared work of one run: flops, special functions by name, and bytes by memory class."""
        return work_of(self.prepared)


def _identity(result: Any) -> np.ndarray:
    return np.asarray(result)


State = TypeVar("State")
Result = TypeVar("Result")


@checked
@dataclass(frozen=True)
class Peer(Generic[State, Result]):
    """Other people's code that solves the same problem, visited in the same blocks of a sweep.

    name, platform
        What tables call it, and which library in which version it is.
    prepare
        ``prepare(problem)`` returns the peer's state, such as uploaded data. It is not timed.
    run
        ``run(state)`` computes once and returns the result. Without ``sample`` it must return only when it is done.
    fetch
        ``fetch(result)`` returns the result as a NumPy array, of the shape of the problem's
        ``reference``, of any real dtype.
    sample
        ``sample(state, count, batch)`` returns ``count`` times in ms of one run each, measured by the library's own
        clock over ``batch`` runs queued one after the other, without the host's launches. None: ``run``
        is timed by the host's clock.
    tolerance
        ``tolerance(problem)`` returns the largest allowed error of each element, for a peer that rounds more than the
        problem allows. None: the problem's own.

    A sweep goes on with a file's rows of a peer while the code of these functions, and the values that they hold, are
    the same. Where they hold what cannot be compared across processes, such as a queue or a lock, the peer is measured
    anew, and a note says so; make such things in ``prepare``. Of a module of the caller's own that the functions use,
    the text of its file counts, not what it imports in turn, nor what is set in it while the process runs: give a file
    of rows another name after such a change.

    Examples
    --------
    >>> numpy = lab.Peer("NumPy", prepare=lambda problem: problem.inputs, run=lambda inputs: inputs["v"] @ inputs["A"])
    >>> problem = problems.tmv(32)
    >>> result = numpy.fetch(numpy.run(numpy.prepare(problem)))
    >>> bool((abs(result - problem.reference) <= problem.tolerance).all())
    True
    >>> study = lab.sweep(problem, "naive", peers=[numpy])  # doctest: +SKIP
    """

    name: str
    prepare: Callable[[Problem], State]
    run: Callable[[State], Result]
    fetch: Callable[[Result], np.ndarray] = _identity
    sample: Callable[[State, int, int], list[float]] | None = None
    platform: str = "host"
    tolerance: Callable[[Problem], np.ndarray] | None = None


class TooLargeError(ParameterError):
    """A problem that memory, or somebody's time, does not hold."""


AnyPeer = Peer[Any, Any]  # peers of different libraries stand in one list


def nothing_ahead(configurations: Sequence[Configuration], device: Device, until: float | None = None) -> None:
    """Builds nothing ahead of its plan."""


def _no_peers(device: Device, notes: list[str]) -> list[AnyPeer]:
    return []


# What functions that a problem holds take: their arguments are looked at before these are called.


@checked
def prepare(configuration: Configuration, device: Device) -> None:
    """As a problem's ``prepare``."""


@checked
def build_ahead(configurations: Sequence[Configuration], device: Device, until: float | None = None) -> None:
    """As a problem's ``build_ahead``."""


@checked
def peers(device: Device, notes: list[str]) -> None:
    """As a problem's ``peers``."""


@checked
def tunable(configuration: Configuration) -> None:
    """As a problem's ``tunable``."""


@checked
def call(device: Device) -> None:
    """As each of a problem's ``calls``."""


@dataclass(frozen=True)
class _Asked:
    """A function whose arguments another one looks at first."""

    looks: Callable[..., None]
    given: Callable[..., Any]

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        self.looks(*args, **keywords)
        return self.given(*args, **keywords)


def _asked(looks: Callable[..., None], given: Callable[..., Any]) -> _Asked:
    return given if isinstance(given, _Asked) else _Asked(looks, given)


@checked
@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs and reference of one workload at one size. Its functions raise ParameterError for arguments of other
    types.

    workload, name, dtype, sizes, seed, inputs
        What it is: the inputs are NumPy arrays by name, drawn from ``seed``.
    reference, tolerance
        The correct result in fp64, and the largest absolute error allowed for each of its elements.
    tolerance_of
        ``tolerance_of(configuration)`` replaces ``tolerance`` where configurations may round their inputs.
    checked
        Indices of the output's elements that ``reference`` and ``tolerance`` are for; None for all.
    footprint_bytes
        Bytes of inputs and output.
    prepare
        ``prepare(configuration, device)`` uploads the data (once for each device, and within :func:`own_inputs` anew)
        and returns the plan, with an output of its own between guard zones.
    flops, flops_counted
        Operations that the rates of calls and peers count, None where these have no such rate; and which they are.
    counted
        Work of one run in the workload's own unit, such as ``{"pair": 1e9}``.
    notes
        Sentences for the reader of the table.
    calls
        Whole calls as a user makes them, by what the user writes. Each is a function of a device that returns a
        function that returns the result as NumPy array.
    call_configurations
        The configurations that calls name, by the call: their results may err as those of the configuration. A call
        that chooses for itself is not there.
    input_properties
        Properties of the input that are known without a computation, in the words of tuned records. What is tuned on
        this problem is kept for inputs with these properties only.
    tunable
        ``tunable(configuration)`` says whether a plain call may use the configuration.
    default_configuration
        What a plain call uses where no record fits ``input_properties``; None where a record always does.
    plain
        ``plain(device)`` is what a plain call takes, where the data or their sizes decide that beside records; None
        where they do not.
    standard
        ``standard(variant)`` is the standard configuration of a variant, where sizes decide that; None where they do
        not, and the table of variants says it.
    family
        The family of variants that answers it, for a workload of several questions.
    peers
        ``peers(device, notes)`` returns the peers that are installed and fit the device; it appends to ``notes`` why
        an installed one was left out.
    build_ahead
        ``build_ahead(configurations, device)`` may build them all at once, before they are prepared one by one; it
        raises nothing of a configuration that does not build. A third argument, a time of ``time.monotonic``, ends it.
    data
        A hash of its data, which tells it from other problems of its workload, name, sizes and seed; None where these
        say it all.
    awkward
        ``awkward()`` returns small problems of the same kind, of sizes that no work-group or vector divides and with
        less room for errors. Each configuration is verified on them too, before it is timed.

    Examples
    --------
    >>> problem = problems.tmv(64)
    >>> plan = problem.prepare(gpuopt.Configuration("naive"), gpuopt.devices()[0])
    >>> plan.prepared.run()
    >>> bool(np.all(np.abs(problem.seen(plan.output.to_numpy()) - problem.reference) <= problem.tolerance))
    True
    >>> problem.is_for(gpuopt.variants("tmv")[0]), len(problem.tolerance_for(gpuopt.Configuration("naive")))
    (True, 64)
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
    prepare: Callable[[Configuration, Device], BoundPlan]
    flops: float | None = None
    flops_counted: str = ""
    notes: list[str] = field(default_factory=list)
    tolerance_of: Callable[[Configuration], np.ndarray] | None = None
    calls: Mapping[str, Callable[[Device], Callable[[], np.ndarray]]] = field(default_factory=dict)
    call_configurations: Mapping[str, Configuration] = field(default_factory=dict)
    input_properties: Mapping[str, object] = field(default_factory=dict)
    checked: np.ndarray | None = None
    counted: Mapping[str, float] = field(default_factory=dict)
    tunable: Callable[[Configuration], bool] = lambda configuration: True
    default_configuration: Configuration | None = None
    plain: Callable[[Device], Configuration] | None = None
    standard: Callable[[str], Configuration | None] | None = None
    family: str = ""
    peers: Callable[[Device, list[str]], list[AnyPeer]] = _no_peers
    build_ahead: Callable[..., None] = nothing_ahead
    awkward: Callable[[], Sequence[Problem]] = tuple
    data: str | None = None

    def __post_init__(self) -> None:
        for looks in (prepare, build_ahead, peers, tunable):
            object.__setattr__(self, looks.__name__, _asked(looks, getattr(self, looks.__name__)))
        object.__setattr__(self, "calls", {name: _asked(call, given) for name, given in self.calls.items()})

    def seen(self, output: np.ndarray) -> np.ndarray:
        """Return the elements of an output that ``reference`` is for."""
        return output if self.checked is None else output[self.checked]

    def is_for(self, variant: Variant | OwnVariant) -> bool:
        """Return whether the input has the properties that a variant, a row of a table, is for; what is not told of it
        counts as had. Raises ParameterError for what is no such row."""
        return all(self.input_properties.get(name, True) for name in variant.input_properties)

    def tolerance_for(self, configuration: Configuration) -> np.ndarray:
        """Return the largest absolute error allowed for each element of the result of ``configuration``."""
        return self.tolerance if self.tolerance_of is None else self.tolerance_of(configuration)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        return f"<{self.workload} problem {self.name}: {sizes}, {self.dtype.name}, {self.footprint_bytes / 1e6:.1f} MB>"
