"""A recording as tables of C, for the program that launches it again."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Facts = Mapping[str, Any]

_TEMPLATE = Path(__file__).with_name("replay.c")
_TABLES = '#include "recording.h"\n'  # the line of the template that they replace
_TYPES = {
    0x10F0: "CL_MEM_OBJECT_BUFFER",
    0x10F1: "CL_MEM_OBJECT_IMAGE2D",
    0x10F2: "CL_MEM_OBJECT_IMAGE3D",
    0x10F3: "CL_MEM_OBJECT_IMAGE2D_ARRAY",
    0x10F6: "CL_MEM_OBJECT_IMAGE1D_BUFFER",
}
_KINDS = {
    0x10F0: "buffer",
    0x10F1: "2D image",
    0x10F2: "3D image",
    0x10F3: "array of 2D images",
    0x10F6: "image of a buffer's pixels",
}
_FLAGS = {1: "CL_MEM_READ_WRITE", 2: "CL_MEM_WRITE_ONLY", 4: "CL_MEM_READ_ONLY"}
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')  # of ASCII; two ? may begin a trigraph


def source_name(number: int) -> str:
    """The file of a program's source."""
    return f"program{number}.cl"


def contents_name(number: int) -> str:
    """The file of some contents."""
    return f"contents{number}.bin"


def program(tables: str) -> bytes:
    """The whole program."""
    text = _TEMPLATE.read_text(encoding="ascii")
    before, line, after = text.partition(_TABLES)
    assert line, _TEMPLATE
    return (before + tables + after).encode("ascii")


def tables(
    programs: Sequence[Facts],
    objects: Sequence[Facts],
    steps: Sequence[Facts],
    contents_bytes: Sequence[int],
    names: tuple[str, str],
) -> str:
    """What was recorded, as C; ``names`` are those of platform and device."""
    arguments = [one for step in steps for one in step.get("arguments", ())]
    counts = {"PROGRAMS": len(programs), "OBJECTS": len(objects), "STEPS": len(steps)}
    lines = [f"#define {name} {count}" for name, count in counts.items()]
    lines += [
        f"static const char {name}[] = {_quoted(text.encode())};"
        for name, text in zip(("recorded_platform", "recorded_device"), names, strict=True)
    ]
    sources = [f'{{"{source_name(i)}", {_quoted(one["options"].encode())}}}' for i, one in enumerate(programs)]
    files = [f'{{"{contents_name(i)}", {bytes}}}' for i, bytes in enumerate(contents_bytes)]
    for kind, name, entries in (
        ("Program", "recorded_programs", sources),
        ("Contents", "recorded_contents", files),
        ("Object", "recorded_objects", map(_object, objects)),
        ("Argument", "recorded_arguments", map(_argument, arguments)),
        ("Step", "recorded_steps", _steps(steps)),
    ):
        lines += _table(kind, name, list(entries))
    return "\n".join(lines) + "\n"


def _table(kind: str, name: str, entries: Sequence[str]) -> list[str]:
    """An array; C has none without elements."""
    return [f"static const {kind} {name}[] = {{", *(f"    {one}," for one in entries or ["{0}"]), "};"]


def _object(one: Facts) -> str:
    numbers = [-1 if one[name] is None else one[name] for name in ("parent", "first", "bytes", "host_offset")]
    found = [
        _TYPES.get(one["type"], str(one["type"])),
        _FLAGS.get(one["flags"], str(one["flags"])),
        *map(str, numbers),
        _listed(one["size"]),
        _listed(one["format"]),
        *(str(-1 if one[name] is None else one[name]) for name in ("before", "after")),
    ]
    return _listed(found)


def _argument(one: Facts) -> str:
    if one["object"] is not None:
        return f"{{{one['object']}, NULL, 0}}"
    value = one["value"]
    if not value:
        return f"{{-1, NULL, {one['local_bytes']}}}"
    octal = "".join(f"\\{byte:03o}" for byte in value)
    return f'{{-1, "{octal}", {len(value)}}}{_as_numbers(value)}'


def _as_numbers(value: bytes) -> str:
    """What a value of 4 or 8 bytes may be, as a comment."""
    kinds = {4: ("int", "=i", "float", "=f"), 8: ("long", "=q", "double", "=d")}
    if len(value) not in kinds:
        return ""
    whole, as_whole, real, as_real = kinds[len(value)]
    return f" /* {whole} {struct.unpack(as_whole, value)[0]} or {real} {struct.unpack(as_real, value)[0]:.9g} */"


def _steps(steps: Sequence[Facts]) -> list[str]:
    found, first = [], 0
    for one in steps:
        if "kernel" not in one:
            found.append(f"{{-1, NULL, 0, {{0}}, {{0}}, 0, 0, {one['object']}, {one['contents']}}}")
            continue
        count = len(one["arguments"])
        sizes = f"{len(one['global'])}, {_listed(one['global'])}, {_listed(one['local'])}"
        found.append(f"{{{one['program']}, {_quoted(one['kernel'].encode())}, {sizes}, {first}, {count}, -1, -1}}")
        first += count
    return found


def _listed(values: Iterable[Any]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _quoted(text: bytes) -> str:
    """A text as a literal of C, whatever it holds."""
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text) + '"'


# ---------------------------------------------------------------- for people


def in_words(step: Facts) -> str:
    """A launch in a line."""
    overall, local = (" x ".join(map(str, step[name])) for name in ("global", "local"))
    given = ", ".join(map(_given, step["arguments"])) or "none"
    return f"{step['kernel']} of {source_name(step['program'])}, {overall} in groups of {local}; arguments: {given}"


def _given(one: Facts) -> str:
    if one["object"] is not None:
        return f"object {one['object']}"
    return f"0x{one['value'].hex()}" if one["value"] else f"{one['local_bytes']} bytes of local memory"


def described(one: Facts) -> str:
    """An object in a line."""
    words = [f"{_KINDS.get(one['type'], 'memory')} of {one['bytes']} bytes"]
    if one["parent"] is not None:
        return f"{words[0]}, in object {one['parent']} from byte {one['first']} on"
    if one["host_offset"] is not None:
        words.append("in the host's memory")
    if one["type"] != 0x10F0:
        words.append(" x ".join(map(str, one["size"])) + " pixels")
    words.append(f"at first {contents_name(one['before'])}")
    if one["after"] is None:
        words.append("written by the host after its last launch, so not compared")
    else:
        words.append("unchanged" if one["after"] == one["before"] else f"then {contents_name(one['after'])}")
    return ", ".join(words)
