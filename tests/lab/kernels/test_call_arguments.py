"""What a plain call of a kernel of one's own is given."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import lab
from gpuopt.lab.kernels import frames
from gpuopt.lab.kernels.values import checked_value


def test_a_call_refuses_masks_and_numbers_that_its_types_cannot_hold() -> None:
    text = """kernel void scaled(global float* y, const float a, const int n) {
        if (get_global_id(0) < n) y[get_global_id(0)] *= a * n;
    }"""
    arguments = [lab.inout("y", "n"), lab.value("a", "float32"), lab.value("n")]
    kernel = lab.Kernel(
        text, "scaled", arguments=arguments, launch=lab.launch(items="n"), reference=lambda y, a, n: y * a * n
    )
    y = np.ones(4, np.float32)
    assert (kernel(y=y, a=2.0) == 8).all()
    assert np.isinf(kernel(y=y, a=np.inf)).all()
    with pytest.raises(gpuopt.ParameterError, match=r"a: 1e\+39 does not fit float32; declare a larger dtype"):
        kernel(y=y, a=1e39)
    with pytest.raises(gpuopt.ParameterError, match=r"a: 1e\+39 does not fit float32; declare a larger dtype"):
        kernel.problem(n=4, a=1e39)
    with pytest.raises(gpuopt.ArrayError, match=r"y: .*mask"):
        kernel(y=np.ma.masked_array(y, [0, 1, 0, 0]), a=2.0)


def test_a_call_names_the_array_whose_length_fits_no_size() -> None:
    """It asked for n, which need not be given."""
    arguments = [lab.input("x", "n + 2"), lab.output("z", "n"), lab.value("n")]
    kernel = own_kernels.scaled(arguments=arguments, reference=lambda x: 2 * x[:-2] + 1)
    with pytest.raises(gpuopt.ParameterError, match=r"^x: a length of 1 is 'n \+ 2' for no n of at least 0"):
        kernel(x=np.ones(1, np.float32))
    assert kernel(x=np.ones(3, np.float32)).tolist() == [3]
    arguments = [lab.input("x", "n"), lab.input("w", "n + off"), lab.output("z", "n"), lab.value("n"), lab.value("off")]
    kernel = own_kernels.scaled(arguments=arguments, reference=lambda x, w: 2 * x + 1)
    with pytest.raises(gpuopt.ParameterError, match=r"^off: scaled needs it"):  # which may be negative
        kernel(x=np.ones(4, np.float32), w=np.ones(2, np.float32))


STEP = np.dtype([("shift", "int32"), ("scale", "float32")])


def shifted() -> lab.Kernel:
    text = """typedef struct { int shift; float scale; } Step;
    kernel void shifted(Step s, global float* y, const int n) {
        if (get_global_id(0) < n) y[get_global_id(0)] = s.shift + s.scale;
    }"""
    return lab.Kernel(
        text,
        "shifted",
        arguments=[lab.value("s", STEP), lab.output("y", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda s, n: np.full(n, float(s["shift"]) + float(s["scale"])),
    )


def record(**fields: object) -> np.ndarray:
    """A record with fields of the dtypes that NumPy gives these."""
    kinds = [(name, np.asarray(part).dtype, np.shape(part)) for name, part in fields.items()]
    return np.array(tuple(fields.values()), kinds)


@pytest.mark.parametrize(
    "kind",
    [
        np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]}),
        np.dtype({"names": ["a", "none", "b"], "formats": ["i4", ("i4", (0,)), "i4"], "offsets": [4, 4, 0]}),
    ],
    ids=str,
)
def test_fields_of_a_struct_may_be_listed_in_any_order(kind: np.dtype[Any]) -> None:
    text = """typedef struct { int b; int a; } S;
    kernel void apart(const S s, global const S* many, global int* y, const int n) {
        const int i = get_global_id(0);
        if (i < n) y[i] = s.a - 2 * s.b + 3 * many[i].a - 5 * many[i].b;
    }"""
    many = np.zeros(4, kind)
    many["a"], many["b"] = range(4), range(10, 14)
    kernel = lab.Kernel(
        text,
        "apart",
        arguments=[lab.value("s", kind), lab.input("many", "n", kind), lab.output("y", "n", "int32"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda s, many: s["a"] - 2 * s["b"] + 3 * many["a"] - 5 * many["b"],
    )
    s = np.zeros((), kind)
    s["a"], s["b"] = 7, 9
    assert kernel(s=s, many=many).tolist() == [7 - 18 + 3 * i - 5 * (i + 10) for i in range(4)]
    assert kernel.check(s=s, data={"many": many})["max_abs"] == 0


@pytest.mark.parametrize("names", ["f0 f1", "f1 f0", "a b", "f2 f3"])
def test_a_struct_with_bytes_between_fields_may_name_them_as_numpy_would(any_device: gpuopt.Device, names: str) -> None:
    first, second = names.split()
    kind = np.dtype([(first, "i1"), (second, "f4")], align=True)
    assert frames.dtype_of(json.loads(json.dumps(frames.described(kind)))) == kind
    text = "typedef struct { char a; float b; } P; kernel void k(P p, global float* x) { x[0] = p.a + p.b; }"
    declared = [lab.value("p", kind), lab.output("x", 1)]
    kernel = lab.Kernel(
        text, "k", arguments=declared, launch=lab.launch(items=1, local=1), reference=lambda p: [p[first] + p[second]]
    )
    assert kernel.check(p=(1, 2.5), device=any_device)["max_abs"] == 0


@pytest.mark.parametrize("offsets", [(0, 0), (0, 2), (3, 0)])
def test_a_struct_whose_fields_overlap_is_refused(offsets: tuple[int, int]) -> None:
    kind = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": offsets})
    with pytest.raises(gpuopt.ParameterError, match=r"^s\.dtype: its fields '.' and '.' overlap; give each"):
        lab.value("s", kind)
    with pytest.raises(gpuopt.ParameterError, match=r"^x\.dtype: its fields '.' and '.' overlap; give each"):
        lab.input("x", "n", kind)


def test_a_flag_of_a_struct_is_true_or_false() -> None:
    flags = lab.value("s", np.dtype([("on", "?"), ("of", "?", (2,))]))
    for on in (True, False, 0, 1, 1.0, np.bool_(True)):
        made = checked_value(flags, "s", (on, (0, True)))
        assert (made["on"], made["of"].tolist()) == (bool(on), [False, True])
    for given in ((2, (0, 0)), (0.5, (0, 0)), (np.nan, (0, 0)), (True, (1, -1)), (2**70, (0, 0))):
        with pytest.raises(gpuopt.ParameterError, match=r"^s: .*its field '(on|of)': .* is neither true nor false"):
            checked_value(flags, "s", given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((2.5, 1.0), "its field 'shift': 2.5 is no whole number"),
        ([2, 3], "give a tuple of its fields"),
        (5, "give a tuple of its fields"),
        ((2,), "length 1"),
        ((1, 1e300), r"its field 'scale': 1e\+300 does not fit float32"),
        ((2**40, 1.0), "its field 'shift': 1099511627776 does not fit int32"),
        ((1, "4"), "its field 'scale': '4' is no number"),
        ((1, None), "its field 'scale': None is no number"),
        ((1, (2.0, 3.0)), r"its field 'scale': .* has the shape \(2,\)"),
        (record(shift=3.7, scale=0.5), "its field 'shift': 3.7 is no whole number"),
        (record(shift=2**40, scale=1.0), "its field 'shift': 1099511627776 does not fit int32"),
        (record(shift=-1, scale=np.inf - 1j), "its field 'scale': .* is no number"),
        (record(shift=np.datetime64(5, "s"), scale=1.0), "its field 'shift': .* is no number"),
        (record(shift="3", scale="4"), "its field 'shift': .* is no number"),
        (record(shift=1), "its fields are shift; give shift, scale"),
        (record(a=1, scale=2), "its fields are a, scale; give shift, scale"),
        ((np.ma.masked_array(1, True), 0.5), r"[\s\S]*its field 'shift': masks of masked arrays are ignored"),
    ],
)
def test_a_struct_is_what_was_given(given: object, why: str) -> None:
    """NumPy makes 2 of 2.5 for a field, two structs of a list of two numbers, fills all fields with one number, and
    takes a record's fields by their places."""
    with pytest.raises(gpuopt.ParameterError, match=f"s: .*{why}"):
        shifted()(s=given, n=4)


