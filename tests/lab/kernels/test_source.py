"""Texts and files of kernels: what is put in, and what is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gpuopt
from gpuopt import ParameterError, _core, lab
from gpuopt.lab.kernels.source import in_first_language, refusals, source_of

TEXT = "__kernel void f(void) {}\n"


def test_a_text_and_a_file(tmp_path: Path) -> None:
    text = "__kernel void f(void) {}\n"
    assert text in source_of(text).text
    (tmp_path / "f.cl").write_text('#include "parts/a.h"\n' + text)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.h").write_text("#define A 1\n")
    for given in (tmp_path / "f.cl", str(tmp_path / "f.cl")):
        found = source_of(given)
        assert found.name == "f.cl"
        assert '#line 1 "parts/a.h"\n#define A 1' in found.text
        assert found.text.index('#line 2 "f.cl"') < found.text.index("__kernel")


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/hostname"',
        '#include "../other.h"',
        "#include <stdio.h>",
        "#include NAME",
        '# include "missing.h"',
        '#include "f.cl"',
        f'#include "{"a" * 300}-missing.h"',
    ],
)
def test_other_files_are_not_read(tmp_path: Path, line: str) -> None:
    (tmp_path / "f.cl").write_text(f"{line}\n__kernel void f(void) {{}}\n")
    (tmp_path.parent / "other.h").write_text("")
    with pytest.raises(ParameterError, match=r"^source: ") as caught:
        source_of(tmp_path / "f.cl")
    assert "f.cl:1" in str(caught.value) or "missing.h" in str(caught.value)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    inner = tmp_path / "kernels"
    inner.mkdir()
    (inner / "a.h").symlink_to(tmp_path / "secret")
    (inner / "f.cl").write_text('#include "a.h"\n')
    with pytest.raises(ParameterError, match="outside of the kernel's folder"):
        source_of(inner / "f.cl")


@pytest.mark.parametrize("given", ["saxpy", "missing.cl", "a\0b\n"])
def test_what_is_neither(given: str) -> None:
    with pytest.raises(ParameterError, match=r"^source: "):
        source_of(given)


@pytest.mark.parametrize(
    ("text", "on_gpu", "count"),
    [
        ("constant char c = '\"'; __kernel void f(void) { __asm__(\"nop\"); } constant char d = '\"';", False, 1),
        ("#define PASTE(a, b) a##b\n__kernel void f(void) {}", True, 1),
        ("/* asm */ // __asm__\n__kernel void f(void) {}", False, 0),
        ('__kernel void f(void) { __asm__("nop"); }', False, 1),
        ('__kernel void f(void) { __asm__("nop"); }', True, 0),
        ("__global int count = 0;\n__kernel void f(__global int* a) { a[0] = count++; }", True, 1),
        ("__kernel void f(__global int* a) { __global int* b = a; b[0] = 1; }", True, 0),
        ("__kernel void f(__global const float* x,\n    __global float* y) {}", True, 0),
    ],
)
def test_constructs_that_are_not_judged(text: str, on_gpu: bool, count: int) -> None:
    assert len(refusals(text, on_gpu)) == count


@pytest.mark.parametrize(
    "text",
    [
        "int count = 0;",
        "int __global count = 0;",
        "volatile __global int count;",
        "#define PLACE __global\nPLACE int count;",
        "typedef __global int Count;\nCount count;",
        "__attribute__((aligned(4))) __global int count;",
        "__global int count __attribute__((aligned(4)));",
        "__kernel void g(void) {} int count[2] = {1, 2}; __kernel void h(void) {}",
        "__kernel void g(void) { static __global int count; }",
        "__kernel void g(void) { static int count; }",
        "struct Count { int count; } count;",
        "__global const int* held;",
        "int g(int), count;",
        "#if 0\nint g(int count);\n#else\nint count;\n#endif",
        "#if 1\nint count;\n#else\nint g(int count);\n#endif",
    ],
)
def test_variables_that_live_between_launches_are_not_judged(text: str) -> None:
    assert refusals(f"{text}\n__kernel void f(void) {{}}\n", True) == ["it keeps a variable between launches"]


@pytest.mark.parametrize(
    "text",
    [
        "__constant float table[] = {1, 2};\nconst sampler_t plain = CLK_FILTER_NEAREST;",
        "static const int count = 3; static __constant int other = 3;",
        "typedef struct { int a; } Pair; struct Named { int a; }; enum { A, B };",
        "struct Named g(int a) { struct Named b; return b; }",
        "static inline float g(float x);\nstatic inline float g(float x) { const float y = x; return y; }",
        "__global float* g(__global float* x) { return x; }",
        "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void g(void) {}",
        "#ifdef A\n__kernel void g(int n) {\n#else\n__kernel void g(int n, int m) {\n#endif\n    n = 5;\n}",
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
        "__kernel void g(void) { static const int count = 3; }",
    ],
)
def test_what_is_no_such_variable(text: str) -> None:
    assert refusals(f"{text}\n__kernel void f(void) {{}}\n", True) == []


TWICE = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }"
BRANCHES = """#ifdef A
kernel void twice(global float* x) { if (get_global_id(0) < 9) {
#else
kernel void twice(global float* x) {
#endif
    x[get_global_id(0)] *= 2;
#ifdef A
    }
#endif
}"""


@pytest.mark.parametrize(
    "text",
    [
        f"#if 0\n{{\n#endif\n{TWICE}",
        f"#if 0\n}}\n#endif\n{TWICE}",
        "#define BEGIN {\n#define END }\nkernel void twice(global float* x) BEGIN int a = 2; x[0] *= a; END",
        "#define BEGIN {\n#define START BEGIN\n#define END }\nkernel void twice(global float* x) START x[0] *= 2; END",
        "#define BODY { x[0] *= 2; }\nkernel void twice(global float* x) BODY",
        "#define BEGIN {\nkernel void twice(global float* x) BEGIN x[0] *= 2; }",
        "#define OPEN (\nkernel void twice OPEN global float* x) { x[0] *= 2; }",
        BRANCHES,
        BRANCHES.replace("#ifdef A\n    }", "#ifndef B\n    }"),
        TWICE[:-1],
    ],
)
def test_nothing_is_said_where_braces_cannot_be_followed(text: str) -> None:
    assert refusals(text, True) == []


@pytest.mark.parametrize(
    "text",
    [
        f"#if 0\n{{\n#endif\nint count;\n{TWICE}",
        f"#define SWAP(a, b) {{ float t = a; a = b; b = t; }}\nint count;\n{TWICE}",
        f"#if 1\nint count;\n#endif\n{TWICE}",
        BRANCHES + "\nint count;",
    ],
)
def test_a_variable_is_seen_where_one_way_through_the_branches_has_its_braces_in_pairs(text: str) -> None:
    assert refusals(text, True) == ["it keeps a variable between launches"]


@pytest.mark.parametrize(
    ("options", "count"), [("", 0), ("-cl-std=CL1.2", 0), ("-cl-std=CL2.0", 1), ("-cl-std=CL3.0", 1)]
)
def test_languages_where_macros_could_hide_such_variables_are_not_judged(options: str, count: int) -> None:
    assert len(refusals("__kernel void f(void) {}", True, f"-cl-mad-enable {options}")) == count


@pytest.mark.parametrize("text", ["int count;", "int __global count;", "__kernel void g(void) { static int count; }"])
@pytest.mark.parametrize("options", ["", "-DN=3", "-cl-std=CL1.2"])
def test_compilers_of_opencl_c_1_have_no_such_variables(any_device: gpuopt.Device, text: str, options: str) -> None:
    """However macros hide them: so text alone need not be trusted."""
    options = in_first_language(options)
    assert options.count("-cl-std=CL1.2") == 1
    with pytest.raises(gpuopt.KernelBuildError):
        _core.build_program(any_device, f"{text}\n__kernel void f(__global int* z) {{ z[0] = 1; }}\n", "f.cl", options)


def test_a_line_directive_without_a_file_stays_in_its_file(any_device: gpuopt.Device) -> None:
    """Told by lines of the whole text, as NVIDIA's compiler does. The file was called "#line 3"."""
    with pytest.raises(gpuopt.KernelBuildError) as caught:
        _core.build_program(any_device, '#line 7 "own"\n#line 3\n#error see <kernel>:3\n', "f.cl", "")
    assert (caught.value.file, caught.value.line) == ("own", 3)


@pytest.mark.parametrize(
    "line",
    [
        '%:include "/x"',
        '#\x0cinclude "/x"',
        '#/**/include "/x"',
        '#\\\ninclude "/x"',
        '#include_next "x"',
        '#import "x"',
        '/**/#include "/x"',
        '#include "/etc/passwd"',
    ],
)
def test_no_spelling_of_an_include_reaches_a_compiler(line: str) -> None:
    with pytest.raises(ParameterError, match=r"^source: "):
        source_of(f"{line}\n__kernel void f(void) {{}}\n")


def test_a_mark_of_the_byte_order_is_no_text(tmp_path: Path) -> None:
    """As editors on Windows put it before UTF-8."""
    (tmp_path / "a.h").write_text("int one;", encoding="utf-8-sig")
    (tmp_path / "f.cl").write_text('#include "a.h"\n', encoding="utf-8-sig")
    assert "\ufeff" not in source_of(tmp_path / "f.cl").text


def test_files_that_include_each_other_in_a_long_chain(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"f{number}.cl").write_text(f'#include "f{number + 1}.cl"\n')
    (tmp_path / "f200.cl").write_text("")
    with pytest.raises(ParameterError, match="50 deep"):
        source_of(tmp_path / "f0.cl")


def test_a_text_that_is_none_is_refused() -> None:
    assert "café" in source_of("// café\n__kernel void f(void) {}\n").text
    with pytest.raises(ParameterError, match=r"^source: kernel\.cl is no text of Unicode"):
        source_of("// \udcff\n__kernel void f(void) {}\n")


@pytest.mark.parametrize("given", ["f.cl", "../f.cl"])
def test_the_working_directory_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    (tmp_path / "f.cl").write_text("kernel void f(global float* y) { y[0] = 1; }\n")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for call, name in ((source_of, "source"), (lab.isa_of_file, "path")):
        with pytest.raises(
            ParameterError,
            match=rf"^{name}: {given} cannot be read \(the working directory was removed\); change to a folder",
        ):
            call(given)


def test_a_task_above_a_working_directory_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = lab.output("y", 1)
    text = "kernel void f(global float* y) { y[0] = 1; }"
    lab.write_t1(lab.Kernel(text, "f", arguments=[one], launch=lab.launch(items=1)), tmp_path / "f.json")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ParameterError, match=r"^path: ../f\.json: .*KernelFile: 'f\.kernel\.cl' is no path"):
        lab.read_t1("../f.json")


