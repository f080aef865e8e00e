"""`./dev attack [HOURS]`: the hostile tests at length, stage after stage, with one table at the end.

Each stage is a process with a share of the time, whose last line of output is one JSON object: ``stage``, counts, and
lists of what was found. A stage that found something, or that ended without that line, fails the attack (exit code 1).
A stage that cannot run here says so as ``left_out``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "results" / "attack"
PAGE = ROOT / "docs" / "how-it-is-tested.md"
HOSTILE = "tests.hostile"


@dataclass(frozen=True)
class Stage:
    """``share`` of the whole time. ``command`` gets --seconds, --seed and --device; a stage without one is ``tests``,
    run by pytest (with options). ``needs`` is a file that has it."""

    name: str
    share: float
    promise: str
    command: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    needs: str = ""


def _module(name: str, *more: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"{HOSTILE}.{name}", *more)


STAGES = (
    Stage("calls", 0.2, "a call is answered right or refused with a typed error that names the argument",
          _module("calls"), needs="tests/hostile/calls.py"),
    Stage("files", 0.1, "a damaged file is refused with a typed error, within 1 GB of memory",
          _module("files"), needs="tests/hostile/files.py"),
    Stage("kills", 0.1, "a killed study, tune or profile loses no finished row and leaves no torn file",
          _module("kills"), needs="tests/hostile/kills.py"),
    Stage("threads", 0.15, "threads that share objects get what one thread gets",
          _module("threads"), needs="tests/hostile/threads.py"),
    Stage("waits", 0.05, "Ctrl-C ends each long call and command within a second",
          tests=("tests/cli/test_interrupts.py",), needs="tests/cli/test_interrupts.py"),
    Stage("workers", 0.05, "a kernel that hangs or crashes costs one row, and no process stays behind",
          tests=("tests/lab/kernels/test_isolation.py",), needs="tests/lab/kernels/test_isolation.py"),
    Stage("judge", 0.05, "an honest kernel is never called wrong, and a wrong one is",
          tests=("--whole", "tests/lab/kernels/test_honest.py", "tests/lab/kernels/test_mutants.py"),
          needs="tests/lab/kernels/test_honest.py"),
    Stage("magnitudes", 0.05, "a scan of any lengths is computed right or refused",
          tests=("tests/hostile/test_magnitudes.py",), needs="tests/hostile/test_magnitudes.py"),
    Stage("mutants", 0.15, "a wrong kernel is found by a study",
          (sys.executable, "tools/mutants.py"), needs="tools/mutants.py"),
    Stage("oclgrind", 0.1, "no kernel reads or writes out of bounds, and none has a data race",
          _module("simulator"), needs="tests/hostile/simulator.py"),
    Stage("asan", 0.05, "the core has no memory error and no undefined behaviour",
          _module("sanitizers", "asan"), needs="tests/hostile/sanitizers.py"),
    Stage("tsan", 0.05, "the core has no data race", _module("sanitizers", "tsan"), needs="tests/hostile/threads.py"),
)  # fmt: skip

Outcome = dict[str, Any]


def last_object(text: str) -> Outcome | None:
    """The last line, where it is a JSON object."""
    lines = text.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def of_tests(name: str, report: Path) -> Outcome | None:
    """What pytest's report says, as a stage would."""
    try:
        cases = list(ET.parse(report).getroot().iter("testcase"))
    except (OSError, ET.ParseError):
        return None
    failed = [
        {"call": f"{case.get('classname')}::{case.get('name')}", "said": (broken.get("message") or "")[:300]}
        for case in cases
        for broken in case
        if broken.tag in ("failure", "error")
    ]
    skipped = sum(each.tag == "skipped" for case in cases for each in case)
    return {"stage": name, "tried": len(cases) - skipped, "skipped": skipped, "failed": failed}


def run(stage: Stage, seconds: float, seed: int, device: str | None) -> Outcome:
    """A stage's outcome. It has half its time and PATIENCE_S more to end by itself."""
    if not (ROOT / stage.needs).exists():
        return {"stage": stage.name, "left_out": f"there is no {stage.needs}"}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        if stage.tests:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
            command += stage.tests
        else:
            command = [*stage.command, "--seconds", f"{seconds:.0f}", "--seed", str(seed)]
            command += ["--device", device] if device else []
        print(f"attack: {stage.name}: {shlex.join(command)}", file=sys.stderr, flush=True)
        env = {**os.environ, **({"GPUOPT_DEVICE": device} if device else {})}
        env |= {"GPUOPT_HANGS": str(max(10, min(200, int(seconds))))}
        env |= {"GPUOPT_JUDGE_SEEDS": str(max(1, min(3, int(seconds / 60))))}
        env |= {"GPUOPT_MAGNITUDES_SECONDS": f"{seconds:.0f}", "GPUOPT_MAGNITUDES_SEED": str(seed)}
        begin = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, errors="replace", start_new_session=True
        )
        try:
            out, _ = process.communicate(timeout=1.5 * seconds + PATIENCE_S)
        except BaseException as error:  # of what the stage started nothing may stay behind
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            out = ""
        outcome = of_tests(stage.name, report) if stage.tests else last_object(out)
    if outcome is None:
        said = "\n".join(out.strip().splitlines()[-3:])
        outcome = {"crashes": [{"call": shlex.join(command), "said": f"exit code {process.returncode}: {said}"}]}
    return {"stage": stage.name, **outcome, "exit_code": process.returncode, "took_s": round(time.monotonic() - begin)}


