"""The fields of a result row, a class a topic: their types, words and units. ``schema.Row`` has all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from gpuopt.lab.rows.facts import Environment
from gpuopt.lab.timing.fields import Clock, Flag, Verdict

Status = Literal["ok", "unsupported", "constraints", "compile", "runtime", "wrong", "crash", "timeout"]
Kind = Literal["search", "block", "summary", "point", "environment", "energy"]
Role = Literal["variant", "call", "peer", "ceiling", "overhead", "sentinel", "clone"]
CacheState = Literal["hot", "cold", "large"]
Method = Literal["rank"]


class What(TypedDict, total=False):
    """What was measured. ``params`` are the levels of the variant's parameters; of a ceiling that reads a variant's own
    data also ``of``, that variant's label. ``data`` is a short hash of the data of a kernel that people bring."""

    schema: int
    workload: str | None
    family: str | None
    problem: str | None
    footprint_bytes: int | None
    variant: str | None
    configuration: str | None
    preset: str | None
    accuracy: str | None
    dtype: str | None
    vector_width: int | None
    params: Mapping[str, int | str] | None
    sizes: Mapping[str, int] | None
    global_size: Sequence[int] | None
    local_size: Sequence[int] | None
    options: str | None
    seed: int | None
    data: str | None
    cache_state: CacheState | None
    clock: Clock | None
    role: Role | None


class Where(TypedDict, total=False):
    """Where and when: the device and the software. ``profile`` is the date of the profile that bounds come from, and a
    short hash of its ceilings (of earlier rows the date alone). ``unit`` is a short hash of the physical device,
    ``commit`` that of the source, with "+dirty" where files of it were changed.

    ``plan`` is a short hash of what a kernel that people bring is run by beside its source (its stages, arguments and
    launches); of a whole call, of the configuration that it takes, and of the workload's kernels where they are those
    of GPUOPT_KERNEL_DIR; of a peer that people bring, of its code."""

    device: str | None
    device_type: str | None
    driver: str | None
    platform: str | None
    unit: str | None
    env_hash: str | None
    environment: Environment | None
    profile: str | None
    source_sha256: str | None
    plan: str | None
    binary_sha256: str | None
    protocol: str | None
    gpuopt_version: str
    commit: str | None
    time_utc: str


class Outcome(TypedDict, total=False):
    """What kind of row it is, how it ended and what is doubtful about it. ``block`` and ``order`` count from 0;
    ``at_s`` is when each sample of a visit began, in seconds since the sweep did, or when the visit began; of a point
    that was measured in rounds, when each round's visit did."""

    kind: Kind
    status: Status
    reason: str | None
    flags: list[Flag]
    block: int | None
    order: int | None
    at_s: Sequence[float] | None


class Time(TypedDict, total=False):
    """Milliseconds of one run, over ``n`` samples of ``batch_n`` runs each. ``ci`` is the 95 % interval within this
    sitting, in rows but summaries of fewer than 6 samples their range, ``sit`` the interval that holds the median of
    another sitting too."""

    n: int | None
    batch_n: int | None
    min_ms: float | None
    q1_ms: float | None
    median_ms: float | None
    q3_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    mad_ms: float | None
    ci_lo_ms: float | None
    ci_hi_ms: float | None
    sit_lo_ms: float | None
    sit_hi_ms: float | None
    samples_ms: Sequence[float] | None


class Overheads(TypedDict, total=False):
    """Milliseconds beside the run: building; the kernels alone; from the queue to the start; by the host's clock."""

    build_ms: float | None
    busy_ms: float | None
    queued_start_ms: float | None
    wall_ms: float | None
    warmup_ms: float | None


class Quality(TypedDict, total=False):
    """What the samples say of themselves, and the step of their clock."""

    autocorr1: float | None
    drift_pct_s: float | None
    bimodal: bool | None
    timer_ns: float | None


class Rates(TypedDict, total=False):
    """The declared work of one run, the rates that follow from it, and the bound.

    ``bytes`` are by class of memory, ``special`` by function, ``counted`` by the workload's own unit, which ``gop_s``
    counts. ``doubled`` is the ratio of the time of twice the work. ``uncached_ms`` is the bound without caches.
    """

    flops: float | None
    bytes: Mapping[str, float] | None
    special: Mapping[str, float] | None
    counted: Mapping[str, float] | None
    gflop_s: float | None
    gb_s: float | None
    gop_s: float | None
    latency_ns: float | None
    doubled: float | None
    bound_ms: float | None
    bound_by: str | None
    pct_bound: float | None
    pct_lo: float | None
    pct_hi: float | None
    next_by: str | None
    pct_next: float | None
    uncached_ms: float | None
    pct_uncached: float | None


