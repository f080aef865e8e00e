#!/usr/bin/env python3
"""Studies of kernels with one fault each: how many of them does `gpuopt study` find wrong?

    tools/mutants.py [--device D] [--jobs N] [--only TEXT] [--seconds T]

A mutant counts as found where the study gives the mutated variant no time because its result is wrong. One that does
not compile, or whose variant does not run on the device, is no mutant there: it is named, and not counted. Prints a
line for each, then one JSON object: {"stage": "mutants", "tried": N, "found": N, "missed": [...], "left_out": [...]}.
Ends with 1 where one was missed or none was tried.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from kernel_mutants import MUTANTS, Mutant  # noqa: E402
from unseen_mutants import OTHER_CALLS, OTHER_INPUTS, PAST_INPUTS, UNSEEN  # noqa: E402

__all__ = ["MUTANTS", "OTHER_CALLS", "OTHER_INPUTS", "PAST_INPUTS", "UNSEEN", "Mutant", "plant", "study"]

STUDY_S = 300.0  # a study of a small problem takes some seconds
KINDS = ("wrong", "compile", "unsupported", "constraints", "runtime", "ok")


def plant(mutant: Mutant, directory: Path) -> None:
    """Writes the mutated kernel below ``directory``. Raises ValueError where the text to replace is not there once."""
    text = (TREE / "kernels" / mutant.file).read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file}: {mutant.old!r} is there {text.count(mutant.old)} times; mend the table")
    target = directory / mutant.file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def statuses(rows: Path) -> list[tuple[str, str]]:
    """Status and reason of each variant that the study compared or failed to."""
    if not rows.exists():
        return []
    found = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    return [
        (row["status"], row.get("reason") or "")
        for row in found
        if row.get("kind") == "summary" and row.get("role") == "variant"
    ]


def study(mutant: Mutant, device: str, limit_s: float = STUDY_S) -> tuple[str, str]:
    """The word for what a study of the mutant says, one of KINDS or "crash", and its reason."""
    with tempfile.TemporaryDirectory(prefix="gpuopt-mutant-") as scratch:
        plant(mutant, Path(scratch, "kernels"))
        command = [
            sys.executable,
            "-m",
            "gpuopt",
            "study",
            *shlex.split(mutant.study),
            "--quick",
            "--no-plots",
            "--fresh",
        ]
        command += ["--device", device, "--out", str(Path(scratch, "out"))]
        environment = os.environ | {"GPUOPT_KERNEL_DIR": str(Path(scratch, "kernels"))}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit_s)
        found = statuses(Path(scratch, "out", "rows.jsonl"))
    for word in KINDS:
        for status, reason in found:
            if status == word:
                return word, reason
    return "crash", f"status {ran.returncode}: " + " ".join((ran.stderr or ran.stdout).split())[-300:]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--device", default="cpu")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--only", default="", help="mutants whose name, file or study has this text")
    options.add_argument("--seconds", type=float, default=0.0, help="begin no mutant after so many seconds")
    options.add_argument("--seed", type=int, default=0, help="ignored: the table is the same each time")
    given = options.parse_args()
    chosen = [mutant for mutant in MUTANTS + UNSEEN if given.only in " ".join((mutant.name, mutant.file, mutant.study))]
    began = time.monotonic()

    def judge(mutant: Mutant) -> tuple[str, str]:
        if given.seconds and time.monotonic() - began > given.seconds:
            return "late", "the time was up"
        try:
            return study(mutant, given.device)
        except subprocess.TimeoutExpired:
            return "crash", f"no end within {STUDY_S:g} s"

    found, missed, left_out = [], [], []
    with ThreadPoolExecutor(given.jobs) as pool:
        for mutant, (word, reason) in zip(chosen, pool.map(judge, chosen), strict=True):
            name = f"{mutant.file}: {mutant.name}"
            kept = found if word == "wrong" else missed if word in ("ok", "crash", "runtime") else left_out
            kept.append(name if kept is found else f"{name} ({word})")
            word_for = "found" if kept is found else "MISSED" if kept is missed else "left out"
            print(f"{word_for:<9} {name}: {reason or word}", flush=True)
    told = {"stage": "mutants", "device": given.device, "tried": len(found) + len(missed), "found": len(found)}
    print(json.dumps(told | {"not_run": len(left_out), "missed": missed}))  # those above say why
    return 1 if missed or not found else 0


if __name__ == "__main__":
    raise SystemExit(main())
