"""Studies, tunings and profiles killed at random moments, and gone on with.

    python -m tests.hostile.kills --seconds T --seed S --device D

Whatever was reported as written must be there afterwards, whole, and stay there when the next run goes on; a run that
is not killed must end well. The disk is made slow, so that kills hit the moments in which files are written.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .findings import ROOT, Findings, command, environment, parser, say

STAGE = "kills"
KINDS = ("crashes", "hangs", "untyped", "lost", "torn", "left")
_TURNS = ("study", "tune", "own", "profile")  # own: a kernel that somebody brings, in a process of its own
_PATIENCE_S = 60.0
_SLOW_S = 0.005  # what a sync of a file takes more
_MOST_RUNS = 12  # of one folder: a run that is always killed early never ends


@dataclass
class Chain:
    """Runs in one folder, each going on where the one before was killed, until one ends."""

    kind: str
    folder: Path
    reported: dict[Path, set[str]] = field(default_factory=dict)
    runs: int = 0

    @property
    def cache(self) -> Path:
        return self.folder / "cache"


def attack(device: str, seconds: float, seed: int) -> Findings:
    found = Findings(STAGE, device, KINDS, {"tried": 0, "killed": 0, "ended": 0, "rows_reported": 0})
    draw, end = random.Random(seed), time.monotonic() + seconds
    lasted: dict[str, tuple[float, float]] = {}  # of a whole run: when its first row was there, when it ended
    with tempfile.TemporaryDirectory() as folder:
        chains: dict[str, Chain] = {}
        number = 0
        while time.monotonic() < end or number < len(set(_TURNS)) or not found.counts["killed"]:
            kind = list(dict.fromkeys(_TURNS))[number] if number < len(set(_TURNS)) else draw.choice(_TURNS)
            chain = chains.setdefault(kind, Chain(kind, Path(folder) / f"{kind}-{number}"))
            first, last = lasted.get(kind, (0.0, 0.0))
            after = draw.uniform(max(0.0, first - 0.2), last) if last and chain.runs < _MOST_RUNS else None
            chain.runs += 1
            ended = _run(chain, device, after, found, lasted)
            _check(
                chain, found, f"{kind}, run {chain.runs} of its folder, killed after {after or 0:.2f} s, seed {seed}"
            )
            if ended:
                del chains[kind]
            number += 1
    return found


def _run(
    chain: Chain, device: str, after: float | None, found: Findings, lasted: dict[str, tuple[float, float]]
) -> bool:
    """One run, killed ``after`` seconds (None: never). Returns whether it came to its end."""
    chain.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    told, words = chain.folder / "told.txt", chain.folder / "words.txt"
    begin = time.monotonic()
    with open(told, "wb") as out, open(words, "wb") as errors:
        process = subprocess.Popen(
            command(STAGE, "--worker", chain.kind, "--folder", chain.folder, "--device", device),
            cwd=ROOT,
            env=environment(chain.cache),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        try:
            process.wait(_PATIENCE_S if after is None else after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            found.count("killed")
            if left := _left(chain.cache):
                found.add("left", f"{chain.kind}, run {chain.runs}: {left} processes outlived it")
            if after is None:
                found.add("hangs", f"{chain.kind}: no end within {_PATIENCE_S:.0f} s: {_last(words)}")
    found.count("tried")
    if process.returncode != -signal.SIGKILL:
        found.count("ended")
        if process.returncode != 0:
            found.add("crashes", f"{chain.kind}, run {chain.runs}: exit status {process.returncode}: {_last(words)}")
    times = []
    for line in told.read_bytes().split(b"\n")[:-1]:  # what is behind the last line's end was not reported
        if line.startswith(b'{"row'):
            row = json.loads(line)
            chain.reported.setdefault(Path(row["file"]), set()).add(row["row"])
            times.append(row["at"] - begin)
            found.count("rows_reported")
    if after is None and process.returncode == 0 and times:
        lasted.setdefault(chain.kind, (times[0], time.monotonic() - begin))
    return process.returncode != -signal.SIGKILL


def _left(cache: Path, patience_s: float = 5.0) -> int:
    """How many processes of a run, known by its cache folder, are there when it is dead for so long."""
    mark, end = f"GPUOPT_CACHE_DIR={cache}".encode(), time.monotonic() + patience_s
    while True:
        count = 0
        for file in Path("/proc").glob("[0-9]*/environ"):
            try:
                count += mark in file.read_bytes().split(b"\0")
            except OSError:  # it is gone, or another user's
                continue
        if not count or time.monotonic() > end:
            return count
        time.sleep(0.05)


def _last(words: Path) -> str:
    lines = words.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


def _check(chain: Chain, found: Findings, where: str) -> None:
    """Holds what is on the disk against what was reported."""
    from gpuopt import Error, records
    from gpuopt.lab.device import profile as profiles
    from gpuopt.lab.rows.store import _TORN, Store

    for path in {*chain.folder.rglob("*.jsonl"), *chain.reported}:
        store = Store(path)
        asides = path.parent.glob(f"{path.stem}-[0-9]*{path.suffix}")  # where a profile puts those of earlier runs
        there = {row["row_id"] for each in (store, *map(Store, asides)) for row in each.rows()}
        gone = chain.reported.get(path, set()) - there
        if gone:
            found.add("lost", f"{where}: {len(gone)} of {len(chain.reported[path])} reported rows")
        if torn := [str(damage) for damage in store.problems if damage.reason != _TORN]:
            found.add("torn", f"{where}: {torn[0]}")
    for path in chain.cache.rglob("*.json"):
        try:
            if path.parent.name == "profiles":
                profiles.load(path)
            elif path.parent.name == "tuned":
                records._read_records(path.read_text())
            else:
                json.loads(path.read_text())
        except (Error, ValueError) as error:
            found.add("torn", f"{where}: {path.name}: {error}")


# ---------------------------------------------------------------- in the child

_OWN = """from gpuopt import lab

