"""Tables as text: what gives way where a line is too long."""

from __future__ import annotations

from gpuopt.lab.rows.table import Column, Line, Sheet


def test_a_long_title_is_wrapped_and_takes_no_room_from_names() -> None:
    names = ["activation_block_16x16", "activation_block_8x32"]
    columns = [Column("name", "kernel", ("",), "00", right=False), Column("alu", "ALU", ("",), "00")]
    lines = [Line({"name": (name,), "alu": ("7",)}) for name in names]
    told = Sheet(columns, sections=[("a device " * 12, lines)]).text(60).splitlines()
    assert max(map(len, told)) <= 60
    assert all(any(line.split()[:1] == [name] for line in told) for name in names)
