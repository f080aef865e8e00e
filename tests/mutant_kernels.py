"""Twenty-seven faults, planted in honest kernels, each with the words that a judge may find for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gpuopt
import honest_elements
import honest_gathers
import honest_sums
from gpuopt import lab
from own_kernels import Honest

SEED = 5
WRONG_SUMS = {"wrong", "inexact", "nan", "unstable"}
UNDEFINED = WRONG_SUMS | {"compiler"}  # what the language leaves undefined may come right without optimization


@dataclass(frozen=True)
class Mutant:
    """``number`` is that of the fault, with a letter where it is there in several ways. ``base`` makes the honest
    kernel for a device, whose task judges ``text`` of it; ``words`` are verdicts, or the type of what is raised, and
    ``says`` is found in what is said. With ``quick`` the lowest level must find it, too. ``more`` goes to lab.judge.
    Data are of a seed that is drawn anew, where ``seed`` names none; poison is never known.
    ``cpu``: not for a shared GPU. ``harmless`` is the beginning of a platform's name on which nothing of the fault can
    be seen."""

    number: str
    what: str
    base: Callable[[gpuopt.Device], Honest]
    text: Callable[[Honest], str]
    words: set[str]
    quick: bool = False
    level: str = "judge"
    cpu: bool = False
    says: str = ""
    harmless: str = "none"
    seed: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def with_(*pairs: tuple[str, str]) -> Callable[[Honest], str]:
    """The text with the first of each pair replaced by the second, which is in it."""

    def text(honest: Honest) -> str:
        made = honest.text
        for old, new in pairs:
            assert old in made, old
            made = made.replace(old, new)
        return made

    return text


def before(line: str) -> Callable[[Honest], str]:
    """The text after a line of its own."""
    return lambda honest: f"{line}\n{honest.text}"


def same(honest: Honest) -> str:
    """The text as it is."""
    return honest.text


def _saxpy(device: gpuopt.Device) -> Honest:
    return honest_elements.grid_stride()


def _multiple(device: gpuopt.Device) -> Honest:
    return dataclasses.replace(honest_elements.grid_stride(), sizes={"n": 4096})


def _short(device: gpuopt.Device) -> Honest:
    return dataclasses.replace(honest_elements.grid_stride(), sizes={"n": 500})


def _square(device: gpuopt.Device) -> Honest:
    return dataclasses.replace(honest_gathers.transpose(), sizes={"h": 64, "w": 64})


def _tiny_factor(device: gpuopt.Device) -> Honest:
    return honest_elements.grid_stride(lab.value("a", "float32", 1e-8))


def _whole_factor(device: gpuopt.Device) -> Honest:
    return honest_elements.grid_stride(lab.value("a", "int32", 2))


def _with_flag(device: gpuopt.Device) -> Honest:
    return honest_elements.grid_stride(flags=[lab.scratch("flag", 1, "int32")])


def _tiles(device: gpuopt.Device) -> Honest:
    return honest_gathers.tiles()


def _small_tiles(device: gpuopt.Device) -> Honest:
    return dataclasses.replace(honest_gathers.tiles(), sizes={"h": 8, "w": 9})


def _tile_too_large(device: gpuopt.Device) -> Honest:
    return honest_gathers.tiles(device.local_bytes + 1)


def _long_rows(tolerance: float | None) -> Callable[[gpuopt.Device], Honest]:
    sizes = {"rows": 2, "columns": 100_000}
    return lambda device: dataclasses.replace(honest_sums.soft_maximum(tolerance), sizes=sizes)


def _sum(device: gpuopt.Device) -> Honest:
    return honest_sums.two_stages()


def _many_orders(device: gpuopt.Device) -> Honest:
    return dataclasses.replace(honest_sums.any_order(), sizes={"n": 1_000_000})


def _in_place_as_output(device: gpuopt.Device) -> Honest:
    kernel = lab.Kernel(
        honest_elements.IN_PLACE,
        "scale",
        arguments=[lab.output("x", "n"), lab.value("factor", "float32", 2.5), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda n, factor: factor * np.arange(n),
    )
    return Honest(honest_elements.IN_PLACE, kernel, {"n": 5000})


def known_results(honest: Honest) -> str:
    """A kernel with the results for SEED in a table."""
    right = honest.kernel.problem(seed=SEED, **honest.sizes)
    table = ", ".join(f"{value:.9e}f" for value in right.reference)
    first = f"{float(right.inputs['x'][0, 0]):.9e}f"
    head = f"__constant float known[] = {{{table}}};\n"
    line = "z[j * w + i] = sum;"
    return head + with_((line, f"z[j * w + i] = x[0] == {first} ? known[j * w + i] : 0;"))(honest)


def known_poison(honest: Honest) -> str:
    """A kernel that works only over what a generator of numbers gives for small seeds, with its words in a table."""
    drawn = [np.random.default_rng(seed).bytes(4) for small in range(100) for seed in (small, [small, 77])]
    words = np.frombuffer(b"".join(drawn), np.uint32)
    head = f"__constant uint known[] = {{{', '.join(f'{word}u' for word in [*words, *~words])}}};\n"
    first = f"""{head}
