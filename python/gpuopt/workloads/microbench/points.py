"""The points of a survey of microbenchmarks: one kernel at one size, or one copy between host and device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpuopt import _core
from gpuopt import configuration as tables
from gpuopt._core import MismatchError, ParameterError, Prepared
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.device.bandwidth import clock_step_ns
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.run.candidates import Candidate, problem_fields, variant_candidate
from gpuopt.lab.run.plan_fields import kernel_fields
from gpuopt.lab.run.survey import SurveyRun
from gpuopt.lab.timing import samplers
from gpuopt.problem import work_of
from gpuopt.workloads.microbench.problem import microbenchmark, plan, release, sizes_asked, sizes_of


@checked
@dataclass(frozen=True)
class Point:
    """One question of a survey: a microbenchmark at one size. ``bytes`` is the size of its source, which
    :func:`problems.microbenchmark` rounds to whole lines and elements, ``width`` the scalars in a line (0: one line),
    ``trips`` the iterations of its loop. Raises ParameterError for arguments of wrong types; what a device cannot run
    is told by its row.

    Examples
    --------
    >>> point = lab.Point(gpuopt.Configuration("read_chunks", WIDTH=4), "float64", bytes=1 << 20)
    >>> print(point)
    read_chunks(WIDTH=4) float64
    >>> point.fields()["family"]
    'read'
    """

    workload: ClassVar[str] = "microbench"

    configuration: Configuration
    dtype: str = "float32"
    bytes: int = 1 << 26
    width: int = 0
    trips: int = 1

    @property
    def variant(self) -> str:
        """Which kernel."""
        return self.configuration.variant

    def __str__(self) -> str:
        return f"{self.configuration} {self.dtype}"

    def fields(self) -> Row:
        """The fields of the row that are known before the question is measured."""
        exact = tables.complete("microbench", self.configuration)
        family = next(row.family for row in tables.variants("microbench") if row.name == self.variant)
        dtype, footprint = self.dtype, None
        try:
            sizes = sizes_of(exact, self.dtype, self.bytes, self.width, self.trips)
            footprint = sizes["bytes"]
            if np.dtype(self.dtype).isnative:
                dtype = np.dtype(self.dtype).name
        except ParameterError:  # of no good row: the candidate says why
            sizes = sizes_asked(self.bytes, self.width, self.trips)
        return {
            "family": family,
            "variant": self.variant,
            "configuration": str(exact),
            "params": exact.parameters,
            "dtype": dtype,
            "problem": self.variant,
            "sizes": sizes,
            "footprint_bytes": footprint,
            "seed": 0,
            "cache_state": "hot",
        }

    def candidate(self, run: SurveyRun) -> Candidate:
        """Build, bind and verify the kernel. Raises the error that forbids it, which becomes the row's status."""
        exact = tables.complete("microbench", self.configuration)
        with run.phases("data"):
            problem = microbenchmark(
                exact, self.dtype, self.bytes, width=self.width, trips=self.trips, device=run.device
            )
        # The state is always "hot": some points ask which cache holds a working set, so none flushes a cache.
        common = problem_fields(problem, run.device, run.protocol.name, "hot", run.env_hash)
        common["family"] = self.fields()["family"]
        return variant_candidate(problem, exact, None, run.device, common, run.phases, None, run.recorder.clock_of)

    def plan(self, run: SurveyRun) -> Prepared:
        """The timed plan alone, unverified, with buffers of its own."""
        with run.phases("data"):
            return plan(
                self.configuration, self.dtype, self.bytes, width=self.width, trips=self.trips, device=run.device
            )

    @classmethod
    def release(cls) -> None:
        """Free the data that are kept for the next point."""
        release()


@checked
@dataclass(frozen=True)
class TransferPoint:
    """A copy of ``bytes`` bytes between host and device, with host memory that the driver allocated (``pinned``) or
    any. Raises ParameterError for arguments of wrong types."""

    workload: ClassVar[str] = "microbench"

    variant: str  # "upload" or "download"
    pinned: bool
    bytes: int = 1 << 26

    def __str__(self) -> str:
        return f"{self.variant} {'pinned' if self.pinned else 'plain'}"

    def fields(self) -> Row:
        """The fields of the row that are known before the question is measured."""
        configuration = Configuration(self.variant, PINNED=int(self.pinned))
        return {
            "family": "transfer",
            "variant": self.variant,
            "configuration": str(configuration),
            "params": configuration.parameters,
            "dtype": "uint8",
            "problem": "transfer",
            "sizes": {"bytes": self.bytes},
            "footprint_bytes": self.bytes,
            "seed": 0,
            "cache_state": "hot",
        }

    def candidate(self, run: SurveyRun) -> Candidate:
        """Prepare and verify the copy. Raises the error that forbids it."""
        with run.phases("data"):
            array = _core.empty((self.bytes,), np.dtype(np.uint8), run.device)
            prepared, host = _core.prepare_transfer(array, self.variant == "upload", self.pinned)
            data = np.random.default_rng(0).integers(0, 256, self.bytes, dtype=np.uint8)

        def check() -> None:
            there = self.variant == "upload"
            host[:] = data if there else 0
            if there:
                array.fill_bytes(0)
            else:
                upload, staged = _core.prepare_transfer(array, True, False)
                staged[:] = data
                upload.run()
            prepared.run()
            if not np.array_equal(array.to_numpy() if there else host, data):
                raise MismatchError(f"{self.variant}: what arrived is not what was sent")

        with run.phases("verify"):
            check()
        fields: Row = {**run.common, **self.fields(), **kernel_fields(prepared)}
        fields |= {"flops": None, "bytes": prepared.work["bytes"], "options": "transfer 1"}
        with run.phases("warm-up"):
            sampler = samplers.device_sampler(prepared, clock_step_ns(run.device.index), None, "event")
        fields["clock"] = sampler.clock
        return Candidate(str(self), "variant", fields, sampler, check, work_of(prepared))

    def plan(self, run: SurveyRun) -> Prepared:
        """The timed copy alone, with memory of its own."""
        with run.phases("data"):
            array = _core.empty((self.bytes,), np.dtype(np.uint8), run.device)
            prepared, _ = _core.prepare_transfer(array, self.variant == "upload", self.pinned)
            return prepared

    @classmethod
    def release(cls) -> None:
        """Nothing is kept for the next point."""
