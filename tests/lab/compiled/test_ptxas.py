"""What ptxas says of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuopt.lab.compiled.listing import MOST_BYTES, ListingError
from gpuopt.lab.compiled.ptxas import Usage, read_ptxas

H200 = (Path(__file__).parent / "listings" / "h200_ptxas.txt").read_text()


def test_the_log_of_an_h200() -> None:
    assert read_ptxas(H200) == {
        "dbl": Usage("sm_90a", 28, 40, 0, 0, 0, 0),
        "tree": Usage("sm_90a", 11, 0, 0, 0, 256, 1),
        "scratchy": Usage("sm_90a", 38, 1024, 0, 0, 0, 0),
        "naive": Usage("sm_90a", 32, 0, 0, 0, 0, 0),
    }


def told(name: str, machine: str, registers: int, more: str = "") -> str:
    return (
        f"ptxas info    : Compiling entry function '{name}' for '{machine}'\n"
        f"ptxas info    : Function properties for {name}\n"
        "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
        f"ptxas info    : Used {registers} registers{more}\n"
    )


def test_spills_and_older_versions() -> None:
    found = read_ptxas(told("k", "sm_70", 16, ", 4096+16 bytes smem, 368 bytes cmem[0]"))
    assert found == {"k": Usage("sm_70", 16, 8, 12, 16, 4112, None)}
    assert (
        read_ptxas(told("k", "sm_80", 16, ", used 1 barriers, 128 bytes smem, 368 bytes cmem[0]"))["k"].shared_bytes
        == 128
    )


def test_the_last_of_several_counts() -> None:
    assert read_ptxas(told("k", "sm_90", 16) + told("j", "sm_90", 17) + told("k", "sm_90a", 18))["k"] == Usage(
        "sm_90a", 18, 8, 12, 16, 0, None
    )
    failed = told("k", "sm_90", 16) + "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas fatal : no\n"
    assert read_ptxas(failed) == {}


def test_functions_that_kernels_call_are_left_out() -> None:
    function = "ptxas info : Function properties for helper\n"
    function += "    64 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
    usage = Usage("sm_90a", 16, 8, 12, 16, 0, None)
    assert read_ptxas(told("k", "sm_90a", 16) + function + "ptxas info : Used 99 registers\n") == {"k": usage}
    assert read_ptxas(function) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0\x7fELF\xff" * 1000,
        "warning: the program was in the cache",
        "ptxas info : Used 12 registers",
        "Compiling entry function '" * 40_000,
        "Compiling entry function 'k' for 'sm_90a'",
        "1" * 1_000_000 + " bytes smem",
        "Used " * 400_000,
        H200[:60],
    ],
    ids=lambda text: repr(text[:20]),
)
def test_nothing_said(text: str) -> None:
    assert read_ptxas(text) == {}


def test_absurd_numbers_are_left_out() -> None:
    assert read_ptxas(told("k", "sm_90a", 7).replace("Used 7", f"Used {'7' * 400}"))["k"].registers is None
    with pytest.raises(ListingError, match="MiB"):
        read_ptxas("x" * (MOST_BYTES + 1))


def test_every_cut_is_read() -> None:
    for end in range(0, len(H200), 17):
        assert set(read_ptxas(H200[:end])) <= {"dbl", "tree", "scratchy", "naive"}
