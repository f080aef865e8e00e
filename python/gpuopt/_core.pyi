"""Types of the C++ core; kept by hand, checked by mypy.stubtest. One long file, as it stands for one compiled module.

Arrays are strict: native byte order, the dtype that is named, unit stride on the last axis. What does not fit raises
ArrayError, which names the argument and the fix. Every function that builds kernels may raise ParameterError (the
variant or its parameters), UnsupportedError (the device, or a rule of the variant), KernelBuildError, DeviceMemoryError
and OpenCLError.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, final

import numpy as np

from gpuopt.arrays import Transposed

_Parameters: TypeAlias = Mapping[str, int]
"""A value for each parameter of a variant, by its name."""
_Operand: TypeAlias = np.ndarray | DeviceArray
"""float32 or float64 on the host or on a device; all of a call are of one dtype, and on one device."""
_Floats: TypeAlias = np.ndarray
"""float32 or float64 on the host."""
_DeviceFloat32: TypeAlias = DeviceArray
"""A DeviceArray of float32."""
_Work: TypeAlias = dict[str, Any]
"""``flops``, and by name ``special`` (results of special functions) and ``bytes`` (by memory class)."""

__version__: str
__commit__: str
"""The source commit that the core was built from, with "+dirty" where files of it were changed; empty if unknown."""

class Error(Exception):
    """Base of every error gpuopt raises."""

class NoDeviceError(Error):
    """No OpenCL device was found, or none fits the selection; `gpuopt doctor` says why."""

class UnsupportedError(Error):
    """The device or the variant's own rule forbids this configuration."""

    because: Literal["device", "constraint"]

class KernelBuildError(Error):
    """A kernel does not build."""

    log: str
    """All that the compiler said."""
    file: str
    """Path below kernels/ of the first error, of the kernel's own file where the log names none."""
    line: int
    """Line of the first error there; 0 where the log names none."""

class OpenCLError(Error):
    """An OpenCL call failed."""

    call: str
    code: int
    name: str
    """The code in words, e.g. CL_OUT_OF_RESOURCES."""

class DeviceMemoryError(Error, MemoryError):
    """The device cannot hold this; the message names the bytes."""

class ArrayError(Error, ValueError):
    """An array does not fit; the message says the fix."""

    @cached_property
    def argument(self) -> str:
        """The argument's name."""

class ParameterError(Error, ValueError):
    """A parameter or selection is wrong; the message lists what is allowed."""

    @cached_property
    def argument(self) -> str:
        """The argument's name."""

class HandleError(Error, TypeError):
    """An object of the core that only its functions make was to be made by its class."""

class MismatchError(Error):
    """A result differs from its reference by more than its tolerance."""

class _Type(type):
    """pybind11's metaclass."""

class _NotConstructible(metaclass=_Type):
    """Made by the core alone: pybind11 gives such classes an __init__ that raises TypeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

@final
class Device(_NotConstructible):
    """An OpenCL device and what it says of itself; sizes in bytes."""

    @property
    def index(self) -> int:
        """Place in ``devices()``, best device first."""
    @property
    def key(self) -> str:
        """Stable identity: "platform / name", with #n for a twin."""
    @property
    def name(self) -> str:
        """The device's name."""
    @property
    def platform(self) -> str:
        """Name of the OpenCL platform."""
    @property
    def vendor(self) -> str:
        """Who made it."""
    @property
    def version(self) -> str:
        """Version of OpenCL that it speaks."""
    @property
    def driver(self) -> str:
        """Version of its driver."""
    @property
    def architecture(self) -> str:
        """What code is compiled for: "sm_90", "gfx942", of a CPU its runtime and vectors; empty where not told."""
    @property
    def uuid(self) -> str:
        """32 hex digits that no other device has; empty where its driver does not tell them."""
    @property
    def pci(self) -> str:
        """Its address on the host's bus, "0000:01:00.0"; empty where its driver does not tell it."""
    @property
    def type(self) -> str:
        """ "gpu", "accelerator", "cpu" or "custom"."""
    @property
    def compute_units(self) -> int:
        """How many compute units (streaming multiprocessors, cores) it has."""
    @property
    def clock_mhz(self) -> int:
        """Highest clock, in MHz; 0 where the driver does not know it."""
    @property
    def global_bytes(self) -> int:
        """Device memory in all."""
    @property
    def max_alloc_bytes(self) -> int:
        """Largest buffer."""
    @property
    def local_bytes(self) -> int:
        """Local memory of a work-group."""
    @property
    def constant_bytes(self) -> int:
        """Largest constant buffer."""
    @property
    def max_work_group_size(self) -> int:
        """Most work-items in a work-group."""
    @property
    def vector_bytes(self) -> int:
        """Width of its own vectors, in bytes."""
    @property
    def image_support(self) -> bool:
        """Whether kernels may read images."""
    @property
    def image2d_max(self) -> tuple[int, int]:
        """Largest width and height of an image, in pixels."""
    @property
    def fp64(self) -> bool:
        """Whether it computes in float64."""
    @property
    def fp16(self) -> bool:
        """Whether it computes in float16."""
    @property
    def subgroups(self) -> bool:
        """Whether it has cl_khr_subgroups."""
    @property
    def unified_memory(self) -> bool:
        """Whether it shares memory with the host."""
    @property
    def timer_ns(self) -> int:
        """Resolution of its timer, in ns."""
    @property
    def extensions(self) -> list[str]:
        """Names of its OpenCL extensions, sorted."""
    @property
    def allocated_bytes(self) -> int:
        """Device memory held by this process through gpuopt."""

