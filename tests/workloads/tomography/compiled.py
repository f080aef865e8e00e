"""Jang et al. 2009, Table 3: back projections from buffers and from textures."""

from __future__ import annotations

from dataclasses import replace

from compiled.expectations import Expected, Mutant, Paper

SINES = {"sin float": 1, "cos float": 1}
ONE = SINES | {
    "load global streams float": 2,
    "load global projections float": 4,
}  # a view of a voxel: angle, height, taps
FOUR_VIEWS = {"sin float4": 1, "cos float4": 1, "load global streams float4": 2, "load global projections float": 16}
FOUR_VOXELS = SINES | {"load global streams float": 2, "load global projections float": 16}
WIDE_PLACE = {"atan2 float4": 1, "sqrt float4": 2, "clamp float8": 1}
ALONE = {"store global volume float": 1}

BUFFERS = {
    "naive": Expected(
        "Figures 1a and 2a: products and sums, a call for the channel and one for the row, four taps.",
        ONE | {"atan2 float": 1, "sqrt float": 2},
        "load global projections",
        ALONE,
        compiled="Sine and cosine are written twice and computed once; one of the roots is the weight's.",
    ),
    "intrinsics": Expected(
        "Figure 1b: dot products; still a call for the channel and one for the row.",
        ONE | {"atan2 float": 1, "sqrt float": 2, "dot float": 2, "clamp float": 2},
        "load global projections",
        ALONE,
    ),
    "alu": Expected(
        "Figures 1b and 2b: dot products, and one function for channel and row.",
        ONE | {"atan2 float": 1, "sqrt float": 2, "dot float": 2, "clamp float2": 1, "clamp float": 0},
        "load global projections",
        ALONE,
    ),
    "vector_input": Expected(
        "4.2: streams of float4, four views at once, a voxel a work-item.",
        FOUR_VIEWS | WIDE_PLACE,
        "load global projections",
        ALONE,
    ),
    "vector_output": Expected(
        "4.2: four voxels a work-item, stored as float4, a view at a time.",
        FOUR_VOXELS | WIDE_PLACE,
        "load global projections",
        {"store global volume float4": 1},
    ),
}


def from_images(expected: Expected) -> Expected:
    """Loads of streams and projections are reads of pixels."""
    loop = {key: count for key, count in expected.loop.items() if not key.startswith("load")}
    loop["image projections"] = expected.loop["load global projections float"]
    loop["image streams"] = 2
    return replace(expected, loop=loop, by="image")


STEPS = {f"paper:{name}": expected for name, expected in BUFFERS.items()}
STEPS |= {f"paper:{name}_image": from_images(expected) for name, expected in BUFFERS.items()}
ARC, SHARED = "tomography/include/arc.cl", "tomography/include/intrinsics.cl"
PAPER = Paper(
    "tomography",
    "helix-arc adjoint",
    STEPS,
    (
        Mutant(
            "takes sines and cosines from a stream",
            ("paper:naive",),
            "tomography/naive.cl",
            "px * COSINE(angle) + py * SINE(angle)",
            "px * OF_STREAM(3, i) + py * OF_STREAM(2, i)",
            "loop: ",
        ),
        Mutant(
            "has an intrinsic already",
            ("paper:naive_image",),
            "tomography/naive.cl",
            "w * RECIP(ROOT(s * s + depth * depth))",
            "w * rsqrt(s * s + depth * depth)",
            "loop: rsqrt float: 1, not 0",
        ),
        Mutant(
            "takes sines and cosines from streams",
            ("paper:intrinsics", "paper:intrinsics_image", "paper:vector_output"),
            ARC,
            "#if TABLE",
            "#if 1",
            "loop: sin ",
        ),
        Mutant(
            "writes a dot product out",
            ("paper:intrinsics", "paper:alu"),
            SHARED,
            "const float s = dot(place, e),",
            "const float s = place.x * e.x + place.y * e.y,",
            "loop: dot float: 1, not 2",
        ),
        Mutant(
            "takes the arc tangent of a quotient",
            ("paper:intrinsics", "paper:vector_input"),
            SHARED,
            "atan2(s, depth)",
            "atan((s) * RECIP(depth))",
            "loop: atan float",
        ),
        Mutant(
            "finds channel and row by a function for each",
            ("paper:alu_image",),
            "tomography/alu.cl",
            "const Places j = locpix(BETA(s, depth), SLOPE(w, square), columns, rows, arc);",
            "const Place a = locpix1(BETA(s, depth), columns, CHANNELS, MIDDLE_CHANNEL);\n"
            "        const Place b = locpix1(SLOPE(w, square), rows, ROWS, MIDDLE_ROW);\n"
            "        const Places j = {(float2)(a.before, b.before), (float2)(a.behind, b.behind)};",
            "loop: clamp float2: 0, not 1",
        ),
        Mutant(
            "reads streams by scalars",
            ("paper:vector_input",),
            ARC,
            "vload4((views + 3) / 4 * (number) + (index), streams)",
            "((float4)(ONE_OF(number, index, 0), ONE_OF(number, index, 1), ONE_OF(number, index, 2),"
            " ONE_OF(number, index, 3)))\n"
            "#define ONE_OF(number, index, lane) streams[(views + 3) / 4 * 4 * (number) + 4 * (index) + lane]",
            "loop: load global streams float: 8, not 0",
        ),
        Mutant(
            "reads each tap twice",
            ("paper:vector_input_image", "paper:vector_output_image"),
            ARC,
            "#define PIXEL(column, row) read_imagef(projections, nearest, (int4)(column, row, view, 0)).x",
            "#define PIXEL(column, row) (TAP_OF(column, row) + 0 * TAP_OF(column, row))\n"
            "#define TAP_OF(column, row) read_imagef(projections, nearest, (int4)(column, row, view, 0)).x",
            "loop: image projections: ",
        ),
        Mutant(
            "stores four voxels one by one",
            ("paper:vector_output",),
            "tomography/vector_output.cl",
            "if (x + 4 <= nx) {",
            "if (false) {",
            "whole: store global volume float4: 0, not 1",
        ),
    ),
)
