"""The words and the fields in which measuring describes itself; result rows take them over as they are.

`gpuopt.lab.rows.schema` says what each field means; mypy holds the two against each other where rows are made.
"""

from __future__ import annotations

from typing import Literal, TypedDict

# Where times come from: START to END of one run by device events; the period of runs queued back to back, from the end
# of one to the end of the next; the host's clock.
Clock = Literal["event", "batch", "wall"]

# What a ratio of times says: faster, slower, the same within 5 %, or undecided.
Verdict = Literal["FAST", "SLOW", "SAME", "AMBIGUOUS"]

# What is doubtful about a row; `gpuopt.lab.show.tables.FLAG_MEANINGS` says what each word means.
Flag = Literal[
    "unconverged",
    "cut_short",
    "drift",
    "timer_suspect",
    "launch_inside",
    "throttled",
    "autocorrelated",
    "bimodal",
    "over_bound",
    "optimised_away",
    "suspicious",
]


class Summary(TypedDict):
    """The groups `time` and `quality` of a row, of one set of samples."""

    n: int
    batch_n: int
    min_ms: float
    q1_ms: float
    median_ms: float
    q3_ms: float
    p95_ms: float
    max_ms: float
    mad_ms: float
    ci_lo_ms: float
    ci_hi_ms: float
    samples_ms: list[float]
    autocorr1: float | None
    drift_pct_s: float | None
    bimodal: bool | None
    timer_ns: float | None


class Errors(TypedDict):
    """The group `correctness` of a row, but for the guard zones."""

    max_abs: float
    max_rel: float
    max_ulp: float
    max_of_tol: float
    l2_rel: float
    tol: float


class VerifiedErrors(Errors):
    """The whole group `correctness`: of kernels of ours, whose output lies between guard zones."""

    canary_ok: bool
