"""What the kernels of any OpenCL file are compiled to (`lab.isa_of_file`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpuopt import _core
from gpuopt._core import Error, ParameterError
from gpuopt.checked import checked
from gpuopt.lab.compiled import live
from gpuopt.lab.compiled.entries import LIVE, Compiled, Entry
from gpuopt.lab.compiled.targets import compile_for, dropped_options, target
from gpuopt.lab.device.environment import device_label
from gpuopt.lab.kernels.source import source_of
from gpuopt.selection import Selector, select


@checked
def isa_of_file(
    path: str | Path, *, options: str = "", targets: str | Sequence[str] = LIVE, device: Selector = None
) -> Compiled:
    """Return what the kernels of an OpenCL file are compiled to; nothing of it is run.

    path, options
        The file, whose quoted includes lie in its folder, and build options, such as ``"-D WIDTH=4"``: of chips macros,
        the language version and those of arithmetic.
    targets, device
        As of :func:`gpuopt.lab.isa`.

    Raises ParameterError for a file that cannot be read and for an unknown target. What does not build is an entry
    with the reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("twice.cl").write_text("kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }")
    >>> [entry.name for entry in lab.isa_of_file("twice.cl")]
    ['twice']
    """
    try:
        source = source_of(Path(path))
    except ParameterError as error:
        raise ParameterError(f"path: {str(error).removeprefix('source: ')}") from error
    if "kernel" not in source.text:
        raise ParameterError(f"path: {source.name} holds no kernel; name a file with one")
    chosen = select(device)
    names = [targets] if isinstance(targets, str) else list(dict.fromkeys(targets))
    if not names:
        raise ParameterError("targets: none is given; use live, or names of chips")
    chips = [None if name == LIVE else target(name) for name in names]
    entries: list[Entry] = []
    for chip in chips:
        if chip is None:
            entries += _live(chosen, source.text, source.name, options)
            continue
        try:
            if dropped := dropped_options(options):
                raise ParameterError(f"options: {dropped[0]} is for drivers alone; leave it out for {chip.name}")
            made = compile_for(chip, source.text, options)
        except Error as error:
            entries.append(Entry(source.name, source.name, None, chip.name, chip.title, chip.kind, reason=str(error)))
            continue
        entries += [
            Entry(each.kernel, each.kernel, each.kernel, chip.name, chip.title, chip.kind, made.tool, each)
            for each in made.kernels
        ]
    return Compiled(f"{source.name}: machine code of its kernels", entries)


def _live(device: _core.Device, text: str, name: str, options: str) -> list[Entry]:
    """The kernels for the device itself."""
    where = (LIVE, device_label(device), "live")
    try:
        program = _core.build_program(device, text, name, options)
        kernels = program.kernels
    except Error as error:
        return [Entry(name, name, None, *where, reason=str(error))]  # type: ignore[arg-type]
    entries = []
    for kernel in kernels:
        facts = {"entry_point": kernel, "local_size": None, "log": program.log, "global_size": None}
        try:
            listing, tool = live.read(device, program.code(), facts, None)
        except Error as error:
            entries.append(Entry(kernel, kernel, kernel, *where, reason=str(error)))  # type: ignore[arg-type]
        else:
            entries.append(Entry(kernel, kernel, kernel, *where, tool, listing))  # type: ignore[arg-type]
    return entries