def findings(outcome: Outcome) -> list[tuple[str, Any]]:
    """What of an outcome is a finding: each entry of each list, and a bad exit code that nothing explains."""
    found = [(kind, one) for kind, entries in outcome.items() if isinstance(entries, list) for one in entries]
    if not found and outcome.get("exit_code", 0) != 0:
        found.append(("exit code", outcome["exit_code"]))
    return found


def counts(outcome: Outcome) -> str:
    """The numbers of an outcome in words."""
    if "left_out" in outcome:
        return f"left out: {outcome['left_out'].splitlines()[0]}"
    told = [f"{value:,} {key.replace('_', ' ')}" for key, value in outcome.items()
            if isinstance(value, int) and key not in ("exit_code", "took_s")]  # fmt: skip
    told += [f"{len(value)} {key.replace('_', ' ')}" for key, value in outcome.items() if isinstance(value, list)]
    return ", ".join(told)


def table(outcomes: list[Outcome]) -> str:
    """A row a stage, in Markdown: what is promised, what was counted, how much was found."""
    promises = {stage.name: stage.promise for stage in STAGES}
    lines = ["| stage | promise | counted | found | s |", "| --- | --- | --- | ---: | ---: |"]
    for outcome in outcomes:
        found = "" if "left_out" in outcome else str(len(findings(outcome)))
        name = outcome["stage"]
        lines.append(
            f"| {name} | {promises.get(name, '')} | {counts(outcome)} | {found} | {outcome.get('took_s', '')} |"
        )
    return "\n".join(lines)


PATIENCE_S = 300  # for builds, and for the last case
MARKED = re.compile(r"(<!-- attack -->\n).*?(<!-- end -->)", re.DOTALL)


def page() -> str:
    """The text of PAGE with the tables of all stored outcomes."""
    parts = []
    for file in sorted(OUT.glob("*.json")):
        facts = json.loads(file.read_text(encoding="utf-8"))
        said = f"{facts['date']}, version {facts['version']}, {facts['hours']:g} h, seed {facts['seed']}"
        parts.append(f"### {facts['device']}\n\n{said}; `results/attack/{file.name}`.\n\n{table(facts['stages'])}\n")
    text = "\n".join(parts) or "No outcome is stored yet.\n"
    return MARKED.sub(lambda found: f"{found[1]}{text}{found[2]}", PAGE.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev attack", description=__doc__)
    parser.add_argument("hours", nargs="?", type=float, default=1.0, help="of all stages together (default 1)")
    parser.add_argument("--device", help="as GPUOPT_DEVICE takes it; by default the best")
    parser.add_argument("--seed", type=int, help="by default a new one, which is told")
    parser.add_argument("--stage", action="append", choices=[stage.name for stage in STAGES], help="these alone")
    parser.add_argument("--out", type=Path, help="the file for the outcome, by default results/attack/DEVICE.json")
    parser.add_argument("--page", action="store_true", help="only write the tables of stored outcomes into the page")
    given = parser.parse_args()
    if given.page:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    import gpuopt

    found = gpuopt.devices()
    chosen = gpuopt.selection.select(given.device) if given.device else found[0]
    seed = given.seed if given.seed is not None else int(time.time()) % 1_000_000
    wanted = [stage for stage in STAGES if not given.stage or stage.name in given.stage]
    whole = sum(stage.share for stage in wanted)
    outcomes: list[Outcome] = []
    name = "".join(letter if letter.isalnum() else "-" for letter in chosen.key.lower()).strip("-")
    path = given.out or OUT / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"device": chosen.key, "driver": chosen.driver, "version": gpuopt.__version__}
    facts |= {"commit": gpuopt._core.__commit__, "seed": seed, "hours": given.hours}
    facts |= {"date": datetime.date.today().isoformat(), "stages": outcomes}
    for stage in wanted:
        outcomes.append(run(stage, given.hours * 3600 * stage.share / whole, seed, str(chosen.index)))
        path.write_text(json.dumps(facts, indent=1) + "\n")  # after each stage: hours are not lost with the last
        for kind, one in findings(outcomes[-1]):
            print(f"{stage.name}: {kind}: {json.dumps(one)}", flush=True)
    print(f"\n{chosen.key}, seed {seed}\n\n{table(outcomes)}")
    print(f"\nwritten: {path}")
    if path.parent == OUT:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"written: {PAGE}")
    return 1 if any(findings(outcome) for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
