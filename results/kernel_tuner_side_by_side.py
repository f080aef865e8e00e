"""Kernel Tuner's OpenCL examples, searched by it and by gpuopt in turns: do the best configurations agree?

python results/kernel_tuner_side_by_side.py EXAMPLES --python PYTHON [--device D] [--rounds N] [--out FILE]

EXAMPLES is the folder examples/opencl of a checkout of Kernel Tuner: convolution.cl, matmul.cl and reduction.cl
are read as they are, but for the sizes that they define. PYTHON is an interpreter that has kernel_tuner and
pyopencl. Both search all of the same small space, with the same problem, in N rounds, one after the other;
which is first changes with the round. Both hold every configuration against a right answer before they time it.
Times are medians of a round's samples; of the reduction, which has two kernels, their sum. An interval is that of
the median over rounds, with 95 % confidence from 6 rounds on; of fewer rounds it is from the least to the largest.
``load1`` and ``others_load`` tell of the machine after each search: the load, and what others took or wanted of a core.

With --bests, no space is searched: of each example in FILE whose bests differ, both tools measure the two alone, in
N rounds. FILE then holds these rounds, too, and what they say is whether the bests agree.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

Levels = dict[str, int]
Times = dict[str, float]  # ms of a run by configuration


@dataclass(frozen=True)
class Example:
    """A file of Kernel Tuner's, its kernel, the sizes in place of the file's, and the space."""

    file: str
    kernel: str
    sizes: Mapping[str, int]
    space: Mapping[str, list[int]]
    restriction: str

    def text(self, folder: Path) -> str:
        """The kernel, with each `#define NAME 4096` of ``sizes`` changed."""
        text = (folder / self.file).read_text(encoding="utf-8")
        for name, size in self.sizes.items():
            if name != "n":
                assert f"#define {name} 4096" in text, name
                text = text.replace(f"#define {name} 4096", f"#define {name} {size}")
        return text

    def configurations(self) -> list[str]:
        """All that the restriction admits."""
        every = (dict(zip(self.space, levels, strict=True)) for levels in itertools.product(*self.space.values()))
        return [named(levels) for levels in every if eval(self.restriction, {}, dict(levels))]

    def within(self, configurations: list[str]) -> Example:
        """The same with these configurations alone."""
        chosen = [dict(level.split("=") for level in one.split(", ")) for one in configurations]
        space = {name: sorted({int(levels[name]) for levels in chosen}) for name in self.space}
        each = (" and ".join(f"{name} == {level}" for name, level in levels.items()) for levels in chosen)
        return replace(self, space=space, restriction=" or ".join(f"({one})" for one in each))


EXAMPLES = {
    "convolution": Example(
        "convolution.cl",
        "convolution_kernel",
        {"image_height": 512, "image_width": 512},
        {"block_size_x": [16, 32, 64], "block_size_y": [1, 4], "tile_size_x": [1, 2], "tile_size_y": [1, 4]},
        "block_size_y * tile_size_y <= 4",
    ),
    "matmul": Example(
        "matmul.cl",
        "matmul_kernel",
        {"WIDTH": 512},
        {"block_size_x": [16], "block_size_y": [4, 8, 16], "tile_size_x": [1, 2, 4], "tile_size_y": [1, 2, 4]},
        "block_size_x == block_size_y * tile_size_y",
    ),
    "reduction": Example(
        "reduction.cl",
        "sum_floats",
        {"n": 1 << 22},
        {"block_size_x": [64, 256, 1024], "vector": [1, 2, 4], "num_blocks": [32, 64, 256]},
        "block_size_x * vector >= num_blocks",  # so that one pass of one group adds the parts
    ),
}


def named(levels: Mapping[str, Any]) -> str:
    """`block_size_x=16, vector=2`, in the order of the names."""
    return ", ".join(f"{name}={int(level)}" for name, level in sorted(levels.items()))


# ---------------------------------------------------------------- gpuopt


def _convolve(image: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((n, n))
    for i, j in itertools.product(range(17), range(17)):
        out += weights[i, j] * image[i : i + n, j : j + n]
    return out


def ours(name: str, example: Example, folder: Path, device: str) -> Times:
    """What gpuopt measures of each configuration, ms."""
    from gpuopt import lab

    tiled = lab.launch(items=("w / tile_size_x", "h / tile_size_y"), local=("block_size_x", "block_size_y"))
    square = lab.launch(items=("n / tile_size_x", "n / tile_size_y"), local=("block_size_x", "block_size_y"))
    shared: dict[str, Any] = {"parameters": dict(example.space), "constraints": example.restriction}
    text, size = example.text(folder), next(iter(example.sizes.values()))
    if name == "convolution":
        kernel = lab.Kernel(
            text,
            example.kernel,
            arguments=[
                lab.output("out", ("h", "w")),
                lab.input("image", ("h + 16", "w + 16")),
                lab.constant("weights", (17, 17)),
            ],
            launch=tiled,
            reference=lambda image, weights: _convolve(image, weights, size),
            **shared,
        )
    elif name == "matmul":
        kernel = lab.Kernel(
            text,
            example.kernel,
            arguments=[lab.output("C", ("n", "n")), lab.input("A", ("n", "n")), lab.input("B", ("n", "n"))],
            launch=square,
            reference=lambda A, B: A @ B,
            tolerance=lab.rounding(lambda A, B: abs(A) @ abs(B), "n"),
            **shared,
        )
    else:
        kernel = _reduction(text, shared)
    sizes = {"h": size, "w": size} if name == "convolution" else {"n": size}
    found = lab.search(kernel, strategy="exhaustive", device=device, **sizes)
    return {named(one.levels): one.ms for one in found.results.results if one.ms is not None}


def _reduction(text: str, shared: dict[str, Any]) -> Any:
    from gpuopt import lab

    first = lab.launch(groups="num_blocks", local="block_size_x")
    return lab.Kernel(
        text,
        "reduction",
        arguments=[
            lab.output("total", 1),
            lab.scratch("parts", "num_blocks"),
            lab.input("x", "n"),
            lab.value("n"),
            lab.value("few", each="num_blocks"),
        ],
        stages=[
            lab.stage("sum_floats", "parts x n", first),
            lab.repeat(
                [lab.stage("sum_floats", "total parts few", lab.launch(groups=1, local="block_size_x"))], times=1
            ),
        ],
        reference=lambda x: x.sum(keepdims=True),
        tolerance=lab.rounding(lambda x: abs(x).sum(keepdims=True), "n"),
        **shared,
    )


# ---------------------------------------------------------------- Kernel Tuner


def _tuned(name: str, text: str, size: Any, arguments: list[Any], space: Any, device: list[int], **more: Any) -> Times:
    """What Kernel Tuner measures of each configuration, ms: the median of ten samples."""
    from kernel_tuner import tune_kernel

    found, _ = tune_kernel(
        name, text, size, arguments, space, lang="OpenCL", platform=device[0], device=device[1], iterations=10,
        quiet=True, **more,
    )  # fmt: skip
    times = [(one, one["times"]) for one in found if isinstance(one.get("time"), float)]
    return {named({key: one[key] for key in space}): statistics.median(samples) for one, samples in times}


def theirs(name: str, example: Example, folder: Path, device: list[int]) -> Times:
    """The example as Kernel Tuner's script has it, with the sizes and the space of this file."""
    random = np.random.default_rng(0)
    text, size, space = example.text(folder), next(iter(example.sizes.values())), dict(example.space)
    more: dict[str, Any] = {"restrictions": [example.restriction]}
    if name == "reduction":
        x = random.random(size, np.float32)
        right: list[Any] = [x.sum(), None, None]
        check = {"verify": lambda answer, got, atol=None: np.isclose(answer[0], np.sum(got[0]), rtol=1e-4)}
        parts = np.zeros(max(space["num_blocks"]), np.float32)
        given = [parts, x, np.int32(size)]
        whole = _tuned(
            example.kernel, text, "num_blocks", given, space, device, grid_div_x=[], answer=right, **more, **check
        )
        for few in space["num_blocks"]:  # the second kernel adds the parts in one group, at the same levels
            rest, given, right = {**space, "num_blocks": [1]}, [parts, x, np.int32(few)], [x[:few].sum(), None, None]
            second = _tuned(
                example.kernel, text, "num_blocks", given, rest, device, grid_div_x=[], answer=right, **check
            )
            for key, ms in second.items():
                total = key.replace("num_blocks=1,", f"num_blocks={few},")
                whole |= {total: whole[total] + ms} if total in whole else {}
        return whole
    more |= {"grid_div_x": ["block_size_x", "tile_size_x"], "grid_div_y": ["block_size_y", "tile_size_y"]}
    if name == "matmul":
        A, B = (random.standard_normal((size, size), np.float32) for _ in range(2))
        answer = [A @ B, None, None]
        return _tuned(
            example.kernel,
            text,
            (size, size),
            [np.zeros_like(A), A, B],
            space,
            device,
            answer=answer,
            atol=1e-2,
            **more,
        )
    image, weights = (random.standard_normal((n, n), np.float32) for n in (size + 16, 17))
    out = np.zeros((size, size), np.float32)
    answer = [_convolve(image, weights, size).astype(np.float32), None, None]
    given = [out, image, weights]
    return _tuned(example.kernel, text, (size, size), given, space, device, answer=answer, atol=1e-3, **more)