TEXT = '''
__kernel void doubled(__global const float* x, __global float* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = 2 * x[i];
}
'''
doubled = lab.Kernel(
    TEXT,
    "doubled",
    parameters={"WG": [32, 64, 128], "N": [0, 1]},
    arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.value("n")],
    launch=lab.launch(items="n", local="WG"),
    reference=lambda x: 2 * x,
)
"""


def work(kind: str, folder: Path, device: str) -> None:
    """One run of the command line, which tells each row once it is written."""
    from dataclasses import replace

    from gpuopt import cli
    from gpuopt.lab.rows.schema import Row
    from gpuopt.lab.rows.store import Store
    from gpuopt.lab.timing.protocol import PROTOCOLS

    brief = {"warm_up_s": 0.0, "warm_up_cap_s": 0.0, "visit_s": 1e-4, "search_min_s": 0.0, "search_cap_s": 0.0}
    for name in ("quick", "full"):
        PROTOCOLS[name] = replace(PROTOCOLS["quick"], name=name, **brief)  # type: ignore[arg-type]
    append_all, sync = Store.append_all, os.fsync

    def told(self: Store, rows: Sequence[Row]) -> list[Row]:
        made = append_all(self, rows)
        for row in made if not self.unsaved else ():
            say(row=row["row_id"], file=str(self.path), at=time.monotonic())
        return made

    def slow(descriptor: int) -> None:
        sync(descriptor)
        time.sleep(_SLOW_S)

    Store.append_all, os.fsync = told, slow  # type: ignore[method-assign]
    arguments = {
        "study": ["study", "tmv", "96x80", "--quick", "--no-plots", "-v", "naive", "-v", "tlp"],
        "tune": ["tune", "tmv", "96x80", "--quick"],
        "own": ["study", str(folder / "doubled.py"), "n=5000", "--quick", "--no-plots"],
        "profile": ["profile", "--force", "--no-aa"],
    }[kind]
    if kind == "own":
        (folder / "doubled.py").write_text(_OWN)
    if kind in ("study", "own"):
        arguments += ["--out", str(folder / "out")]
    if kind == "profile":
        _shorten(brief)
    cli.main([*arguments, "--device", device])


def _shorten(brief: dict[str, float]) -> None:
    """A profile of few points, which takes no minutes."""
    from gpuopt.workloads.microbench import ceilings

    whole = ceilings.headline
    ceilings.headline = (
        lambda device: [  # type: ignore[assignment]
            point
            for point in whole(device)
            if "16.4 kB" in str(point) or point.fields()["family"] in ("launch", "flops")
        ][:3]
    )


def main() -> int:
    options = parser(__doc__ or "", 600.0)
    options.add_argument("--worker", choices=("study", "tune", "own", "profile"), help="run this in this process")
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    if given.worker:
        work(given.worker, given.folder, given.device)
        return 0
    return attack(given.device, given.seconds, given.seed).report()


if __name__ == "__main__":
    sys.exit(main())