def test_a_link_to_itself_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "f.cl").symlink_to("f.cl")
    (tmp_path / "g.cl").write_text('#include "f.cl"\n')
    for name in ("f.cl", "g.cl"):
        with pytest.raises(ParameterError, match=r"^source: .*f\.cl cannot be read"):
            source_of(tmp_path / name)


def test_what_may_never_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cl")
    (tmp_path / "f.cl").write_text('#include "pipe.cl"\n')
    for given in (tmp_path / "pipe.cl", tmp_path / "f.cl", Path("/dev/zero")):
        with pytest.raises(ParameterError, match=r"^source: .* is no regular file; name a file"):
            source_of(given)


def test_files_are_looked_for_beside_the_one_that_includes_them_as_in_c(tmp_path: Path) -> None:
    for folder, value in (("sub", 7), (".", 77)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "v.h").write_text(f"#define V {value}\n")
    (tmp_path / "w.h").write_text("#define W 1\n")
    (tmp_path / "sub" / "a.h").write_text('#include "v.h"\n#include "w.h"\n#include "../w.h"\n')
    (tmp_path / "f.cl").write_text('#include "sub/a.h"\n' + TEXT)
    text, files = source_of(tmp_path / "f.cl").text, source_of(tmp_path / "f.cl").files
    assert '#line 1 "sub/v.h"\n#define V 7\n' in text
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["f.cl", "sub/a.h", "sub/v.h", "w.h"]


