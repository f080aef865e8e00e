"""What sentences say of compiled kernels."""

from __future__ import annotations

from typing import Any

import pytest

from gpuopt.lab.show.code_words import about_code


def row(**told: Any) -> Any:
    counts = {name: told.pop(name) for name in ("private", "double", "widest_bits") if name in told}
    return {"instructions": {"alu": 10} | counts, "spill_bytes": None, "occupancy": None, "occupancy_by": None} | told


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        (row(spill_bytes=64), row(spill_bytes=0), "spills 64 bytes of registers a work-item, that of naive none"),
        (row(spill_bytes=0), row(spill_bytes=8), "spills no registers, that of naive 8 bytes a work-item"),
        (row(spill_bytes=4), row(spill_bytes=8), "spills 4 bytes of registers a work-item, that of naive 8"),
        (row(double=0), row(double=12), "has no instruction of 64-bit floats, that of naive has 12"),
        (row(double=3), row(), "has 3 instructions of 64-bit floats, that of naive none"),
        (row(private=5), row(private=0), "reaches private memory in 5 instructions, that of naive in none"),
        (row(widest_bits=256), row(widest_bits=32), "works on vectors of up to 256 bits, that of naive of 32"),
        (
            row(occupancy=4, occupancy_by="registers"),
            row(occupancy=8, occupancy_by="wavefronts"),
            "lets 4 wavefronts fit (by registers), that of naive 8",
        ),
        (
            row(spill_bytes=64, double=1, occupancy=2),
            row(spill_bytes=0, occupancy=8),
            "spills 64 bytes of registers a work-item, that of naive none and has 1 instruction of 64-bit floats, "
            "that of naive none",
        ),
    ],
)
def test_differences(mine: Any, theirs: Any, said: str) -> None:
    assert about_code(mine, theirs, "naive") == f" Its compiled kernel {said}."


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (row(), row()),
        (row(spill_bytes=0, occupancy=8), row(spill_bytes=None, occupancy=7)),
        ({"instructions": None, "spill_bytes": 64}, row(spill_bytes=0)),
        ({}, {}),
    ],
)
def test_nothing_to_say(mine: Any, theirs: Any) -> None:
    assert about_code(mine, theirs, "naive") == ""
