"""What a judge says of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from gpuopt.checked import checked
from gpuopt.configuration import Configuration


@checked
@dataclass(frozen=True)
class Verdict:
    """What a judge says of a kernel.

    ``word`` is "ok", "refused", a status such as "timeout", or what is wrong: unwritten, outside, inputs, wrong,
    inexact, nan, unstable, state, seed, size, value, after, compiler (docs/decisions/own-kernels.md has what each
    means). ``says`` has the whole sentence, ``passed`` the checks before it,
    ``reproducer`` the sizes and seed that show it. Times are of right kernels alone, in ms; ``flags`` may have
    ``impossible``: faster than the device can write the results.

    Examples
    --------
    >>> kernel = gpuopt.Configuration("twice", WG=64)
    >>> found = lab.Verdict("unwritten", "x[63] was not written", "quick", kernel, "A device", (), "n=64, seed=1")
    >>> found.ok
    False
    """

    word: str
    says: str
    level: str
    configuration: Configuration
    device: str
    passed: tuple[str, ...]
    reproducer: str
    median_ms: float | None = None
    lo_ms: float | None = None
    hi_ms: float | None = None
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it computes the task, and its time may be believed."""
        return self.word == "ok" and not self.flags

    def __str__(self) -> str:
        time = "" if self.median_ms is None else f", {self.median_ms:.4g} ms"
        flags = f" ({', '.join(self.flags)})" if self.flags else ""
        lines = [f"{self.configuration} on {self.device}: {self.word}{flags}{time}", self.says]
        lines += [f"to see it again: {self.reproducer}"] if self.reproducer else []
        return "\n".join([*lines, f"level {self.level}; passed: {', '.join(self.passed) or 'nothing'}", *self.notes])