def _values(file: Path, arguments: list[str]) -> list[int]:
    """What a kernel of this file writes: V and W."""
    text = "kernel void f(global int* y) { y[0] = V; y[1] = W; }"
    file.write_text("\n".join([*arguments, text]))
    kernel = lab.Kernel(file, "f", arguments=[lab.output("y", 2, "int32")], launch=lab.launch(items=1))
    return list(kernel())


def test_a_file_that_is_to_be_put_in_once_is(tmp_path: Path, any_device: gpuopt.Device) -> None:
    (tmp_path / "v.h").write_text("  #pragma once\nconstant int V = 1;\n")
    (tmp_path / "w.h").write_text('#pragma once\n#include "v.h"\nconstant int W = 2;\n')
    with gpuopt.use(any_device):
        assert _values(tmp_path / "f.cl", ['#include "v.h"', '#include "w.h"', '#include "w.h"']) == [1, 2]


@pytest.mark.parametrize(
    "before", [["#ifdef NO", '#include "v.h"', "#else"], ["#if 0", '#include "v.h"', "#endif", "#if 1"]]
)
def test_a_branch_that_is_not_taken_puts_nothing_in(
    tmp_path: Path, any_device: gpuopt.Device, before: list[str]
) -> None:
    (tmp_path / "v.h").write_text("#pragma once\n#define V 8\n")
    (tmp_path / "w.h").write_text('#include "v.h"\n#define W 9\n')
    with gpuopt.use(any_device):
        assert _values(tmp_path / "f.cl", [*before, '#include "w.h"', "#endif"]) == [8, 9]


@pytest.mark.parametrize(
    "switch", [["/*", '#include "old.h"', "//*/"], ["// \\", '#include "old.h"'], ["/*", '#include "none.h"', "*/"]]
)
def test_an_include_in_a_comment_is_none(tmp_path: Path, any_device: gpuopt.Device, switch: list[str]) -> None:
    (tmp_path / "old.h").write_text("/* as it was */\n#undef V\n#define V 1\n")
    lines = ["#define V 4", '#define W 5 // not "/*"', *switch, 'constant char text[] = "/*";', '#include "w.h"']
    (tmp_path / "w.h").write_text("#undef W\n#define W 6\n")
    with gpuopt.use(any_device):
        assert _values(tmp_path / "f.cl", lines) == [4, 6]
