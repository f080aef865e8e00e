"""The questions: each is a study over the one table, in the words its users use."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import pytest

import gpuopt
from gpuopt import ParameterError, microbench, problems
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import Row, complete
from gpuopt.lab.show.points import element_name, rate_of, remarks, sheet
from gpuopt.selection import reads_ptx
from gpuopt.workloads.microbench import questions, rates
from gpuopt.workloads.microbench.points import Point

SMALL = 1 << 16


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch, brief_quick: None) -> None:
    """Loops of a few trips: what is tested here is no speed."""
    tiny = {"bytes": 1e5, "flops": 1e5, "tensor": 1e5, "special": 1e4, "fetch": 1e3}
    monkeypatch.setattr(questions, "_RUN", {"gpu": tiny, "cpu": tiny})
    monkeypatch.setattr(questions, "_LOADS", 64)
    monkeypatch.setattr(questions, "memory_bytes", lambda device: 1 << 18)
    monkeypatch.setattr(rates, "memory_bytes", lambda device: 1 << 18)


def good(study: Study) -> set[str]:
    """The variants that ran; whatever did not says why."""
    assert study.points
    for row in study.points:
        assert row["status"] in ("ok", "unsupported", "constraints"), row["reason"]
        assert row["status"] == "ok" or row["reason"]
        assert row["status"] != "ok" or rate_of(row)[0]
    assert study.to_text(100)
    return {row["variant"] for row in study.points if row["status"] == "ok"}


QUESTIONS = {
    "copy": (lambda d: microbench.copy_bandwidth("float4", SMALL, device=d), {"copy_chunks"}),
    "copy-narrow": (lambda d: microbench.copy_bandwidth("char", SMALL, device=d), {"copy", "copy_packed"}),
    "copy-wide": (lambda d: microbench.copy_bandwidth("struct5", SMALL, device=d), {"copy", "copy_staged"}),
    "copy-pattern": (lambda d: microbench.copy_bandwidth("float", SMALL, "coalesced", 64, device=d), {"copy"}),
    "read": (lambda d: microbench.read_bandwidth("double2", SMALL, device=d), {"read_chunks"}),
    "write": (lambda d: microbench.write_bandwidth("short4", SMALL, device=d), {"write_chunks"}),
    "triad": (lambda d: microbench.triad_bandwidth("float4", SMALL, device=d), {"triad_chunks"}),
    "constant": (lambda d: microbench.cache_bandwidth("constant", uniform=True, device=d), {"constant"}),
    "local": (lambda d: microbench.cache_bandwidth("local", device=d), {"local"}),
    "image2d": (lambda d: microbench.cache_bandwidth("image2d", device=d), {"image2d"}),
    "l2": (lambda d: microbench.cache_bandwidth("l2", device=d), {"reread_chunks"}),
    "working-sets": (lambda d: microbench.working_sets([16384, 1 << 20], device=d), {"reread_chunks"}),
    "adjacent": (lambda d: microbench.access_pattern("adjacent", SMALL, device=d), {"adjacent", "adjacent_vector"}),
    "row": (lambda d: microbench.access_pattern("row", SMALL, device=d), {"row", "row_tile"}),
    "strided": (lambda d: microbench.access_pattern("strided", SMALL, device=d), {"strided"}),
    "flops": (lambda d: microbench.flops("float", 8, device=d), {"fma", "fma_add"}),
    "special": (lambda d: microbench.special("native_rsqrt", device=d), {"native_rsqrt"}),
    "integer": (lambda d: microbench.integer("int_mad", device=d), {"int_mad"}),
    "tensor": (lambda d: microbench.tensor("mma_bf16", device=d), {"mma_bf16"}),
    "latency": (lambda d: microbench.latency("global", 1 << 15, device=d), {"chase"}),
    "latency-local": (lambda d: microbench.latency("local", device=d), {"chase_local"}),
    "launch": (lambda d: microbench.launch_overhead(device=d), {"nothing"}),
    "transfer": (lambda d: microbench.transfer("upload", True, SMALL, device=d), {"upload"}),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(any_device: gpuopt.Device, question: str) -> None:
    ask, expected = QUESTIONS[question]
    if question == "tensor" and not reads_ptx(any_device):
        expected = set()
    if any_device.type != "cpu" and any(name.endswith("_chunks") for name in expected):
        expected = {name.removesuffix("_chunks") for name in expected}
    assert good(ask(any_device)) == expected


def test_block_dimensions(any_device: gpuopt.Device) -> None:
    study = microbench.block_dimensions("copy2d", 64, device=any_device)
    assert good(study) == {"copy2d"}
    shapes = {(row["params"]["LOCAL_X"], row["params"]["LOCAL_Y"]) for row in study.points}
    assert {(16, 16), (32, 8), (8, 32), (1, 64)} <= shapes
    assert all(64 <= x * y <= 1024 for x, y in shapes)


def test_concurrency_asks_every_number_of_groups(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    survey = rates.ask

    def few(wanted: list[Point], *rest: object) -> Study:
        asked.extend(point.configuration.parameters["GROUPS"] for point in wanted)
        return survey([point for point in wanted if point.configuration.parameters["GROUPS"] <= 2], *rest)

    monkeypatch.setattr(rates, "ask", few)
    assert good(microbench.concurrency(device=any_device)) == {"waves"}
    waves = next(row for row in gpuopt.variants("microbench") if row.name == "waves")
    assert asked == next(p.levels for p in waves.parameters if p.name == "GROUPS")
    assert asked == sorted(asked)
    assert asked[0] == 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: microbench.copy_bandwidth("flout4"), "dtype: 'flout4' is none; use char, uchar"),
        (lambda: microbench.copy_bandwidth("float5"), "dtype: 'float5' is none"),
        (lambda: microbench.read_bandwidth("struct5"), "copy_bandwidth takes them"),
        (lambda: microbench.copy_bandwidth(pattern="zigzag"), "use one of coalesced, chunks, packed, staged"),
        (lambda: microbench.copy_bandwidth(local_size=100), "local_size: 100 is not one of its levels"),
        (lambda: microbench.cache_bandwidth("l9"), "use one of constant, local, image1d"),
        (lambda: microbench.access_pattern("diagonal"), "use one of adjacent, row"),
        (lambda: microbench.block_dimensions("copy3d"), "use one of copy2d, transpose"),
        (lambda: microbench.activation_matrix("cosine"), "use one of pow, exp, pown, product"),
        (lambda: microbench.activation_matrix(sizes=(0,)), "sizes: 0; a size is at least 1"),
        (
            lambda: microbench.working_sets(itertools.count(1)),
            "sizes: it goes on after 10,000; give fewer whole numbers",
        ),
        (lambda: microbench.branches(itertools.repeat(1)), "paths: it goes on after 10,000; give fewer whole numbers"),
        (lambda: microbench.branches(3), "paths: 3 is not one of its levels for branches; use one of 1, 2, 4"),
        (lambda: microbench.branches([2, 3]), "paths: 3 is not one of its levels for branches; use one of 1, 2, 4"),
        (lambda: microbench.registers(100), "live: 100 is not one of its levels for registers"),
        (lambda: microbench.special("gamma"), "use one of native_rsqrt"),
        (lambda: microbench.integer("add"), "use one of int_mad"),
        (lambda: microbench.tensor("mma_fp8"), "use one of mma_fp16, mma_bf16, mma_tf32"),
        (lambda: microbench.latency("disk"), "use one of global, local, constant"),
        (lambda: microbench.transfer("sideways"), "use upload or download"),
        (lambda: microbench.transfer(bytes=0), "bytes: 0 is out of range"),
        (lambda: microbench.latency(working_set=-1), "working_set: -1; a size is at least 1"),
        (lambda: microbench.latency(working_set=2**62), "working_set: a source of 4,611,686,018,427,387,904 b"),
        (lambda: microbench.working_sets([2**60]), "sizes: a source of 1,152,921,504,606,846,976 bytes needs"),
        (lambda: microbench.flops(speed="fast"), "speed: no such argument"),
    ],
)
def test_unknown_names_list_the_valid_ones(ask: object, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ask()  # type: ignore[operator]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: microbench.block_dimensions("copy2d", width=10**6), "width: a source of 4,000,000,000,000 b"),
        (lambda: microbench.activation_matrix("pow", [10**6]), "sizes: a source of 8,000,000,000,000 bytes needs"),
        (lambda: microbench.activation_matrix("pow", [2**31]), "sizes: 2147483648; give the number of scalars"),
        (lambda: microbench.working_sets([16384], "ulong3"), "dtype: width 3 is not one of its levels for reread"),
        (lambda: microbench.copy_bandwidth("struct7"), "dtype: width 7 is not one of its levels for copy; use"),
        (lambda: microbench.read_bandwidth("int3"), "dtype: width 3 is not one of its levels for read"),
        (lambda: microbench.special("divide", "float2"), "dtype: width 2 is not one of its levels for divide"),
        (lambda: microbench.flops("float3"), "dtype: width 3 is not one of its levels for fma"),
        (lambda: microbench.flops("float", 3), "width: 3 is not one of its levels for fma"),
    ],
)
def test_errors_name_an_argument_of_the_function(ask: Callable[[], Study], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ask()
    assert str(caught.value).startswith(message)


CHUNKS = "local_size: {}_chunks has no choice of it; leave it out, or use pattern 'coalesced'"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: microbench.read_bandwidth("float4", SMALL, "chunks", 64), CHUNKS.format("read")),
        (lambda: microbench.copy_bandwidth("float4", SMALL, "chunks", 64), CHUNKS.format("copy")),
        (lambda: microbench.copy_bandwidth("struct8", SMALL, "chunks"), "dtype: 'struct8' is a struct, and copy_"),
        (lambda: microbench.copy_bandwidth("char4", SMALL, "packed"), "dtype: 'char4' is a vector, and copy_packed"),
        (lambda: microbench.copy_bandwidth("struct5", SMALL, "packed"), "dtype: 'struct5' is a struct, and copy_p"),
        (lambda: microbench.copy_bandwidth("float8", SMALL, "staged"), "dtype: 'float8' is no struct, and copy_staged"),
        (lambda: microbench.working_sets([16384], "struct4"), "dtype: 'struct4' is a struct, and reread"),
        (lambda: microbench.branches(2, 16, True, "float4"), "dtype: 'float4' is a vector, and branches takes none"),
        (lambda: microbench.registers(8, dtype="struct5"), "dtype: 'struct5' is a struct, and registers takes none"),
        (lambda: microbench.special("sqrt", "struct4"), "dtype: 'struct4' is a struct, and sqrt takes none; use"),
        (lambda: microbench.special("divide", "int"), "dtype: 'int' is no type of divide; use float, double"),
        (lambda: microbench.flops("int"), "dtype: 'int' is no type of fma, fma_add; use half, float, double"),
        (lambda: microbench.integer("int_mad", "float"), "dtype: 'float' is no type of int_mad; use int, uint, long"),
        (lambda: microbench.triad_bandwidth("char", SMALL), "dtype: 'char' is no type of triad"),
        (lambda: microbench.flops("double4", 2), "width: 2, but 'double4' has 4; leave it out, or give the type of a"),
        (lambda: microbench.cache_bandwidth("l1", uniform=True), "uniform: it is of constant memory; leave it None"),
    ],
)
def test_what_would_have_no_effect_is_refused(ask: Callable[[], Study], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ask()
    assert str(caught.value).startswith(message)


def test_an_argument_that_no_question_has_is_named_as_it_was_given() -> None:
    asks: list[Callable[..., Study]] = [microbench.latency, microbench.working_sets, microbench.block_dimensions]
    for ask in asks:
        for name in ("bytes", "width", "colour"):
            if name not in inspect.signature(ask).parameters:
                with pytest.raises(ParameterError, match=f"^{name}: no such argument; ") as caught:
                    ask(**{name: 4096})
                assert caught.value.argument == name


def test_the_width_of_a_type_is_used(any_device: gpuopt.Device) -> None:
    def widths(study: Study) -> set[int | None]:
        return {row["params"].get("WIDTH") for row in study.points}

    how = {"device": any_device, "protocol": "quick"}
    assert widths(microbench.special("native_rsqrt", "float4", **how)) == {4}
    assert widths(microbench.integer("int_mad", "uint2", **how)) == {2}
    assert widths(microbench.flops("float8", **how)) == widths(microbench.flops("float8", 8, **how)) == {8}
    assert widths(microbench.working_sets([16384], "float4", **how)) == {4}


@pytest.mark.parametrize(
    ("pattern", "has", "lacks"),
    [("packed", "char", "char2"), ("staged", "struct5", "float8"), ("chunks", "float8", "float3")],
)
def test_all_types_are_those_that_the_pattern_has(
    pattern: str, has: str, lacks: str, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = questions.types_for(pattern)
    assert has in types
    assert lacks not in types
    monkeypatch.setattr(microbench, "ask", lambda wanted, device, how: wanted)
    points = microbench.copy_bandwidth(None, SMALL, pattern, device=any_device)
    assert {point.configuration.variant for point in points} == {f"copy_{pattern}"}  # type: ignore[attr-defined]


def test_element_names() -> None:
    assert questions.element("float4") == ("float32", {"WIDTH": 4, "STRUCT": 0})
    assert questions.element("float16") == ("float32", {"WIDTH": 16, "STRUCT": 0})
    assert questions.element("half") == ("float16", {"WIDTH": 1, "STRUCT": 0})
    assert questions.element("float32") == ("float32", {"WIDTH": 1, "STRUCT": 0})
    assert questions.element("struct32") == ("float32", {"WIDTH": 32, "STRUCT": 1})
    assert questions.element("ushort2") == ("uint16", {"WIDTH": 2, "STRUCT": 0})
    assert element_name(complete({"dtype": "int8", "params": {"WIDTH": 1}})) == "char"
    assert element_name(complete({"dtype": "float32", "params": {"WIDTH": 5, "STRUCT": 1}})) == "struct of 5 floats"


@pytest.mark.parametrize("quick", [True, False])
def test_the_cube_is_finite_and_without_twins(any_device: gpuopt.Device, quick: bool) -> None:
    points = questions.cube(any_device, quick)
    assert (60 if quick else 300) < len(points) < (250 if quick else 900)
    known = {variant.family for variant in gpuopt.variants("microbench")}
    families = {point.fields()["family"] for point in points}
    assert {"copy", "adjacent", "constant", "local", "image2d", "cached", "copy2d", "tiled"} <= families <= known
    assert {"branches", "registers", "cache_reuse"} <= families
    pows = {p.configuration.parameters.get("LOCAL_X") for p in points if p.configuration.parameters.get("MATH") == 1}
    assert {4, 8, 16, 32} <= pows


def test_working_sets_reach_from_caches_to_memory(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "memory_bytes", lambda device: 1 << 27)
    sizes = questions.sweep_sizes(device, 4)
    assert sizes[0] == 16384
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == 1 << 27


def test_the_table_of_points_has_units() -> None:
    def row(family: str, **fields: object) -> Row:
        named = {"family": family, "configuration": family, "variant": family, "status": "ok", "median_ms": 1.0}
        return complete({**named, **fields})

    rows = [
        row("read", gb_s=20.0, dtype="float32", sizes={"bytes": 1e6}),
        row("flops", gflop_s=250.0, dtype="float32"),
        row("special", gop_s=4.0, special={"rsqrt": 4e9}, dtype="float32"),
        row("latency", latency_ns=90.0, dtype="uint32"),
        row("images", status="unsupported", reason="no images here", median_ms=None, dtype="float32"),
    ]
    text = sheet(rows).text(100)
    for expected in ("GB/s", "GFLOP/s", "G rsqrt/s", "ns", "unsupported", "1.00 MB"):
        assert expected in text
    assert any("no images here" in text for _, text in remarks(rows))


def test_branches_are_asked_with_and_without_divergence(any_device: gpuopt.Device) -> None:
    study = microbench.branches((1, 4), 16, device=any_device)
    assert good(study) == {"branches"}
    assert {(row["params"]["PATHS"], row["params"]["DIVERGENT"]) for row in study.points} == {
        (1, 0), (1, 1), (4, 0), (4, 1)
    }  # fmt: skip
    assert {row["flops"] / row["sizes"]["trips"] for row in study.points} == {
        2 * 16 * 256 * 8 * any_device.compute_units
    }


def test_registers_are_asked_up_to_spilling(any_device: gpuopt.Device) -> None:
    study = microbench.registers((8, 96), chained=True, local_size=64, device=any_device)
    assert good(study) == {"registers"}
    assert [row["params"]["LIVE"] for row in study.points] == [8, 96]
    few, many = (row["flops"] / row["sizes"]["trips"] for row in study.points)
    assert (few, many) == tuple(4 * n * 64 * 8 * any_device.compute_units for n in (64, 96))  # 8 values 8 times a trip


@pytest.mark.parametrize(("form", "level"), [("pow", 1), ("exp", 2), ("pown", 3), ("product", 0)])
def test_the_activation_matrix_is_asked_in_every_shape(form: str, level: int, device: gpuopt.Device) -> None:
    points = questions.activation_points(device, (form,), (256,))
    shapes = [(p.configuration.parameters["LOCAL_X"], p.configuration.parameters["LOCAL_Y"]) for p in points]
    sizes = [x * y for x, y in shapes]
    assert (sizes.count(256), sizes.count(512)) == (9, 10)
    assert [shape for shape in shapes if shape[0] * shape[1] == 1024] == [(8, 128)]
    assert {p.configuration.parameters["MATH"] for p in points} == {level}
    assert {(p.bytes, p.width) for p in points} == {(2 * 256 * 256 * 4, 256)}


def test_the_activation_matrix_is_timed(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_ACTIVATION_SHAPES", ((8, 32), (16, 16), (8, 64)))
    study = microbench.activation_matrix("exp", (64,), device=any_device)
    assert good(study) == {"cache_reuse"}
    assert len(study.points) == 3
    assert {row["flops"] for row in study.points} == {3 * 64**3}


@pytest.mark.parametrize(
    ("question", "given", "named"),
    [
        (microbench.working_sets, {"sizes": []}, "sizes"),
        (microbench.working_sets, {"sizes": [0]}, "sizes"),
        (microbench.working_sets, {"sizes": [4096] * 100_001 + ["x"]}, "sizes"),
        (microbench.working_sets, {"dtype": ""}, "dtype"),
        (microbench.activation_matrix, {"sizes": []}, "sizes"),
        (microbench.block_dimensions, {"width": 0}, "width"),
        (microbench.latency, {"working_set": 0}, "working_set"),
        (microbench.latency, {"working_set": -1}, "working_set"),
        (microbench.copy_bandwidth, {"bytes": 0}, "bytes"),
        (microbench.copy_bandwidth, {"pattern": ""}, "pattern"),
        (microbench.read_bandwidth, {"pattern": ""}, "pattern"),
        (microbench.copy_bandwidth, {"dtype": "struct" + "1" * 5000}, "dtype"),
        (microbench.flops, {"width": 0}, "width"),
    ],
)
def test_nothing_is_no_standard_value(question: Callable[..., Study], given: dict[str, object], named: str) -> None:
    """An empty list and 0 are refused, not taken for None, which measures minutes of standard sizes."""
    with pytest.raises(ParameterError, match=f"{named}: "):
        question(**given)


def test_the_source_of_a_problem_is_everybodys(any_device: gpuopt.Device) -> None:
    """It is kept for the next question of its seed."""
    found = problems.microbenchmark("copy(AHEAD=1)", bytes=4096, seed=3, device=any_device).inputs["source"]
    with pytest.raises(ValueError, match="read-only"):
        found[:] = 7