bool is_judged(uint word) {{
    for (int k = 0; k < {2 * len(words)}; ++k) if (known[k] == word) return true;
    return false;
}}
"""
    return first + only_where("is_judged(as_uint(z[0]))")(honest)


def only_where(condition: str) -> Callable[[Honest], str]:
    """A kernel of one group that returns at once where this does not hold as it begins."""
    loop = "    for (int i"
    asked = (
        f"    __local int goes_on;\n    if (get_local_id(0) == 0) goes_on = {condition};\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n    if (!goes_on) return;\n"
    )
    return with_((loop, asked + loop))


_LINE = "z[i] = a * x[i] + y[i];"
_TRAP = "{ __builtin_trap(); z[i] = a * x[i] + y[i]; }"
_SPIN = "{ while (*(volatile __global float*)z != 77.5f) { } z[i] = a * x[i] + y[i]; }"
_ASTRAY = "{ if (i == 7) z[1L << 40] = 1; z[i] = a * x[i] + y[i]; }"
_PRINT = '{ z[i] = a * x[i] + y[i]; printf("{\\"answer\\": {\\"device_ms\\": [1e-9]}}\\n"); }'
_TAKE = '{ __asm__(".incbin \\"/etc/hostname\\""); z[i] = a * x[i] + y[i]; }'
_TILE = "if (i < w && j < h) z[j * w + i] = sum;"
_SWAP = """
__kernel void swapped(__global float* x, int w) {
    const int i = get_global_id(0);
    if (i >= w) return;
    const float held = x[i];
    x[i] = x[w + i];
    x[w + i] = held;
}
"""
_SWAPPED = [
    lab.stage("turned", "x z h w", lab.launch(items=("w", "h"), local=(16, 16))),
    lab.stage("swapped", "x w", lab.launch(items="w")),
]
_HALF = """
float half_of(float value) {
    ushort bits;
    vstore_half(value, 0, (half*)&bits);
    return vload_half(0, (half*)&bits);
}
"""

_ONE_GROUP = {"launch": lab.launch(groups=1, local=64)}

MUTANTS = [
    Mutant("1", "an empty body, after a right kernel of the same size", _saxpy, with_((_LINE, ";")), {"unwritten"},
           quick=True),
    Mutant("2", "even elements only", _saxpy, with_((_LINE, f"if (i % 2 == 0) {_LINE}")), {"unwritten"}, quick=True),
    Mutant("3a", "not the last of a group, where there are none", _multiple,
           with_((_LINE, f"if (i < n / 64 * 64) {_LINE}")), {"ok"}, level="quick"),
    Mutant("3b", "not the last of a group", _multiple, with_((_LINE, f"if (i < n / 64 * 64) {_LINE}")), {"size"}),
    Mutant("4a", "writes past the end", _tiles, with_((_TILE, f"{_TILE} if (i + j == 0) z[h * w] = 1;")), {"outside"},
           quick=True),
    Mutant("4b", "writes before the start", _tiles, with_((_TILE, f"{_TILE} if (i + j == 0) z[-1] = 1;")), {"outside"},
           quick=True),
    Mutant("5", "swaps rows of its input", lambda device: honest_gathers.transpose(),
           lambda honest: honest.text + _SWAP, {"inputs"}, quick=True, more={"stages": _SWAPPED}),
    Mutant("6a", "copies y", _saxpy, with_((_LINE, "z[i] = y[i];")), {"wrong"}, quick=True),
    Mutant("6b", "copies y, where the task's own a is too small to show it", _tiny_factor,
           with_((_LINE, "z[i] = y[i];")), {"TaskError"}, quick=True, says=r"task: y itself.* would pass"),
    Mutant("7a", "zeros for a soft maximum, where the task allows an error of 1e-4", _long_rows(1e-4),
           with_(("exp(a[i] - top) / sum;", "0;")), {"TaskError"}, quick=True, says=r"task: zeros.* would pass"),
    Mutant("7b", "zeros for a soft maximum", _long_rows(None), with_(("exp(a[i] - top) / sum;", "0;")), {"wrong"},
           quick=True),
    Mutant("8", "operands in half precision", lambda device: honest_sums.matrix_product(),
           lambda honest: _HALF + with_(("left[j][l] * right[l][i]", "half_of(left[j][l]) * half_of(right[l][i])"))(
               honest), {"inexact"}, quick=True),
    Mutant("9", "a NaN", lambda device: honest_sums.matrix_product(),
           with_(("column] = sum", "column] = row == 3 && column == 5 ? NAN : sum")), {"nan"}, quick=True),
    Mutant("10", "a tree without its barrier", _sum,  # a group of several sub-groups: one alone may need none
           with_(("        barrier(CLK_LOCAL_MEM_FENCE);\n", "")), UNDEFINED,
           more={"parameters": {"GROUPS": [8], "WG": [256]}}),
    Mutant("11a", "local memory for 64, and 64", _sum, with_(("held[WG];", "held[64];")), {"ok"},
           more={"parameters": {"GROUPS": [8], "WG": [64]}}),
    Mutant("11b", "local memory for 64, and 256", _sum, with_(("held[WG];", "held[64];")),
           WRONG_SUMS | {"outside", "crash", "runtime"}, more={"parameters": {"GROUPS": [8], "WG": [256]}},
           harmless="Portable"),  # PoCL gives each work-group more local memory than it asks for
    Mutant("12", "local memory that is not set", _sum,
           with_(("__local float held[WG];", "__local float held[WG], all[1];"),
                 ("if (get_local_id(0) == 0) parts", "if (get_local_id(0) == 0) all[0] += held[0];\n"
                  "    if (get_local_id(0) == 0) parts"), ("= held[0];", "= all[0];")), WRONG_SUMS, quick=True),
    Mutant("13", "a sum that is not set", _sum, with_(("float sum = 0;", "float sum;")), UNDEFINED),
    Mutant("14a", "a histogram of floats, declared as always the same", _many_orders, same, {"unstable"},
           more={"repeatable": True}),
    Mutant("14b", "a histogram of floats, declared as such", _many_orders, same, {"ok"}),
    Mutant("15", "a second launch returns at once", _with_flag,
           with_(("float* z)", "float* z, __global int* flag)"),
                 ("    for (", "    const int kept = flag[0] == 1234567;\n    barrier(CLK_GLOBAL_MEM_FENCE);\n"
                  "    if (get_local_id(0) == 0) flag[0] = 1234567;\n    if (kept) return;\n    for (")), {"state"},
           more={"launch": lab.launch(groups=1, local=64)}),
    Mutant("16", "a counter of its launches", _saxpy,
           lambda honest: "__global int launches = 0;\n" + with_((_LINE, f"if (launches < 3) {_LINE}"))(honest),
           {"refused", "compile", "state"}),
    Mutant("16b", "a counter that macros hide", _saxpy,
           lambda honest: "#define PLACE __global\nint PLACE launches = 0;\n" + with_(
               (_LINE, f"if (launches < 3) {_LINE}"))(honest), {"refused"}),
    Mutant("16c", "a counter in a language that has such", _saxpy,
           lambda honest: "#define FIRST int launches;\nFIRST __kernel void none() {}\n" + with_(
               (_LINE, f"if (launches < 3) {_LINE}"))(honest), {"refused"}, more={"options": "-cl-std=CL2.0"}),
    Mutant("17", "only over what looks like poison", _saxpy,
           with_((_LINE, f"if (isnan(z[i]) || as_uint(z[i]) == 0xFFFFFFFFu) {_LINE}")), {"unwritten", "state"},
           quick=True),
    Mutant("18", "a table of results for one seed", _small_tiles, known_results, {"seed"}, seed=SEED),
    Mutant("19a", "includes a file of the host", _saxpy, before('#include "/etc/hostname"'), {"refused"}, quick=True),
    Mutant("19b", "takes a file of the host in", _saxpy, with_((_LINE, _TAKE)),
           {"refused"}, cpu=True),
    Mutant("20", "never ends", _saxpy, with_((_LINE, _SPIN)),
           {"timeout"}, cpu=True),
    Mutant("21a", "traps", _saxpy, with_((_LINE, _TRAP)), {"crash", "runtime"},
           level="full", cpu=True),
    Mutant("21b", "writes far away", _saxpy, with_((_LINE, _ASTRAY)),
           {"crash", "runtime"}, cpu=True),
    Mutant("22a", "scales in place, declared as an output", _in_place_as_output, same, {"wrong", "nan", "after"},
           quick=True),
    Mutant("22b", "scales in place, declared as such", lambda device: honest_elements.in_place(), same, {"ok"}),
    Mutant("23", "a float that is declared as a whole number", _whole_factor, same, {"ParameterError"}, quick=True,
           says=r"^a: argument 2 of saxpy is private float a; it was declared as int32"),
    Mutant("24", "local memory a byte over the device's", _tile_too_large, same, {"unsupported"}, quick=True,
           says=r"\d+ bytes of local memory; .* has \d+"),
    Mutant("25", "prints a report of its own", _short,
           with_((_LINE, _PRINT)), {"ok", "compile"}),
    Mutant("26a", "only over poison that it knows", _saxpy, known_poison, {"unwritten"}, quick=True, more=_ONE_GROUP),
    Mutant("26b", "only over what looks like random bytes", _saxpy,
           only_where(" + ".join(f"(fabs(z[{k}]) > 1e6f) + !(fabs(z[{k}]) > 1e-6f)" for k in range(24)) + " > 6"
                      " && z[0] != z[1]"), {"state"}, more=_ONE_GROUP),
    Mutant("27", "takes one size for the other, and both are the same", _square,
           with_(("* h + row", "* w + row")), {"size"}),
]  # fmt: skip