@pytest.mark.parametrize(
    "given",
    [
        (2, 0.5),
        (np.int64(2), Fraction(1, 2)),
        np.array((2.0, 0.5), STEP),
        record(shift=2.0, scale=0.5),
        record(scale=0.5, shift=2),
    ],
)
def test_a_struct_may_be_a_tuple_or_a_record_with_its_fields_in_any_order(given: object) -> None:
    assert (shifted()(s=given, n=4) == 2.5).all()


def test_a_field_may_be_an_array(any_device: gpuopt.Device) -> None:
    text = """typedef struct { float a[3]; int b; } S;
    kernel void f(global float* y, S s) { y[get_global_id(0)] = s.a[0] + s.a[1] + s.a[2] + s.b; }"""
    kernel = lab.Kernel(
        text,
        "f",
        arguments=[lab.output("y", "n"), lab.value("s", np.dtype([("a", "f4", 3), ("b", "i4")]))],
        launch=lab.launch(items="n", local=1),
        reference=lambda s, n: np.full(n, s["a"].sum() + s["b"]),
    )
    for s in (((1, 2, 3), 4), record(b=4, a=np.array([1.0, 2.0, 3.0]))):
        assert (kernel(s=s, n=2, device=any_device) == 10).all()
        assert kernel.check(s=s, n=2, device=any_device)["max_abs"] == 0
    with pytest.raises(gpuopt.ParameterError, match=r"^s: .*its field 'a': .* has the shape \(2,\); give \(3,\)"):
        kernel(s=((1, 2), 4), n=2, device=any_device)
    with pytest.raises(gpuopt.ParameterError, match=r"^s\.dtype: its field 'a' is no number and no array of numbers"):
        lab.value("s", np.dtype([("a", "U3", 3)]))


