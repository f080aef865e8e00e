"""The C++ core under the compiler's sanitizers: ``python -m tests.hostile.sanitizers asan`` (addresses and undefined
behaviour) runs tests of the core, of readers and of variants, ``... tsan`` (data races) the threads of
``tests.hostile.threads``. Builds the core into ``build/<kind>`` first. The last line is one JSON object.

Reports are counted where the core is among the first frames: interpreters and drivers are not compiled this way, and of
their memory and locks a sanitizer knows half.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ASAN_TESTS = [
    "tests/core/test_arrays.py",
    "tests/core/test_relocation.py",
    "tests/cli/test_interrupts.py",  # what interrupted calls leave behind
    "tests/io",
    "tests/workloads/test_variants.py",
]
MOVED = "tests/core/test_relocation.py::"
# Of where memory lies, and with a library loaded before the others: a sanitizer has an allocator and such a library
# itself.
ASAN_NOT = (
    f"{MOVED}test_each_move_leads_to_another_place",
    f"{MOVED}test_a_driver_without_memory_leaves_the_plan_where_it_was",
)
FRAMES = 6  # from the top of a stack
# Here the C library frees thread-local memory of a thread that ended; its own locks, which order that, are not seen.
OF_ENDED_THREADS = "_dl_deallocate_tls"
BEGIN = re.compile(r"(ERROR: AddressSanitizer: .*|WARNING: ThreadSanitizer: .*|\S+:\d+:\d+: runtime error: .*)")


def build(kind: str) -> str:
    """Builds and installs the preset; returns what went wrong, or nothing."""
    own = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": own + os.pathsep + os.environ["PATH"]}
    for command in (
        ["cmake", "--preset", kind, f"-DPython_EXECUTABLE={sys.executable}"],
        ["cmake", "--build", "--preset", kind, "--target", "install"],
    ):
        try:
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        except FileNotFoundError:
            return "cmake is not installed"
        if done.returncode != 0:
            return f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-600:]}"
    (core,) = (ROOT / "build" / kind / "site" / "gpuopt").glob("_core.*.so")
    return "" if f"__{kind}_init".encode() in core.read_bytes() else f"{core} was not compiled with the sanitizer"


def library(name: str) -> str:
    return subprocess.run(["c++", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()


def environment(kind: str, logs: Path) -> dict[str, str]:
    """Of a process whose core is that of ``build/<kind>``; the interpreter's own is loaded first, the sanitizer's
    before."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    log, quiet = logs / "report", logs / "suppressions"
    quiet.write_text(f"race:{OF_ENDED_THREADS}\n")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "build" / kind / "site"), *packages]),
        "LD_PRELOAD": f"{library(f'lib{kind}.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=0:log_path={log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={log}",
        "TSAN_OPTIONS": f"exitcode=0:history_size=4:suppressions={quiet}:log_path={log}",
        "GPUOPT_CACHE_DIR": str(logs / "cache"),
        "GPUOPT_INTERRUPT_SECONDS": "10",  # such a core is slow
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def reports(logs: Path) -> list[str]:
    """What was reported with the core among the first frames, each once, with the frame."""
    found: dict[str, None] = {}
    for file in sorted(logs.glob("report*")):
        lines = file.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines):
            if not (begin := BEGIN.search(line)):
                continue
            if "runtime error" in line:  # only the core is compiled so that it says this
                found[begin.group(1)] = None
                continue
            stack = [each for each in lines[number : number + 40] if re.match(r"\s+#\d+ ", each)]
            first = [
                each
                for each in stack
                if int(each.split()[0][1:]) < FRAMES and ("gpuopt::" in each or "pybind11::" in each)
            ]
            if first:
                found[f"{begin.group(1).partition(' on address')[0]}: {first[0].strip()[:200]}"] = None
    return list(found)


def attack(kind: str, seconds: float, seed: int, device: str | None) -> dict[str, Any]:
    begin = time.monotonic()
    if wrong := build(kind):
        return {"stage": kind, "left_out": wrong}
    built_s = time.monotonic() - begin
    left = max(60.0, seconds - built_s)
    base = getattr(sys, "_base_executable", sys.executable)  # a virtual environment's own has another search path
    outcome: dict[str, Any] = {"stage": kind, "device": device, "built_s": round(built_s), "ran_s": 0, "reports": []}
    outcome |= {"crashes": []}
    if kind == "asan":
        command = [base, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *ASAN_TESTS]
        command += [word for name in ASAN_NOT for word in ("--deselect", name)]
    else:
        command = [base, "-m", "tests.hostile.threads", "--seconds", str(left / 2), "--seed", str(seed)]
        command += ["--device", device] if device else []
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment(kind, logs), capture_output=True, text=True, timeout=left
            )
            tail = done.stdout.strip().splitlines()[-1:] or [""]
            outcome["said"] = tail[0][:300]
            print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
            if done.returncode:
                outcome["crashes"].append({"call": " ".join(command), "said": f"exit code {done.returncode}"})
        except subprocess.TimeoutExpired:
            outcome["said"] = "ran until its time was over"
        outcome["ran_s"] = round(time.monotonic() - begin)
        outcome["reports"] = [{"call": kind, "said": line} for line in reports(logs)]
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("asan", "tsan"))
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", help="as gpuopt.use takes it")
    given = parser.parse_args()
    outcome = attack(given.kind, given.seconds, given.seed, given.device)
    for one in outcome.get("reports", []):
        print(one["said"])
    print(json.dumps(outcome))
    return 1 if outcome.get("reports") or outcome.get("crashes") else 0


if __name__ == "__main__":
    sys.exit(main())