@final
class DeviceArray(_NotConstructible):
    """A C-contiguous array in device memory; operations return the kind of array they were given."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
    @property
    def ndim(self) -> int:
        """How many axes it has."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of its elements."""
    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
    @property
    def device(self) -> Device:
        """The device whose memory it lies in."""
    def to_numpy(self) -> np.ndarray:
        """A new NumPy array with the same shape, dtype and values."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A copy for NumPy: numpy.asarray(a) is a.to_numpy()."""
    def __matmul__(self, other: DeviceArray) -> DeviceArray:
        """gpuopt.gemm(self, other)."""
    def __rmatmul__(self, other: DeviceArray) -> DeviceArray:
        """gpuopt.gemm(other, self)."""
    def __add__(self, other: float | DeviceArray) -> DeviceArray:
        """self + other, of a number or an array of the same dtype and shape."""
    def __radd__(self, other: float) -> DeviceArray:
        """other + self."""
    def __sub__(self, other: float | DeviceArray) -> DeviceArray:
        """self - other."""
    def __rsub__(self, other: float) -> DeviceArray:
        """other - self."""
    def __mul__(self, other: float | DeviceArray) -> DeviceArray:
        """self * other, element by element."""
    def __rmul__(self, other: float) -> DeviceArray:
        """other * self."""
    def __neg__(self) -> DeviceArray:
        """-self."""
    def __eq__(self, other: object) -> bool:
        """Refused for numbers and arrays, which NumPy compares element by element."""
    def __hash__(self) -> int: ...
    def __bool__(self) -> bool:
        """Refused: ask for its length or its elements."""
    def __getitem__(self, other: int | slice) -> DeviceArray:
        """A copy of a row, or of rows that follow one another: a[3], a[2:5]."""
    @property
    def T(self) -> Transposed | DeviceArray:
        """The transpose of a matrix, for `@`: nothing is copied."""
    def __dlpack__(
        self, *, stream: object = None, max_version: object = None, dl_device: object = None, copy: bool | None = None
    ) -> Any:
        """A copy on the host for other libraries: numpy.from_dlpack(a), torch.from_dlpack(a). Raises BufferError for
        another device and for copy=False, ParameterError for what the standard of array APIs has no meaning for."""
    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0): the copy lies on the host."""
    __array_ufunc__: None
    def fill_bytes(self, byte: int) -> None:
        """Sets every byte, e.g. 255 to poison floats with NaN."""
    def fill_repeated(self, pattern: np.ndarray) -> None:
        """The bytes of a contiguous NumPy array, again and again until this one is full. Raises ArrayError."""
    def copy_from(self, values: np.ndarray) -> None:
        """Takes over the values of a NumPy array of the same dtype and shape. Raises ArrayError."""
    def guards_intact(self) -> bool:
        """False when something wrote next to a guarded array."""
    def shares_memory(self, other: DeviceArray) -> bool:
        """Whether both are the same memory."""
    def __len__(self) -> int: ...

@final
class Parameter(_NotConstructible):
    """A tunable of a variant, handed to its kernel as -DNAME=value."""

    @property
    def name(self) -> str:
        """As in -DNAME=value."""
    @property
    def levels(self) -> list[int]:
        """The values it may have."""
    @property
    def standard(self) -> int:
        """The level used when nothing better is known."""
    @property
    def meaning(self) -> str:
        """What it changes, in words."""
    @property
    def alters_accuracy(self) -> bool:
        """Whether levels other than the standard one round the inputs: such a level is taken only when asked for."""

@final
class Variant(_NotConstructible):
    """One kernel idea: a row of a workload's table."""

    @property
    def workload(self) -> str:
        """Name of its workload."""
    @property
    def name(self) -> str:
        """Its own name, unique in the workload."""
    @property
    def summary(self) -> str:
        """The idea, in a line."""
    @property
    def source(self) -> str:
        """Path of its kernel file, below kernels/."""
    @property
    def entry_point(self) -> str:
        """Name of its kernel function."""
    @property
    def parameters(self) -> list[Parameter]:
        """Its tunables."""
    @property
    def needs(self) -> list[str]:
        """Device features that it cannot do without: "images", "fp16", "fp64", "subgroups"."""
    @property
    def input_properties(self) -> list[str]:
        """What its input must be, in the workload's words: "symmetric", "grid", "columns"."""
    @property
    def family(self) -> str:
        """Which question it answers, of a workload of many; empty elsewhere."""
    @property
    def dtypes(self) -> list[str]:
        """NumPy's names of the dtypes that it has kernels for."""