class Correctness(TypedDict, total=False):
    """Errors against the reference: absolute, relative, in units of the last place, as a part of what is allowed, and
    in the Frobenius norm; the largest error allowed; whether the guard zones were intact."""

    max_abs: float | None
    max_rel: float | None
    max_ulp: float | None
    max_of_tol: float | None
    l2_rel: float | None
    tol: float | None
    canary_ok: bool | None


class Code(TypedDict, total=False):
    """The number of kernels that a run launches, those of them that follow one another (of two queues, in the fuller
    one), and what the main kernel takes and was compiled to. Of rounds that a flag ends one counts, which is sure to
    run.

    ``occupancy`` are the wavefronts that a unit can hold, ``occupancy_by`` what limits them. ``instructions`` are
    counts of the compiled kernel by kind, such as ``{"alu": 40, "fetch": 2, "loop_alu": 9}``; ``instructions_by`` are
    the tools that told it, or ``instructions_note`` why nothing is told. See :func:`gpuopt.lab.isa`."""

    launches: int | None
    in_turn: int | None
    registers: int | None
    spill_bytes: int | None
    local_bytes: int | None
    private_bytes: int | None
    occupancy: int | None
    occupancy_by: str | None
    instructions: Mapping[str, int] | None
    instructions_by: str | None
    instructions_note: str | None


class Comparison(TypedDict, total=False):
    """The ratio of times to the baseline (below 1 is faster) by one clock, its interval over blocks, and the verdict;
    ``refused`` says why verdicts are AMBIGUOUS whatever the numbers say: the machine was too busy or too noisy.

    ``method`` says how a summary was made of its blocks: "rank" by signed ranks (``lab.timing.statistics``); rows of
    earlier versions have none. ``var_within_pct`` and ``var_blocks_pct`` are the shares of the ratio's variance that
    stem from the samples within visits, and from what changes between blocks (placement in memory, the machine).
    """

    baseline: str | None
    ratio: float | None
    ratio_lo: float | None
    ratio_hi: float | None
    blocks: int | None
    verdict: Verdict | None
    method: Method | None
    var_within_pct: float | None
    var_blocks_pct: float | None
    refused: str | None


class Energy(TypedDict, total=False):
    """The energy of one run, of loops of runs back to back: rows of kind energy, taken after a comparison.

    ``meter`` is its source: "nvml" (the GPU's board) or "rapl" (the host's processor packages). Of each loop, from one
    step of the counter to another: ``loop_j`` is what the counter says, ``loop_power_j`` the integral of the instant
    power, ``loop_s`` the seconds and ``loop_runs`` the runs. ``idles_w`` is the power without runs, before the first
    loop of all and after the last, ``idle_w`` their mean. Joules of a run: ``gross_j`` of all that the meter counts,
    ``net_j`` without what idling would have taken in the same time; ``gflop_j`` and ``gb_j`` are the declared work over
    ``net_j``, in GFLOP and GB. ``mean_w`` is the power of the loops. In percent: ``apart_pct`` what the loops' net
    joules of a run differ by, ``power_pct`` what the integrated power is above the counter, ``sensor_pct`` the share of
    the time that the sensor samples. ``energy_note`` is what is doubtful about it.
    """

    meter: str | None
    loop_j: Sequence[float] | None
    loop_power_j: Sequence[float] | None
    loop_s: Sequence[float] | None
    loop_runs: Sequence[float] | None
    idles_w: Sequence[float] | None
    idle_w: float | None
    gross_j: float | None
    net_j: float | None
    gflop_j: float | None
    gb_j: float | None
    mean_w: float | None
    apart_pct: float | None
    power_pct: float | None
    sensor_pct: float | None
    energy_note: str | None


class Identity(TypedDict, total=False):
    """What tells rows apart, made by :func:`identify`. Of rows with one ``row_id`` the last stands."""

    key: str
    row_id: str
    comparison_key: str
