"""What GEMM's variants run on: products at awkward sizes, transposed or not, with an addend or without, in batches."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.configuration import complete
from gpuopt.problem import BoundPlan, Problem
from gpuopt.workloads.common import rounding
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.operation import prepare_gemm
from gpuopt.workloads.gemm.precision import FORMS
from harness import Room, Run, as_it_stands, draws, every_level, on, presets

# M, N, K: below every tile, odd, even, beyond tiles on each side, flat, tall and deep. Rows of the first and third are
# aligned: kernels that load widely are two programs.
SIZES = ["64x64x64", "1x1x1", "128x4x256", "37x53x29", "130x67x259", "3x301x5", "301x3x33"]
AWKWARD = "130x67x259"


@dataclass(frozen=True)
class Form:
    """Everything of a product but its size."""

    dtype: str = "float32"
    transposes: str = "nn"
    addend: bool = False
    batch: int = 0

    def of(self, *sizes: str) -> list[str]:
        """The names of products of this form."""
        batch = f" x{self.batch}" if self.batch else ""
        return [f"{size} {self.dtype} {self.transposes}{'+' * self.addend}{batch}" for size in sizes]

    @classmethod
    def named(cls, name: str) -> tuple[str, Form]:
        size, dtype, form, *batch = name.split()
        return size, cls(dtype, form[:2], form.endswith("+"), int(batch[0][1:]) if batch else 0)


PLAIN = Form()
# Every transpose in one dtype, half of them with an addend: a program each.
FORMS_OF_PRODUCTS = [Form("float32", "tn", True), Form("float64", "nt", True), Form("float64", "tt", False)]


@functools.lru_cache(maxsize=64)
def product(name: str) -> tuple[list[np.ndarray | None], dict[str, float | bool], np.ndarray, np.ndarray]:
    """A, B and C (None without an addend), the other arguments, the product, and what its errors scale with."""
    size, form = Form.named(name)
    m, n, k = map(int, size.split("x"))
    draw = np.random.default_rng(m + n + k)

    def matrix(rows: int, columns: int) -> np.ndarray:
        shape = (form.batch, rows, columns) if form.batch else (rows, columns)
        return draw.uniform(-1, 1, shape).astype(form.dtype)

    numbers: dict[str, float | bool] = {"alpha": -1.5, "beta": 0.5} if form.addend else {}
    numbers |= {"transpose_a": form.transposes[0] == "t", "transpose_b": form.transposes[1] == "t"}
    a = matrix(k, m) if numbers["transpose_a"] else matrix(m, k)
    b = matrix(n, k) if numbers["transpose_b"] else matrix(k, n)
    given = [a, b, matrix(m, n) if form.addend else None]
    return given, numbers, oracle.product(*given, **numbers), oracle.magnitude(*given, **numbers)  # type: ignore[arg-type]


def form_of(configuration: Configuration) -> object:
    """How a configuration of `tensor` splits its operands; None where it has no accuracy of its own."""
    levels = complete("gemm", configuration).parameters
    found = next((form for form in FORMS.values() if form.parameters.items() <= levels.items()), None)
    return None if levels["PROMOTE"] == 0 else found


def make(name: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    if configuration.variant == "tensor" and form_of(configuration) is None:
        pytest.skip(f"{configuration} has no accuracy of its own")
    host, numbers, exact, magnitude = product(name)
    k, dtype = int(name.split()[0].split("x")[2]), exact_dtype(name)

    def tolerance(configuration: Configuration) -> np.ndarray:
        if configuration.variant == "tensor":
            return form_of(configuration).tolerance(k) * magnitude  # type: ignore[attr-defined]
        return rounding.tolerance(magnitude, k, dtype)

    def prepare(configuration: Configuration, device: gpuopt.Device) -> BoundPlan:
        out = _core.empty(exact.shape, dtype, device, True)
        a, b, c = (None if array is None else _core.to_device(array, device, True) for array in host)
        return BoundPlan(prepare_gemm(a, b, out, configuration, C=c, **numbers), out)  # type: ignore[arg-type]

    m, n = exact.shape[-2:]
    return Problem(
        "gemm", name, dtype, {"M": m, "N": n, "K": k}, 0, {}, exact, tolerance(configuration), exact.size, prepare
    )


def exact_dtype(name: str) -> np.dtype:
    return np.dtype(Form.named(name)[1].dtype)


# What levels are tried beside where the standard ones write out loops that take seconds to compile.
BASES = {"packed": {"ROWS": 4, "WIDTH": 4}}
STANDARD = [as_it_stands(variant) for variant in gpuopt.variants("gemm")]
# One program for most of what is not about kernels, and panels that take many launches.
LEAN = [Configuration("naive", LOCAL_X=16, LOCAL_Y=1), Configuration("constant", HEIGHT=8, DEPTH=32, LOCAL=64)]
SMALL_TILES = {"ROWS": 4, "VECTORS": 2, "WIDTH": 4, "DEPTH": 128}
AS_IT_LIES = Configuration("packed", **SMALL_TILES | {"VECTORS": 1, "PASS": 0})
# Several blocks down and across, several parts of k that meet in the result, edges of each, and one A for all.
BLOCKS = [
    *Form(addend=True).of("70x90x300", "128x64x384", "5x130x129"),
    *Form(transposes="tt", addend=True, batch=2).of("70x90x300", "3x7x256"),
]
# More rows, and more matrices, than a launch has groups.
LONG = Form(transposes="tn", addend=True).of("65600x2x3", "70001x1x40")
MANY = Form(batch=65_537).of("1x2x3")

# The steps that fetch from images, at every edge of a texel, a row and a work-group.
TEXTURES = [
    Configuration("naive", TEXTURE=1),
    Configuration("naive", TEXTURE=1, PAIRS=1),
    Configuration("reduced", TEXTURE=1),
    Configuration("unrolled", TEXTURE=1, UNROLL=8),
    Configuration("unrolled", TEXTURE=1, UNROLL=8, PAIRS=1),
    Configuration("vectorized", TEXTURE=1, LOCAL_Y=4),
    Configuration("multiple_output", TEXTURE=1),
]
OF_IMAGES = [*PLAIN.of(*SIZES), *Form(transposes="tn", addend=True).of(AWKWARD), *Form(transposes="nt").of("7x6x5")]


def refusals(device: gpuopt.Device, configuration: Configuration, problem: Problem) -> tuple[set[str], set[str]] | None:
    """What images cannot hold; None for what no image has to."""
    if not configuration.parameters.get("TEXTURE"):
        return None
    if not device.image_support:
        return {"has no images"}, {"hold float32", "not a batch"}
    short, batch = {"hold float32"}, {"not a batch"}
    refused = short if problem.dtype == "float64" else batch if problem.reference.ndim == 3 else set()
    return refused, short | batch


ROOM = Room(
    make,
    {
        "sizes": Run([(configuration, PLAIN.of(*SIZES)) for configuration in STANDARD]),
        "forms": Run(
            [
                (
                    configuration,
                    form.of(AWKWARD, "37x53x29")
                    + Form(form.dtype, form.transposes, form.addend, batch=3).of("33x18x65"),
                )
                for configuration in (*STANDARD, AS_IT_LIES)
                for form in FORMS_OF_PRODUCTS
            ],
            thin=3,
        ),
        "textures": Run([(configuration, OF_IMAGES) for configuration in TEXTURES]),
        "not_in_images": Run(
            [
                (Configuration("naive", TEXTURE=1), Form("float64").of("3x4x5") + Form(batch=2).of("3x4x5")),
                (Configuration("vectorized", TEXTURE=1), Form(batch=2).of("3x4x5")),
            ]
        ),
        "parts": Run(
            [
                (Configuration("register_tile", SPLIT=parts), form.of("5x3x1024", "37x29x515", "37x53x29"))
                for form in FORMS_OF_PRODUCTS
                for parts in (4, 64)
            ],
            thin=3,
        ),
        # Whole vectors and not, both ways to lie, whole depths and rests, parts of k, either side the shorter.
        "thin": Run(
            [
                (
                    Configuration("thin", HOLD=hold, EACH=4, SPLIT=split),
                    Form(transposes=lies, addend=hold == 2).of("1x512x2048", "5x301x1031", "512x17x1024", "259x3x515"),
                )
                for hold, split in ((1, 1), (2, 8), (16, 1))
                for lies in ("nn", "tt")
            ],
            thin=3,
        ),
        # Whole vectors, lines, panels and fours of k, and not; both ways to lie; parts of k; either side the shorter.
        "vector": Run(
            [
                (
                    Configuration("vector", WIDTH=width, LINES=4, PANEL=256, SPLIT=split),
                    Form(dtype, transposes=lies, addend=split == 4).of(
                        "1x512x2048", "1x301x1031", "517x1x513", "3x259x66"
                    ),
                )
                for dtype, width, split in (("float32", 16, 1), ("float32", 4, 4), ("float64", 8, 4))
                for lies in ("nn", "tt", "nt")
            ],
            thin=3,
        ),
        "levels": Run(on(*PLAIN.of(AWKWARD), every_level("gemm", BASES)), thin=12),
        "drawn": Run(on(*Form(transposes="nt").of(AWKWARD), draws("gemm", 1)), thin=2),
        "presets": Run(on(*PLAIN.of("37x53x29"), presets("gemm")), thin=3),
        "long": Run([(configuration, [name]) for name in LONG for configuration in LEAN] + [(LEAN[0], MANY)]),
        "blocks": Run(
            [
                (Configuration("packed", **SMALL_TILES, PANELS=panels, ITEMS=items, PASS=by_pass), BLOCKS)
                for panels, items, by_pass in ((1, 1, 1), (8, 4, 1), (4, 2, 0))
            ]
        ),
        # Odd and even numbers of tiles down, one tile alone, one A for all, several parts of k that meet in the result.
        "queues": Run(
            [
                (
                    Configuration("constant", HEIGHT=8, DEPTH=32, TILES=1, LOCAL=64, QUEUES=queues),
                    [
                        *Form(transposes="tn", addend=True).of("1x1x1", "8x70x200", "24x33x300", "32x9x65"),
                        *Form(addend=True, batch=2).of("17x21x70"),
                    ],
                )
                for queues in (1, 2)
            ]
        ),
        "panels": Run(
            [
                (
                    Configuration("constant", HEIGHT=8, DEPTH=64, TILES=tiles, LOCAL=64),
                    Form(transposes="tn").of("1x1x1", "8x5x64", "9x5x65", "530x70x130"),
                )
                for tiles in (0, 1)
            ]
        ),
    },
    refusals,
)