@final
class Program(_NotConstructible):
    """A built program of a caller's own kernels."""

    @property
    def kernels(self) -> list[str]:
        """The names of its kernels."""
    @property
    def log(self) -> str:
        """What the compiler said."""
    @property
    def build_ms(self) -> float:
        """What the build took; a binary that was kept is loaded."""
    @property
    def binary_sha256(self) -> str:
        """A hash of the binary that runs; empty where the driver gives none."""
    def code(self) -> dict[str, Any]:
        """What it was built from and what the driver made of it: see :meth:`Prepared.code`."""
    def arguments(self, kernel: str) -> list[dict[str, Any]] | None:
        """What the driver says of a kernel's arguments: ``name``, ``type``, ``address``, ``const``, ``image``. None
        where it says nothing; it does of programs built with -cl-kernel-arg-info. Raises ParameterError for a name that
        it has no kernel of."""

@final
class Image(_NotConstructible):
    """Float pixels on a device, for kernels that read through a sampler."""

@final
class Sampler(_NotConstructible):
    """How a kernel reads pixels, handed over as an argument."""

def build_program(device: Device, source: str, name: str, options: str) -> Program:
    """The program of a text, ``name`` being what messages call it; built once for a text and options. Raises
    KernelBuildError."""

def make_image(pixels: DeviceArray, channels: int) -> Image:
    """A copy of float32 pixels (height, width), or with 4 ``channels`` (height, width, 4). Raises ArrayError and
    UnsupportedError."""

def make_sampler(device: Device, normalized: bool, address: str, filter: str) -> Sampler:
    """``address`` is none, edge, border, repeat or mirror, ``filter`` nearest or linear. Raises ParameterError."""

def prepare_own(
    device: Device, steps: Sequence[tuple[Any, ...]], main_step: int, flops: float, bytes: Mapping[str, float]
) -> Prepared:
    """A plan of launches, in their order. Each is (program, kernel, global sizes, local sizes, arguments), and an
    argument a DeviceArray, an Image, a Sampler, the bytes of a value, or a number: so many bytes of local memory.
    Between them, ("clear", array) sets an array's first element to zero, and ("until", array, step) goes on at a later
    step, by number, where that element is zero.

    Raises ParameterError for arguments of a wrong number, UnsupportedError for what the device does not allow.
    """

@final
class Prepared(_NotConstructible):
    """A built and bound plan of kernels; run it, or take samples of it."""

    def run(self) -> None:
        """Runs the plan once and waits for it. Raises ArrayError where what it computed is no result."""
    def start(self) -> None:
        """Enqueues a run without waiting for it, but on a CPU device."""
    def sample(self, count: int, batch: int = 1, period: bool = False) -> dict[str, list[float]]:
        """Times ``count`` samples of ``batch`` runs each, at most 1024 commands enqueued at a time.

        Several runs wait behind a gate until all are enqueued. With ``period``, one run more precedes those that are
        counted, and times begin at its end: each counted run then has one gap inside.

        Lists of ``count`` milliseconds a run: ``device_ms`` (first START, or the end of the run that is not counted, to
        last END), ``busy_ms`` (sum over kernels of counted runs), ``queued_ms`` (QUEUED to START of the first command);
        by all runs, ``all_ms`` (first START to last END) and ``wall_ms`` (host clock from the gate's opening, or the
        enqueuing of a single run, to the end); and ``start_s``, when each sample began, in seconds of
        ``time.perf_counter``. Raises ParameterError for no batch.
        """
    def relocate(self, pad_bytes: int) -> bool:
        """Moves all memory of the plan to another place, with what it holds and its guard zones.

        Arrays and other plans that share it see it there. ``pad_bytes`` are taken meanwhile: another amount leads to
        another place. False where the plan has no memory, works in the caller's, or where it does not fit twice; then
        nothing has changed.
        """
    @property
    def work(self) -> _Work:
        """Declared work of one run."""
    @property
    def kernels(self) -> list[dict[str, Any]]:
        """A dict a step, in their order: entry point, queue, source, build options and log, sizes, registers, bytes.

        Of a step that is no kernel (a copy), all but its name, queue and sizes is None.
        """
    def code(self, step: int) -> dict[str, Any] | None:
        """What a step's kernel was built from and what the driver made of it; None of a step that is no kernel.

        ``text`` is the source with its includes, ``options`` are those of the build, ``binary`` is the program as the
        driver gives it back (bytes; of a PTX, machine code or a format of its own). Raises ParameterError for a step
        that the plan does not have.
        """
    @property
    def source(self) -> DeviceArray | None:
        """What most of the reading is from, as float32 words whatever it holds; None where nothing is."""
    @property
    def main_step(self) -> int:
        """Index in ``kernels`` of the kernel that carries the variant."""