def test_masked_data_are_named() -> None:
    kernel, masked = own_kernels.scaled(), np.ma.masked_array(np.zeros(2, np.float32), [0, 1])
    for attempt in (kernel.problem, kernel.check, partial(lab.search, kernel)):
        with pytest.raises(
            gpuopt.ArrayError, match=r"^data\['x'\]: masks of masked arrays are ignored; use data\['x'\]\."
        ):
            attempt(n=2, data={"x": masked})


def test_structs_that_print_alike_are_two(any_device: gpuopt.Device) -> None:
    """NumPy prints long arrays without their middle, and a call keeps its plan for the next one of the same values."""
    text = """typedef struct { char a[1004]; } S;
    kernel void f(global float* y, S s) { y[get_global_id(0)] = s.a[500]; }"""
    kind = np.dtype([("a", "i1", 1004)])
    kernel = lab.Kernel(
        text, "f", arguments=[lab.output("y", 1), lab.value("s", kind)], launch=lab.launch(items=1, local=1)
    )
    for number in (3, 4):
        held = np.zeros((), kind)
        held["a"][500] = number
        assert kernel(s=held, device=any_device) == number


@pytest.mark.parametrize("name", ["device", "configuration"])
def test_an_array_that_no_call_could_be_given_is_refused(name: str) -> None:
    given: dict[str, Any] = {"launch": lab.launch(items="n"), "reference": lambda **arrays: 0}
    with pytest.raises(gpuopt.ParameterError, match=f"^{name}: calls have an argument of this name; call the array"):
        lab.Kernel("kernel void f() {}", "f", arguments=[lab.inout(name, "n")], **given)
    lab.Kernel("kernel void f() {}", "f", arguments=[lab.output(name, "n"), lab.input("data", "n")], **given)


def test_declared_data_stay_whatever_becomes_of_the_callers_array(any_device: gpuopt.Device) -> None:
    data = np.ones(4, np.float32)
    kernel = own_kernels.scaled(arguments=[lab.input("x", "n", data=data), lab.output("z", "n"), lab.value("n")])
    data[:] = 5
    assert kernel(n=4, device=any_device).tolist() == [3] * 4
    assert kernel.problem(n=4).inputs["x"].tolist() == [1] * 4
    with pytest.raises(ValueError, match="read-only"):
        kernel.task.by_name["x"].data[0] = 2  # type: ignore[union-attr,index]