def their_setup(device: list[int]) -> dict[str, str]:
    """The versions that were used, and what their OpenCL calls the device."""
    from importlib.metadata import version

    import pyopencl

    found = pyopencl.get_platforms()[device[0]].get_devices()[device[1]]
    return {
        "kernel_tuner": version("kernel_tuner"),
        "pyopencl": version("pyopencl"),
        "device": f"{found.name} ({found.platform.name.strip()}), {found.driver_version}",
    }


# ---------------------------------------------------------------- side by side

BOTH = ("gpuopt", "Kernel Tuner")


def interval(values: list[float]) -> tuple[float, float, float]:
    """The median of rounds, and from where to where it may be."""
    ranked = sorted(values)
    most = sum(1 for one in (6, 9, 12, 15) if len(ranked) >= one) - 1  # how many may be left out at either end
    cut = max(0, most)
    return statistics.median(ranked), ranked[cut], ranked[len(ranked) - 1 - cut]


def rounded(values: tuple[float, ...] | list[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def compared(example: Example, rounds: list[dict[str, Times]]) -> dict[str, Any]:
    """The best configuration by each, and what each measured."""
    every = [key for key in example.configurations() if all(key in times for one in rounds for times in one.values())]
    middle = {who: {key: interval([one[who][key] for one in rounds])[0] for key in every} for who in BOTH}
    best = {who: min(every, key=lambda key, who=who: middle[who][key]) for who in BOTH}
    counts = {"sizes": dict(example.sizes), "configurations": len(example.configurations()), "compared": len(every)}
    return {**counts, **of_bests(every, best, rounds)}


def of_bests(every: list[str], best: dict[str, str], rounds: list[dict[str, Times]]) -> dict[str, Any]:
    """Of both bests what each measured: their times, and Kernel Tuner's best by gpuopt's. They agree where both are
    one, or where neither tool can tell them apart."""
    told: dict[str, Any] = {}
    for who in BOTH:
        times = {whose: interval([one[who][best[whose]] for one in rounds]) for whose in BOTH}
        (_, low, high), (_, other_low, other_high) = times.values()
        ratio = interval([one[who][best["Kernel Tuner"]] / one[who][best["gpuopt"]] for one in rounds])
        told[who] = {
            "verified": min(len(one[who]) for one in rounds),
            "best": best[who],
            "ms_of_best_by": {whose: rounded(times[whose]) for whose in BOTH},
            "they_overlap": low <= other_high and other_low <= high,
            "theirs_by_ours": rounded(ratio),
            "ms_of_rounds": {key: rounded([one[who][key] for one in rounds]) for key in every},
        }
    same = best["gpuopt"] == best["Kernel Tuner"]
    agree = same or all(one["theirs_by_ours"][1] <= 1 <= one["theirs_by_ours"][2] for one in told.values())
    return {"rounds": len(rounds), "same": same, "agree": agree, **told}


def compact(value: Any) -> str:
    """JSON with a line for each list of numbers."""
    text = json.dumps(value, indent=1)
    return re.sub(r"\[[^][{}]*\]", lambda found: f"[{' '.join(found[0][1:-1].split())}]", text) + "\n"


def main() -> None:
    """Rounds of both, then a line for each example, and all of it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--python", required=True, help="an interpreter with kernel_tuner and pyopencl")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--their-device", default="0,0", help="platform and device as Kernel Tuner counts them")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--only", action="append", choices=[*EXAMPLES])
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--bests", action="store_true", help="only the bests of the examples in --out, where they differ"
    )
    parser.add_argument("--theirs", help=argparse.SUPPRESS)
    parser.add_argument("--within", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.theirs:
        device = [int(one) for one in given.their_device.split(",")]
        if given.theirs == "setup":
            print(json.dumps(their_setup(device)))
        else:
            print(json.dumps(theirs(given.theirs, _example(given.theirs, given.within), given.examples, device)))
        return
    if given.bests and not given.out:
        parser.error("--bests needs --out")
    if given.bests:
        made = json.loads(given.out.read_text(encoding="utf-8"))
    else:
        made = {"date": str(datetime.date.today()), **_setup(given), "examples": {}}
    for name in given.only or EXAMPLES:
        if not given.bests:
            busy, rounds = _rounds(given, name)
            found = made["examples"][name] = {**busy, **compared(EXAMPLES[name], rounds)}
        elif not (searched := made["examples"][name])["same"]:
            best = {who: searched[who]["best"] for who in BOTH}
            busy, rounds = _rounds(given, name, [*best.values()])
            found = searched["bests_alone"] = {**busy, **of_bests([*best.values()], best, rounds)}
        else:
            continue
        told = {who: {key: value for key, value in found[who].items() if key != "ms_of_rounds"} for who in BOTH}
        print(name, json.dumps({**found, **told}), flush=True)
        if given.out:
            given.out.write_text(compact(made), encoding="utf-8")


def _example(name: str, within: list[str] | None) -> Example:
    return EXAMPLES[name].within(within) if within else EXAMPLES[name]


def _setup(given: argparse.Namespace) -> dict[str, Any]:
    """What measures, and on what."""
    from gpuopt.selection import select

    root, device = Path(__file__).parent, select(given.device)
    head = ["git", "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(head, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    return {
        "gpuopt": {"commit": commit, "device": f"{device.key}, {device.driver}", "cores": os.cpu_count()},
        "Kernel Tuner": _apart(given, "setup"),
    }


def _rounds(
    given: argparse.Namespace, name: str, within: list[str] | None = None
) -> tuple[dict[str, list[float]], list[dict[str, Times]]]:
    """How busy the machine was after each search, and each round's times of both."""
    from gpuopt.lab.device.conditions import Sampler
    from gpuopt.selection import select

    conditions = Sampler(select(given.device))
    rounds: list[dict[str, Times]] = []
    busy: dict[str, list[float]] = {"load1": [], "others_load": []}
    calls = {
        "gpuopt": lambda: ours(name, _example(name, within), given.examples, given.device),
        "Kernel Tuner": lambda: _apart(given, name, within),
    }
    for number in range(given.rounds + 1):  # the first fills the caches of both and does not count
        rounds.append({})
        conditions.note()
        for who in sorted(calls, reverse=bool(number % 2)):
            rounds[-1][who] = calls[who]()
            state = conditions.note()
            if number:
                for what, values in busy.items():
                    values.append(round(state.get(what) or 0.0, 2))
        print(f"{name}: round {number} of {given.rounds}", file=sys.stderr, flush=True)
    return busy, rounds[1:]


def _apart(given: argparse.Namespace, name: str, within: list[str] | None = None) -> dict[str, Any]:
    """Kernel Tuner's search, in a process of its own interpreter."""
    command = [given.python, __file__, str(given.examples), "--python", given.python, "--theirs", name]
    command += ["--their-device", given.their_device, *(["--within", *within] if within else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