@final
class DiaMatrix(metaclass=_Type):
    """A diagonal matrix in device memory."""

    def __init__(
        self,
        data: _Floats,
        offsets: np.ndarray,
        shape: tuple[int, int],
        device: Device,
        indexed: str = "column",
        in_place: bool = False,
    ) -> None:
        """``data`` (D, length) and ``offsets`` (D,), int32 or int64, are uploaded once; with ``in_place`` a CPU reads
        ``data`` where they are, and they must not change.

        ``indexed`` is "column" (SciPy's: ``data[k, j]`` stands in column j) or "row" (in row j). Raises ArrayError,
        also for an offset that occurs twice, and ParameterError.
        """
    def transposed(self) -> DiaMatrix:
        """Its transpose, which shares its values."""
    def download(self) -> np.ndarray:
        """A copy of its values (D, columns), ``[k, j]`` in column j of diagonal k, zero where the matrix has none."""
    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the diagonals that touch the matrix, ascending, int64."""
    @property
    def stored_entries(self) -> int:
        """Lengths of its diagonals inside the matrix, added up."""
    @property
    def symmetric(self) -> bool:
        """Whether every entry equals its mirrored one exactly; the device is asked once."""
    @property
    def grid_width(self) -> int:
        """Width of the grid whose points the rows are; 0 where the offsets show none."""
    @property
    def device(self) -> Device:
        """The device whose memory it lies in."""

@final
class HostProduct(metaclass=_Type):
    """A product of a matrix and NumPy arrays, planned once."""

    def __init__(
        self,
        matrix: DiaMatrix,
        vectors: int,
        alpha: float,
        beta: float,
        variant: str,
        parameters: _Parameters,
    ) -> None:
        """The plan of alpha A x + beta y for x of ``vectors`` columns."""
    def multiply(self, matrix: DiaMatrix, x: _Floats, y: _Floats | None, out: _Floats | None) -> Any:
        """The product for x (cols,) or (cols, vectors), into ``out`` (rows,) or (rows, vectors) where one is given.

        ``matrix`` is the one it was planned for, else ArrayError.
        """

def set_search_prefixes(prefixes: Sequence[str | bytes]) -> None:
    """Folders (of a Python installation) whose OpenCL runtimes count too; before the first use of a device."""

def devices() -> list[Device]:
    """All OpenCL devices, best first; found at the first call."""

def discovery() -> dict[str, Any]:
    """What was looked at to find devices: the loader, vendor files, platforms, and what was left out and why."""

def kept_counts(device: Device) -> dict[str, int]: ...
def poison_kept(device: Device) -> None: ...
def set_tracing(on: bool) -> None: ...
def trace_spans() -> list[tuple[str, int, int, int]]: ...
def drop_kept(device: Device) -> None: ...
def drop_kept_on_host() -> None: ...
def cache_dir() -> str:
    """The cache's folder: GPUOPT_CACHE_DIR, or gpuopt in the user's own cache."""

def cache_stamp(file: str, now: bool = False) -> int:
    """A number that is another one once this file of the cache was changed by anybody, is looked for elsewhere, or
    counts for another host (GPUOPT_HOST). It is looked at when that was last done a millisecond ago, or ``now``."""

def folder_refusal(name: str) -> str:
    """Why this folder of the cache is not used, such as another user's; "" where it is, or is not there yet."""

def make_private_folder(name: str) -> str:
    """The path of this folder of the cache, which is the user's alone (mode 0700); made where it is missing. Raises
    Error where it is not usable."""

def idle() -> bool:
    """False while a device or a compiler still works for a call that was interrupted."""

def forget_interrupt() -> None:
    """Lets the process end with the exit code that it is given, though an interrupt came through generated code."""

def hear_interrupt() -> None:
    """Tells the thread of ``end_if_unheard`` that Python's handler runs."""

def end_if_unheard(signals: int, seconds: float, code: int, message: str) -> None:
    """Ends the process with this exit code and message where a SIGINT, read from the file descriptor ``signals``
    (``signal.set_wakeup_fd``), was not heard within ``seconds``."""

def sha256(data: bytes) -> str:
    """The digest in hexadecimal."""

def host_free_bytes(root: str = "/") -> int:
    """What is checked before memory of a CPU device is taken: as ``host_memory.free_bytes``; 2^64 - 1 is unknown.
    ``root`` is the folder of /proc and /sys."""

