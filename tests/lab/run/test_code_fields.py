"""What a row says of its compiled kernel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import gpuopt
from gpuopt.lab.compiled import tools
from gpuopt.lab.compiled.listing import Listing
from gpuopt.lab.compiled.tools import ToolError
from gpuopt.lab.run import instructions


@pytest.mark.parametrize(("told", "kept"), [(51, None), (None, 62)])
def test_the_drivers_own_registers_stand(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, told: int | None, kept: int | None
) -> None:
    kernel: dict[str, Any] = {"binary_sha256": "0", "entry_point": "f", "local_size": [64], "registers": told}
    prepared: Any = SimpleNamespace(kernels=[kernel], main_step=0, code=lambda step: {"binary": b""}, run=None)
    listing = Listing("f", (), registers=62)
    monkeypatch.setattr(instructions, "_known", {})
    monkeypatch.setattr(instructions.live, "read", lambda *given: (listing, "another compiler"))
    found = instructions.code_fields(any_device, prepared)
    assert found.get("registers") == kept
    assert found["instructions_by"] == "another compiler"


def test_a_tool_that_failed_is_asked_again(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel: dict[str, Any] = {"binary_sha256": "0", "entry_point": "f", "local_size": [64], "registers": None}
    prepared: Any = SimpleNamespace(kernels=[kernel], main_step=0, code=lambda step: {"binary": b""}, run=None)
    answers = iter([ToolError("objdump ended by signal 9"), (Listing("f", ()), "objdump")])

    def read(*_: object) -> tuple[Listing, str]:
        answer = next(answers)
        if isinstance(answer, ToolError):
            raise answer
        return answer

    monkeypatch.setattr(instructions, "_known", {})
    monkeypatch.setattr(instructions.live, "read", read)
    assert instructions.code_fields(any_device, prepared) == {"instructions_note": "objdump ended by signal 9"}
    assert instructions.code_fields(any_device, prepared)["instructions_by"] == "objdump"


@pytest.mark.parametrize("full", ["TemporaryFile", "TemporaryDirectory"])
def test_no_room_for_a_tools_files_is_a_note(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    """A full /tmp ended the study before its first block."""

    def none(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def read(*_: object) -> tuple[Listing, str]:
        with tools.folder_with("kernel.ptx", b"text") as folder:
            return Listing("f", ()), tools.run(["cat", "kernel.ptx"], folder=folder)

    kernel: dict[str, Any] = {"binary_sha256": "0", "entry_point": "f", "local_size": [64], "registers": None}
    prepared: Any = SimpleNamespace(kernels=[kernel], main_step=0, code=lambda step: {"binary": b""}, run=None)
    monkeypatch.setattr(instructions, "_known", {})
    monkeypatch.setattr(instructions.live, "read", read)
    with monkeypatch.context() as patched:
        patched.setattr(f"gpuopt.lab.compiled.tools.tempfile.{full}", none)
        assert instructions.code_fields(any_device, prepared) == {
            "instructions_note": "no temporary file can be written: No space left on device; "
            "free some space, or set TMPDIR"
        }
    assert instructions.code_fields(any_device, prepared)["instructions_by"] == "text"