def test_lists_that_are_no_arrays_are_refused_by_name() -> None:
    kernel, ragged = own_kernels.saxpy(), [[1], [2, 3]]
    for attempt in (
        lambda: kernel(x=ragged, y=np.ones(2, np.float32)),
        lambda: kernel.check(n=2, data={"x": ragged}),
        lambda: kernel.problem(n=2, data={"x": ragged}),
    ):
        with pytest.raises(gpuopt.Error, match=r"^x: "):
            attempt()
    with pytest.raises(gpuopt.ParameterError, match=r"^stages: "):
        lab.judge("__kernel void saxpy(int n) {}", kernel, stages=np.ones(3), n=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("local", [64, ()])
def test_a_launch_of_no_dimensions_is_refused(local: Any) -> None:
    for sizes in ({"items": ()}, {"groups": []}):
        with pytest.raises(gpuopt.ParameterError, match=r"^launch: 0 dimensions with a group of"):
            lab.launch(**sizes, local=local)  # type: ignore[arg-type]


@pytest.mark.parametrize(("default", "given"), [(5, {"a": 2**64 - 1}), (2**63, {})])
def test_a_value_of_64_bits_without_a_sign(any_device: gpuopt.Device, default: int, given: dict[str, int]) -> None:
    kernel = lab.Kernel(
        "kernel void q(ulong a, global ulong* y) { y[get_global_id(0)] = a; }",
        "q",
        arguments=[lab.value("a", "uint64", default), lab.output("y", "n", "uint64")],
        launch=lab.launch(items="n", local=1),
        reference=lambda a, n: np.full(n, a, np.uint64),
    )
    kernel.check(device=any_device, n=2, **given)
    assert kernel.problem(n=2, **given).name == f"n=2, a={given.get('a', default)}"


def test_what_else_a_reference_takes_keeps_its_default(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.scaled(reference=lambda x, n=0, two=2: two * x + (n == 100))
    kernel.check(device=any_device, n=100)


def test_an_array_is_no_dtype() -> None:
    """Its text is not asked for: that of an array which lies about its shape is an IndexError of NumPy's."""
    lying = type("Lying", (np.ndarray,), {"shape": (10**9, 10**9)})((2, 2), np.float32)
    for declare in (lambda: lab.input("x", "n", dtype=lying), lambda: lab.value("x", lying)):
        with pytest.raises(gpuopt.ParameterError, match=r"^x\.dtype: an array is no dtype; use one of"):
            declare()


def test_a_kernel_that_the_text_lacks_is_named_by_what_asks_for_it(any_device: gpuopt.Device) -> None:
    text = "kernel void doubled(global float* x) { x[get_global_id(0)] *= 2; }"
    launch = lab.launch(items="n", local=1)
    forms: dict[str, dict[str, Any]] = {
        "name": {"launch": launch},
        "stages": {"stages": [lab.stage("gone", "x", launch)]},
    }
    for argument, how in forms.items():
        kernel = lab.Kernel(text, "off", arguments=[lab.inout("x", "n")], reference=lambda x: 2 * x, **how)
        with pytest.raises(
            gpuopt.ParameterError, match=f"^{argument}: there is no kernel (off|gone) in .*; use one of doubled"
        ):
            kernel(x=np.ones(3, np.float32), device=any_device)


MISFIT = "name: argument 1 of one is global float* name; it was declared as int32"
WRITES = "kernel void one(global float* name) { name[get_global_id(0)] += 1; }"


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(
    ("kernels", "error"),
    [
        (("one",), MISFIT),
        (("one", "two"), MISFIT),
        (("two", "one"), MISFIT),
        (("gone",), "stages: there is no kernel gone in "),
        (("two", "gone"), "stages: there is no kernel gone in "),
        (("gone", "one"), "stages: there is no kernel gone in "),
        ((), "name: there is no kernel off in "),
    ],
)
def test_an_argument_that_is_called_name_is_no_kernel_that_the_text_lacks(
    any_device: gpuopt.Device, kernels: tuple[str, ...], error: str, isolated: bool
) -> None:
    """What is wrong with it is said of it."""
    text = f"{WRITES}\nkernel void two(global int* name) {{ name[get_global_id(0)] *= 2; }}"
    launch = lab.launch(items="n", local=1)
    how: dict[str, Any] = {"stages": [lab.stage(one, "name", launch) for one in kernels]} if kernels else {}
    array = lab.inout("name", "n", dtype="int32")
    kernel = lab.Kernel(text, "off", arguments=[array], reference=lambda name: 2 * name, **(how or {"launch": launch}))
    problem = kernel.problem(n=4, isolated=isolated)
    for _ in range(2):  # nothing is kept of the first attempt
        with pytest.raises(gpuopt.ParameterError) as caught:
            problem.prepare(gpuopt.Configuration("off"), any_device)
        assert str(caught.value).startswith(error)
        assert caught.value.argument == error.partition(":")[0]


def test_an_argument_of_a_kernel_alone_that_is_called_name(any_device: gpuopt.Device) -> None:
    array = lab.inout("name", "n", dtype="int32")
    kernel = lab.Kernel(
        WRITES, "one", arguments=[array], launch=lab.launch(items="n", local=1), reference=lambda name: name + 1
    )
    with pytest.raises(gpuopt.ParameterError, match=f"^{re.escape(MISFIT)}$"):
        kernel.check(n=4, device=any_device)


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        ("uint64", [np.uint64(2**53 + 1), 1]),
        ("uint64", [2**53 + 1, 2**63]),
        ("uint64", np.array([2**53 + 1, 2**63], object)),
        ("uint64", [1.0, 2**64 - 1]),
        ("int64", (-(2**63), np.uint64(5))),
    ],
)
def test_whole_numbers_of_a_structs_array_keep_all_digits(dtype: str, given: Any) -> None:
    """NumPy makes floats of whole numbers of two kinds."""
    word = {"uint64": "ulong", "int64": "long"}[dtype]
    copied = lab.Kernel(
        f"typedef struct {{ {word} a[2]; }} S;\n"
        f"kernel void f(S s, global {word}* y) {{ y[0] = s.a[0]; y[1] = s.a[1]; }}",
        "f",
        arguments=[lab.value("s", np.dtype([("a", dtype, (2,))])), lab.output("y", 2, dtype)],
        launch=lab.launch(items=1),
    )
    assert copied(s=(given,)).tolist() == [int(number) for number in given]
