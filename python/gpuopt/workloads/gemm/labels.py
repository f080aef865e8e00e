"""The words of matrix products in tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping

from gpuopt import papers
from gpuopt.labels import Labels
from gpuopt.workloads.gemm.precision import FORMS

BLOCK = "paper:block_"  # how the presets of Yang's shapes of work-groups begin
_STEPS = {
    "paper:naive": "naive",
    "paper:variable_reduction": "variable reduction",
    "paper:unroll4": "unrolled 4 times",
    "paper:unroll8": "unrolled 8 times",
    "paper:unroll16": "unrolled 16 times",
    "paper:vector_type": "vector type (float4)",
    "paper:multiple_output": "multiple output (8 x float4)",
    "paper:constant": "constant memory, 16 x 128",
    "paper:constant_two_queues": "constant memory, two queues",
}


def _precision_of(parameters: Mapping[str, int]) -> str:
    """`tf32x3`; with sums that stay in the tensor core `tf32x3 in the unit`."""
    name = next((name for name, form in FORMS.items() if form.parameters.items() <= parameters.items()), "")
    return f"{name} in the unit" if name and parameters.get("PROMOTE") == 0 else name


def _subject(problem: str, sizes: Mapping[str, int]) -> str:
    """`1024^3`; `M 1024, N 16,384, K 1024`; how many of a batch; what its values are, where not uniform."""
    lengths = [sizes.get(name, 0) for name in "MNK"]
    size = f"{lengths[0]}^3" if len(set(lengths)) == 1 else ", ".join(f"{n} {sizes.get(n, 0)}" for n in "MNK")
    many = f"{sizes['batch']} of {size}" if sizes.get("batch") else size
    return ", ".join([many, *problem.split("_")[2:]])


LABELS = Labels(
    title="Matrix product",
    other_accuracy="ours, other precisions",
    other_accuracy_meaning="float32 numbers as sums of short ones (TYPE), PRODUCTS of whose products are taken; "
    "checked within what each allows, and taken where a call names the precision",
    shows_error=True,
    subject=_subject,
    precision_of=_precision_of,
    steps=_STEPS
    | {f"{preset}_image": f"{name}, textures" for preset, name in _STEPS.items() if "constant" not in preset}
    | {preset: preset.removeprefix(BLOCK).replace("x", " x ") for preset in papers.steps("gemm") if BLOCK in preset},
)
