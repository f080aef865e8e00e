"""Damaged files of every kind, read in child processes.

    python -m tests.hostile.files --seconds T --seed S --device D

A reader may accept a file or refuse it by a gpuopt.Error. Anything else is a finding, and so are more than 1 GB of
memory or 20 s for one of these small files, and content that cannot be.
"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from pathlib import Path

from .findings import ROOT, Child, Findings, command, parser, say
from .limits import limit_memory

STAGE = "files"
KINDS = ("crashes", "hangs", "untyped", "wrong", "memory")
_MOST_BYTES = 1_000_000_000
_PATIENCE_S = 60.0
_MOST_CPU_S = 20.0  # of one file: a time on the clock would say how busy the machine is
_STEP = 1000  # cases of one subject come from numbers that far apart


def attack(device: str, seconds: float, seed: int) -> Findings:
    """Cases until the time is up; a child that dies is followed by another one, from the next case on."""
    found = Findings(STAGE, device, KINDS, {"tried": 0, "refused_typed": 0, "answered": 0})
    end, number = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while (left := end - time.monotonic()) > 0:
            cache = Path(folder) / f"cache-{number}"
            work = ("--worker", "--from", number, "--seconds", left, "--seed", seed, "--device", device)
            child = Child.started(command(STAGE, *work), cache)
            at, number, silent = _followed(child, found, number, seed)
            if silent:
                child.kill()
            status = child.end()
            where = f"{at or 'before the first file'}: {again(device, seed, number - 1)}"
            if silent:
                found.add("hangs", f"{where}: nothing for {_PATIENCE_S:.0f} s")
            elif status != 0:
                found.add("crashes", f"{where}: exit status {status}: {child.last_words()}")
            if number == 0 and status != 0:
                break  # no case was reached: another child would fare the same
    return found


def again(device: str, seed: int, number: int) -> str:
    return f"python -m tests.hostile.files --device {device} --seed {seed} --case {number}"


def _followed(child: Child, found: Findings, number: int, seed: int) -> tuple[str, int, bool]:
    """What the child was at last, the number of the next case, and whether it fell silent."""
    at = ""
    for told in child.lines(_PATIENCE_S):
        if told is None:
            return at, number, True
        if "case" in told:
            at, number = told["name"], told["case"] + 1
            found.count("tried")
            continue
        at = ""
        found.count(told["outcome"] if told["outcome"] != "untyped" else "raised")
        line = f"{told['name']}: {again(found.device, seed, number - 1)}"
        for what in told["wrong"]:
            found.add("wrong", f"{line}: {what}")
        if told["outcome"] == "untyped":
            found.add("untyped", f"{line}: {told['error']}")
        if told["cpu_s"] > _MOST_CPU_S:
            found.add("hangs", f"{line}: {told['cpu_s']:.0f} s")
        if told["peak"] > _MOST_BYTES:
            found.add("memory", f"{line}: {told['peak'] / 1e9:.1f} GB")
    return at, number, False


# ---------------------------------------------------------------- in the child


def work(first: int, seconds: float, seed: int, device: str, only: bool) -> None:
    """Reads cases from ``first`` on, and tells of each before and after."""
    import gpuopt
    from gpuopt.selection import select

    from .subjects import subjects

    end = time.monotonic() + seconds
    known = subjects(select(device), ROOT)
    turns = [subject for subject in known for _ in range(subject.share)]
    turns = [turns[k * 7 % len(turns)] for k in range(len(turns))] if len(turns) % 7 else turns
    limit_memory(3 * _MOST_BYTES, device)
    number = first
    with tempfile.TemporaryDirectory() as folder:
        while number == first or (time.monotonic() < end and not only):
            subject = turns[number % len(turns)]
            case = subject.case(seed, number // len(turns) * _STEP + number % len(turns), Path(folder))
            say(case=number, name=f"{subject.name} {case.path.name}")
            _reset_peak()
            held = _status("VmRSS")
            begin = time.process_time()
            outcome, error, wrong = "answered", "", list[str]()
            try:
                wrong = subject.read(case)
            except gpuopt.Error:
                outcome = "refused_typed"
            except Exception as raised:
                outcome, error = "untyped", _brief(raised)
                if only:
                    traceback.print_exc()
            spent = {"peak": _status("VmHWM") - held, "cpu_s": time.process_time() - begin}
            say(name=f"{subject.name} {case.path.name}", outcome=outcome, error=error, wrong=wrong, **spent)
            for left in Path(folder).iterdir():
                if left.is_file():
                    left.unlink()
            number += 1


def _brief(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "gpuopt" in frame.filename]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {ascii(str(error))[:150]}{where}"


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    """Bytes of memory: VmRSS are held now, VmHWM were at most since the last reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def main() -> int:
    options = parser(__doc__ or "", 600.0)
    options.add_argument("--worker", action="store_true", help="read cases in this process, and tell of each")
    options.add_argument("--from", type=int, default=0, dest="first")
    options.add_argument("--case", type=int, help="this case alone, in this process")
    given = options.parse_args()
    if given.worker:
        work(given.first, given.seconds, given.seed, given.device, False)
        return 0
    if given.case is not None:
        import os

        with tempfile.TemporaryDirectory() as cache:
            os.environ["GPUOPT_CACHE_DIR"] = cache
            work(given.case, 0.0, given.seed, given.device, True)
        return 0
    return attack(given.device, given.seconds, given.seed).report()


if __name__ == "__main__":
    sys.exit(main())
