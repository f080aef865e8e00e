"""What an attack found, how it is told, and the child processes in which it runs."""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_SHOWN = 20  # findings of a kind that are printed; the JSON line has them all


@dataclass
class Findings:
    """Counts by name, and findings by kind: what crashed, hung, was untyped, wrong, torn or lost, each a line that says
    how to see it again. A stage names the kinds that it can find."""

    stage: str
    device: str
    kinds: tuple[str, ...]
    counts: dict[str, int] = field(default_factory=lambda: {"tried": 0})
    found: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = {kind: [] for kind in self.kinds}

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def add(self, kind: str, what: str) -> None:
        self.found[kind].append(what)

    @property
    def total(self) -> int:
        return sum(map(len, self.found.values()))

    def told(self) -> str:
        """For people: counts, then findings, a line each."""
        lines = [f"{self.stage} on {self.device}: " + ", ".join(f"{n} {name}" for name, n in self.counts.items())]
        for kind, found in self.found.items():
            lines += [f"  {kind}: {each}" for each in found[:_SHOWN]]
            lines += [f"  {kind}: and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        return "\n".join([*lines, "" if self.total else "  nothing found"]).rstrip()

    def as_json(self) -> str:
        return json.dumps({"stage": self.stage, "device": self.device, **self.counts, **self.found})

    def report(self) -> int:
        """Prints both, JSON last, and returns the exit status."""
        print(self.told())
        print(self.as_json(), flush=True)
        return 1 if self.total else 0


def parser(what: str, seconds: float) -> argparse.ArgumentParser:
    """The options of every attack."""
    made = argparse.ArgumentParser(description=what)
    made.add_argument("--seconds", type=float, default=seconds, help="how long to attack")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--device", default="cpu", help="an index, a type or part of a name")
    return made


def command(module: str, *arguments: object) -> list[str]:
    """The command that runs a module of this folder."""
    return [sys.executable, "-m", f"tests.hostile.{module}", *map(str, arguments)]


def environment(cache: Path) -> dict[str, str]:
    """For a child: a cache of its own, and no thread pools of NumPy beside its own threads."""
    return {**os.environ, "GPUOPT_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Child:
    """A process that tells what it does in lines of JSON on its standard output; in a session of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def started(cls, arguments: list[str], cache: Path) -> Child:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = cache.parent / f"{cache.name}-stderr.txt"
        with open(log, "wb") as errors:
            process = subprocess.Popen(
                arguments,
                cwd=ROOT,
                env=environment(cache),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        return cls(process, log)

    def lines(self, patience: float) -> Iterator[dict[str, Any] | None]:
        """What it tells; None once where it says nothing for ``patience`` seconds, and then no more."""
        assert self.process.stdout is not None
        descriptor, held = self.process.stdout.fileno(), b""
        with selectors.DefaultSelector() as watched:
            watched.register(descriptor, selectors.EVENT_READ)
            while True:
                if not watched.select(patience):
                    yield None
                    return
                data = os.read(descriptor, 1 << 16)
                if not data:
                    return
                *whole, held = (held + data).split(b"\n")
                for line in whole:
                    if line.startswith(b"{"):  # a runtime may print lines of its own
                        yield json.loads(line)

    def end(self) -> int:
        """Its exit status; whoever still runs is killed, with all that it started."""
        deadline = time.monotonic() + 5
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if self.process.poll() is None:
            self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.process.wait()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def last_words(self) -> str:
        text = self.log.read_text(errors="replace").strip().splitlines()
        return text[-1][:200] if text else ""


def say(**told: Any) -> None:
    """A line from a child to its parent, written at once: what it said before a crash counts."""
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