def kernel_paths() -> list[str]:
    """Paths of all kernel files below kernels/, those of GPUOPT_KERNEL_DIR included."""

def kernel_source(path: str) -> str:
    """The text of a kernel file with its includes replaced. Raises Error where a file does not exist."""

def kernels_may_change() -> bool:
    """Whether GPUOPT_KERNEL_DIR names kernel files, which may be edited while the process runs."""

def handles(device: Device) -> dict[str, int]:
    """The context and the queue of plain calls on a device."""

def shared_handle(array: DeviceArray) -> int:
    """The memory of an array, which nothing else gets from now on."""

def adopted(owner: object, memory: int, shape: Sequence[int], dtype: np.dtype[Any], device: Device) -> DeviceArray:
    """An array in memory of another library, of the device's context. Raises ArrayError."""

def to_device(a: np.ndarray, device: Device, guarded: bool = False) -> DeviceArray:
    """A copy on the device; ``guarded`` puts known bytes around it, so that writes beside it show."""

def host_empty(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    """A NumPy array of undefined values, on large pages where there are many of them."""

def pinned_empty(shape: Sequence[int], dtype: np.dtype[Any], device: Device) -> np.ndarray:
    """An array of undefined values in memory that the device reads and writes directly. Raises ArrayError,
    DeviceMemoryError, OpenCLError."""

def set_staging(
    device: Device,
    on: bool,
    slot_bytes: int = ...,
    slots: int = ...,
    threads: int = ...,
    block: int = ...,
    beside: float = ...,
) -> None:
    """Whether copies from a quarter of a slot on are staged through slots of pinned memory; products of so many
    multiply-adds for an element of A and of the result (``beside``) have copies beside kernels, in blocks of ``block``
    bytes. For tests."""

def set_spin(device: Device, on: bool) -> bool:
    """Whether runs that are timed wait behind a kernel that takes time, as on GPUs, or behind an event of ours; the
    answer is whether they can. For tests."""

def slots_filled(device: Device) -> int:
    """Slots of pinned memory that copies of this device have filled."""

def combine(a: float, x: DeviceArray, b: float, y: DeviceArray, out: DeviceArray | None) -> DeviceArray:
    """a x + b y of arrays of one device, dtype and shape. Raises ArrayError, UnsupportedError."""

def shift(a: float, x: DeviceArray, b: float) -> DeviceArray:
    """a x + b. Raises ArrayError, UnsupportedError."""

def multiply(x: DeviceArray, y: DeviceArray) -> DeviceArray:
    """x y, element by element. Raises ArrayError, UnsupportedError."""

def dot(x: DeviceArray, y: DeviceArray) -> float:
    """The sum of x y; waits. Raises ArrayError, UnsupportedError."""

def rows(array: DeviceArray, first: int, count: int, keeps_axis: bool) -> DeviceArray:
    """A copy of elements along the first axis, which are there."""

def empty(shape: Sequence[int], dtype: np.dtype[Any], device: Device, guarded: bool = False) -> DeviceArray:
    """An array of undefined values; ``guarded`` as in :func:`to_device`. Raises ArrayError for a negative length,
    DeviceMemoryError."""

@final
class Fences(metaclass=_Type):
    """Within it, in one thread, all memory that is made on CPU devices lies between protected pages: arrays, matrices
    and what plans work in. An access to these pages, or to where nothing is mapped, is noted, then allowed. What is not
    written yet is NaN, but for guarded arrays. For checks, not for timing."""

    def __enter__(self) -> Fences: ...
    def __exit__(self, *error: object) -> None: ...
    def intact(self) -> bool:
        """False when something read or wrote there, or wrote less than a page beside what was made within."""

@final
class Recording(metaclass=_Type):
    """Within it, once, kernels that this thread launches are recorded, with the memory that they work on.

    What it holds is told after its end; before, properties raise Error. At its end it raises what a launch raised,
    even where the block went on. At most ``most_bytes`` of contents are held; a launch that needs more raises
    ParameterError.
    """

    def __init__(self, most_bytes: int) -> None: ...
    def __enter__(self) -> Recording: ...
    def __exit__(self, error: object, value: object, trace: object, /) -> None: ...
    @property
    def device(self) -> Device | None:
        """The device of the launches; None where there were none."""
    @property
    def programs(self) -> list[dict[str, Any]]:
        """``name``, ``text`` (bytes, with includes put in) and ``options`` of each."""
    @property
    def objects(self) -> list[dict[str, Any]]:
        """Buffers and images: ``type``, ``flags`` and ``format`` as OpenCL's numbers, ``size`` in pixels, ``bytes``;
        ``parent``, the buffer that it is a part of from byte ``first`` on; ``host_offset`` in a page, of memory in
        place on the host; ``before`` and ``after``, contents at first use and after the last launch. None: there is
        none."""
    @property
    def steps(self) -> list[dict[str, Any]]:
        """Launches (``program``, ``kernel``, ``global``, ``local`` and ``arguments``: each an ``object``, the bytes of
        a ``value`` or ``local_bytes``), and ``contents`` that something else wrote to an ``object`` between them."""
    @property
    def contents(self) -> list[np.ndarray]:
        """Bytes, each different from the others; views of what the recording holds."""

def is_recording() -> bool:
    """Whether this thread's launches are recorded."""

def variants(workload: str) -> list[Variant]:
    """The rows of a workload's table. Raises ParameterError."""

@final
class Levels(metaclass=_Type):
    """Values of parameters, read once for many calls."""

    def __init__(self, parameters: _Parameters) -> None: ...

def refusal(workload: str, variant: str, parameters: _Parameters, dtype: str, device: dict[str, Any]) -> str:
    """Why a configuration cannot run on a device of these facts whatever the input; empty where it can."""

def workload_names() -> list[str]:
    """All workloads."""

def check_spmv_arrays(matrix: DiaMatrix, x: _Operand, y: _Operand | None, beta: float, out: _Operand | None) -> None:
    """Checks shapes, dtypes and devices as :func:`spmv` does, without a product. Raises ArrayError."""

def spmv(
    matrix: DiaMatrix,
    x: _Operand,
    y: _Operand | None,
    alpha: float,
    beta: float,
    out: _Operand | None,
    variant: str,
    parameters: _Parameters,
) -> Any:
    """alpha A x + beta y, of x (cols,) or (cols, k) and y (rows,) or (rows, k), as an array of the kind of x."""

def prepare_spmv(
    matrix: DiaMatrix,
    x: DeviceArray,
    y: DeviceArray | None,
    alpha: float,
    beta: float,
    out: DeviceArray,
    variant: str,
    parameters: _Parameters,
) -> Prepared:
    """The plan of the same product, bound to its arrays."""

def prepare_gem(
    *,
    xyz: _Floats,
    charge: _Floats,
    inner: np.ndarray | None,
    points: _Floats,
    shift: _Floats | None,
    r: np.ndarray,
    numbers: Mapping[str, float],
    part: str,
    compat: bool,
    nearest: float,
    out: DeviceArray,
    variant: str,
    parameters: _Parameters,
) -> Prepared:
    """The plan of the potential at M points from N atoms, kcal/(mol e), on the device of ``out`` (M,).

    ``xyz`` (N, 3) in A, ``charge`` (N,) in e, ``points`` (M, 3) in A, ``shift`` (M, 3) in A: from a point to the edge
    of the ion-free layer, with salt; all of one dtype. ``inner`` (N,) float64, A: an atom's distance from the centre,
    where a point lies inside. ``r`` (M,) float64, A: a point's distance from the centre. ``numbers`` are the model's:
    coulomb, kappa, epsilon_in, epsilon_out, size, ion_exclusion, alpha. ``part`` is "total", "coulomb" or "reaction";
    ``compat`` leaves out a term, as the published program does. ``nearest`` in A: closer atoms count as at this
    distance; 0: as they lie.
    """

def gem(
    *,
    xyz: _Floats,
    charge: _Floats,
    inner: np.ndarray | None,
    points: _Floats,
    shift: _Floats | None,
    r: np.ndarray,
    numbers: Mapping[str, float],
    part: str,
    compat: bool,
    nearest: float,
    out: DeviceArray,
    variant: str,
    parameters: _Parameters,
) -> None:
    """Computes the potentials into ``out``, by a plan that an earlier call of the same kind left, or by a new one."""

def gemm_sizes(
    a: _Operand, b: _Operand, c: _Operand | None, beta: float, transpose_a: bool, transpose_b: bool
) -> tuple[np.dtype[Any], int, int, int, int]:
    """Checks the arrays of a product; their dtype, and its batch, M, N, K. Raises ArrayError."""

def gemm(
    a: _Operand,
    b: _Operand,
    c: _Operand | None,
    alpha: float,
    beta: float,
    out: _Operand | None,
    transpose_a: bool,
    transpose_b: bool,
    device: Device,
    variant: str,
    parameters: Levels | _Parameters,
) -> Any:
    """alpha op(A) op(B) + beta C, of matrices or batches (batch, rows, columns), as an array of the kind of A."""

def prepare_gemm(
    a: DeviceArray,
    b: DeviceArray,
    c: DeviceArray | None,
    alpha: float,
    beta: float,
    out: DeviceArray,
    transpose_a: bool,
    transpose_b: bool,
    variant: str,
    parameters: _Parameters,
    otherwise: Sequence[tuple[str, _Parameters]] = ...,
) -> Prepared:
    """The plan of the same product, bound to its arrays. Where its variant looks back at the operands and finds that
    its result is none, a run goes on with the next variant of ``otherwise``."""

def tmv_dtype(A: _Operand) -> np.dtype[Any]:
    """Checks the matrix (m, n) and returns its dtype. Raises ArrayError."""

def tmv(
    A: _Operand, v: _Operand, out: _Operand | None, device: Device, variant: str, parameters: Levels | _Parameters
) -> Any:
    """A^T v of A (m, n) and v (m,), as an array (n,) of the kind of v."""

def prepare_tmv(A: DeviceArray, v: DeviceArray, out: DeviceArray, variant: str, parameters: _Parameters) -> Prepared:
    """The plan of the same product, bound to its arrays."""

@final
class TomographyGeometry(metaclass=_Type):
    """A scan and a volume as kernels take them; lengths in mm."""

    def __init__(
        self,
        *,
        frames: np.ndarray,
        rows: int,
        columns: int,
        parallel: bool,
        radius: float,
        shape: Sequence[int],
        voxel: Sequence[float],
        middle: Sequence[float],
    ) -> None:
        """``frames`` (views, 12) float64: of each view the source (of parallel beams the direction to it), the
        detector's centre, and the steps to its next column and row. ``radius`` of a curved detector, 0 of a flat one.
        ``shape``, ``voxel`` (sizes) and ``middle`` of the volume: (z, y, x), or (y, x).

        Raises ArrayError and ParameterError.
        """
    @property
    def upright(self) -> bool:
        """Whether the detector's rows are parallel to z in every view."""
    @property
    def equiangular(self) -> bool:
        """Whether it is an upright arc about a source that circles z."""

def prepare_back_projection(
    projections: _DeviceFloat32,
    volume: _DeviceFloat32,
    geometry: TomographyGeometry,
    *,
    weight: str,
    fdk: float,
    accumulate: bool,
    variant: str,
    parameters: _Parameters,
) -> Prepared:
    """The plan of a sum over views of W bilinear(projection) for every voxel, or of adding it to the volume.

    ``weight`` is "none", "adjoint" or "fdk"; ``fdk`` is the square of the factor of 1 / w in that weight.
    """

def plan_back_projection(
    projections: _DeviceFloat32,
    volume: _DeviceFloat32,
    geometry: TomographyGeometry,
    *,
    weight: str,
    fdk: float,
    accumulate: bool,
    variant: str,
    parameters: _Parameters,
) -> ProjectorPlan:
    """The same plan, whose arrays may be exchanged between runs."""

@final
class DeviceSums(_NotConstructible):
    """Two sums that wait on the device until they are read."""

    def read(self) -> list[float]:
        """Both; waits for the device."""

@final
class DeviceArithmetic(metaclass=_Type):
    """Arithmetic of iterations on float32 arrays of a device; what returns no number does not wait for it.

    Arrays of a call have as many elements as its first, else ArrayError.
    """

    def __init__(self, device: Device) -> None: ...
    def fill(self, x: _DeviceFloat32, value: float) -> None:
        """x = value."""
    def copy(self, x: _DeviceFloat32, out: _DeviceFloat32) -> None:
        """out = x."""
    def views(self, p: _DeviceFloat32, views: Sequence[int]) -> DeviceArray:
        """A copy of some elements along the first axis. Raises ParameterError for one that is not there."""
    def axpy(self, a: float, x: _DeviceFloat32, y: _DeviceFloat32, out: _DeviceFloat32) -> None:
        """out = a x + y."""
    def multiply(self, x: _DeviceFloat32, by: _DeviceFloat32) -> None:
        """x = x * by."""
    def reciprocal(self, x: _DeviceFloat32, fraction: float, largest: float | None = None) -> None:
        """x = 1 / x, and 0 where x is at most this fraction of its largest element, or of ``largest``."""
    def residual(self, b: _DeviceFloat32, ax: _DeviceFloat32, weights: _DeviceFloat32) -> DeviceSums:
        """ax = weights * (b - ax); the sums of the squares of b - ax, without and with weights."""
    def update(
        self,
        x: _DeviceFloat32,
        step: float,
        weights: _DeviceFloat32,
        g: _DeviceFloat32,
        low: float,
        high: float,
        rounding: float,
        mask: _DeviceFloat32 | None,
        out: _DeviceFloat32,
    ) -> None:
        """out = x + step * weights * g between low and high, times the mask; of a sum that has no more than
        ``rounding`` of x left, 0."""
    def largest(self, x: _DeviceFloat32) -> float:
        """Its largest element; waits."""
    def dot(self, x: _DeviceFloat32, y: _DeviceFloat32) -> float:
        """The sum of x * y; waits."""
    def not_finite(self, x: _DeviceFloat32) -> int:
        """How many elements are NaN or infinite; waits."""
    def finish(self) -> None:
        """Waits for all that was enqueued."""

@final
class JosephScratch(metaclass=_Type):
    """Device memory that plans of one projector share, which run one after the other."""

    def __init__(self, device: Device) -> None: ...

@final
class ProjectorPlan(_NotConstructible):
    """A projection, its adjoint or a back projection voxel by voxel, whose arrays may be exchanged."""

    @property
    def prepared(self) -> Prepared:
        """The plan on the arrays it was made with, to be timed. Raises ParameterError once it was started."""
    def start(self, volume: _DeviceFloat32, projections: _DeviceFloat32) -> None:
        """Runs it on these arrays, and does not wait on a GPU."""

def transform_length(device: Device, least: int) -> int:
    """The length of the shortest Fourier transform of at least ``least`` elements that the device's local memory holds;
    0: it holds none."""

@final
class RowFilter(metaclass=_Type):
    """Weights and filters rows of projections on a device."""

    def __init__(
        self,
        weights: _DeviceFloat32,
        slants: _DeviceFloat32,
        response: _DeviceFloat32,
        *,
        shape: tuple[int, int, int],
        lead: int = 0,
        trail: int = 0,
        rows_reversed: bool = False,
        columns_reversed: bool = False,
    ) -> None:
        """Of projections of a ``shape`` (views, rows, columns). Factors of pixels, ``weights`` (views, columns) and
        ``slants`` (rows, columns), any axis of which may be 1; ``response``, that of the filter divided by its length,
        one of :func:`transform_length`. The result has ``lead`` and ``trail`` more columns."""
    def start(self, projections: _DeviceFloat32, out: _DeviceFloat32) -> DeviceArray:
        """Enqueues it; returns (rows of all views, 4): the largest value of each, the first, the last, and 1 where one
        is NaN or infinite. ``out`` may be ``projections`` where shape and order are the same."""

def project_bodies(
    projections: DeviceArray,
    *,
    ways: np.ndarray,
    bodies: np.ndarray,
    steps: np.ndarray,
    ellipsoids: int,
    along: int,
    across: int,
    parallel: bool,
    wait: bool = True,
) -> None:
    """Exact projections (views, rows, columns), float32 or float64, of bodies, computed in the dtype of the tables:
    ``ways`` (views, 4, 3), ``bodies`` (views, bodies, 16), the ellipsoids first, ``steps`` (1 or views, along columns,
    2), as kernels/tomography/passes/bodies.cl reads them. ``along`` and ``across`` are rays of a pixel. With ``wait``
    false a GPU may still be at work."""

@final
class CopiesBeside(metaclass=_Type):
    """Copies that go on beside kernels, of arrays that take turns."""

    def __init__(self, device: Device) -> None:
        """Waits for what was enqueued before: make the arrays first."""
    def upload(self, projections: np.ndarray, to: _DeviceFloat32) -> None:
        """Writes a C-contiguous array into one of the same shape and dtype, once what was told of it has ended."""
    def download(self, from_: DeviceArray, to: np.ndarray) -> None:
        """Reads an array into a C-contiguous one of the same shape and dtype, once what was told of it has ended."""
    def used(self, array: DeviceArray) -> None:
        """What has been enqueued so far works on this array."""

def joseph_properties(geometry: TomographyGeometry) -> dict[str, bool]:
    """Return "upright", whether all rows are parallel to z and no ray is steeper than it is wide, and "planar", whether
    volume and rays lie in a plane."""

def prepare_joseph(
    scratch: JosephScratch | None,
    volume: _DeviceFloat32,
    projections: _DeviceFloat32,
    geometry: TomographyGeometry,
    *,
    accumulate: bool,
    variant: str,
    parameters: _Parameters,
) -> ProjectorPlan:
    """The plan of projections = A volume (family "forward"), or volume = A^T projections (family "adjoint").

    ``accumulate`` adds to what the result holds. Without ``scratch`` the plan has memory of its own.
    """

def prepare_microbench(
    from_: DeviceArray,
    to: DeviceArray,
    *,
    width: int,
    trips: int,
    store: bool,
    variant: str,
    parameters: _Parameters,
) -> Prepared:
    """The plan of a microbenchmark that reads ``from_`` and may write ``to``, of the same dtype.

    ``width`` is the length of a row of the source in scalars, 0 for all of it; ``trips`` is of loops. With ``store``
    everything is stored; otherwise on a condition that only the data decide.
    """

def prepare_transfer(array: DeviceArray, upload: bool, pinned: bool) -> tuple[Prepared, np.ndarray]:
    """The plan of a copy to the device, or from it, and the memory on the host: the driver's own if ``pinned``."""

def microbench_facts(
    device: Device,
    dtype: np.dtype[Any],
    *,
    elements: int,
    width: int,
    trips: int,
    variant: str,
    parameters: _Parameters,
) -> dict[str, Any]:
    """What such a run of ``elements`` scalars does, without building it: its work, and ``outputs``, how many scalars it
    writes when told to store."""
