"""Texts and files of kernels: what is put in, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuopt import ParameterError
from gpuopt.lab.kernels.source import refusals, source_of


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
        ("char c = '\"'; __kernel void f(void) { __asm__(\"nop\"); } char d = '\"';", False, 1),
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


def test_files_that_include_each_other_in_a_long_chain(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"f{number}.cl").write_text(f'#include "f{number + 1}.cl"\n')
    (tmp_path / "f200.cl").write_text("")
    with pytest.raises(ParameterError, match="50 deep"):
        source_of(tmp_path / "f0.cl")
