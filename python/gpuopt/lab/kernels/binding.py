"""A kernel's plan on a device: its program, its memory, and its launches with their arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray, ParameterError, Prepared, Program
from gpuopt.checked import unsupported
from gpuopt.lab.kernels.arguments import Argument, Array, Local, Sampler, Value
from gpuopt.lab.kernels.checks import Memory
from gpuopt.lab.kernels.expressions import Expression, Number
from gpuopt.lab.kernels.restoring import Restorer
from gpuopt.lab.kernels.scrub import scrubber
from gpuopt.lab.kernels.source import Source, bare
from gpuopt.lab.kernels.space import Levels, Space
from gpuopt.lab.kernels.stages import Clear, Rounds, Stage, Step, check_results, unrolled
from gpuopt.lab.kernels.task import Arrays, Numbers, Task
from gpuopt.lab.kernels.values import fitting

_OPENCL = {
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}
_BASE = re.compile(rf"({'|'.join(_OPENCL.values())})(2|3|4|8|16)?")
_OPTION = re.compile(r"-cl-[a-z0-9-]+(=CL[0-9.]+)?")
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Code:
    """The other half of a kernel: its text, its levels, and how it is launched. It decides nothing of what is right."""

    source: Source
    label: str
    space: Space
    stages: tuple[Stage | Rounds, ...]
    options: str = ""

    @property
    def kernels(self) -> list[Stage]:
        """Each stage once."""
        return [one for part in self.stages for one in (part.stages if isinstance(part, Rounds) else (part,))]

    def unused(self) -> list[str]:
        """Notes of parameters that the text never names, as a macro, and no launch either: all levels are one."""
        named = {name for stage in self.kernels for name in stage.launch.names}
        named |= set(re.findall(r"\w+", bare(self.source.text)))
        lacking = [name for name in self.space.levels if name not in named]
        return [f"{name}: neither the text of {self.label} nor its launch has it" for name in lacking]

    def build_options(self, levels: Levels) -> str:
        """What the compiler gets: names and words that were checked, and nothing else."""
        return " ".join([f"-D{name}={level}" for name, level in levels.items()] + self.options.split())


@dataclass
class Plan:
    """A plan on a device with the memory that it works on."""

    prepared: Prepared
    memory: Memory


def checked_options(options: str) -> str:
    """Options of a build that are known to name no file. Raises ParameterError."""
    for word in options.split():
        if not _OPTION.fullmatch(word):
            raise ParameterError(
                f"options: {word!r}: only options such as -cl-mad-enable; parameters become -D by themselves"
            )
    return options


def plan(
    task: Task, code: Code, device: Device, levels: Levels, numbers: Numbers, arrays: Arrays, guarded: bool = True
) -> Plan:
    """The plan of a kernel at these levels, on memory of its own.

    Raises UnsupportedError for levels that a constraint forbids, ParameterError for a declaration that does not fit the
    kernel, and what building and binding raise.
    """
    known: dict[str, Any] = {**numbers, **levels}
    if (broken := code.space.broken(known)) is not None:
        raise unsupported(f"the constraint {broken.text!r} does not hold for {broken.at(known)}")
    for one in task.arguments:  # a dtype that no kernel of the device can have
        _check_device(one, device)
    program = built(task, code, device, levels)
    held = _memory(task, device, known, arrays, guarded)
    made: dict[str, Any] = {
        one.name: _core.make_image(held.arrays[one.name][1], one.channels) for one in task.arrays if one.role == "image"
    }
    for one in task.arguments:
        if isinstance(one, Sampler):
            made[one.name] = _core.make_sampler(device, one.normalized, one.address, one.filter)
    steps: list[tuple[Any, ...]] = []
    sizes: list[int] = []  # work-items
    in_order = unrolled(code.stages, known)
    only_read = partial(_only_read, code, device, levels)
    check_results(code.stages, in_order, {one.name: one.role for one in task.arrays}, only_read)
    for step in in_order:
        if not isinstance(step, Step):
            flag = held.arrays[step.flag][1]
            steps.append(("clear", flag) if isinstance(step, Clear) else ("until", flag, step.past))
            sizes.append(-1)
            continue
        at = {"i": 0, **known} if step.round is None else {**known, "i": step.round}
        overall, local = step.stage.launch.sizes(at)
        given = [_bound(task, step, name, at, held, made) for name in step.stage.arguments]
        steps.append((program, step.stage.kernel, overall, local, given))
        sizes.append(math.prod(overall))
    if not steps:
        raise ParameterError("stages: nothing is launched for these sizes; give at least one round")
    main = max(range(len(steps)), key=sizes.__getitem__)
    unwritten = [one.name for one in task.arrays if one.role == "output" and 0 not in held.arrays[one.name][1].shape]
    if not guarded and sizes[main] < 1 and unwritten:  # a check tells it
        told = ", ".join(f"{name} = {value}" for name, value in numbers.items())
        raise ParameterError(f"launch: it has no work-items for {told}, and {unwritten[0]} would not be written")
    read, write = task.bytes_of(numbers)
    prepared = _core.prepare_own(device, steps, main, task.flops_of(numbers) or 0.0, {"dram": read + write})
    return Plan(prepared, held)


def built(task: Task, code: Code, device: Device, levels: Levels) -> Program:
    """The program at these levels, whose kernels take what is declared. Raises KernelBuildError, ParameterError."""
    program = _core.build_program(device, code.source.text, code.source.name, code.build_options(levels))
    _check_declaration(task, code, device, levels)
    return program


def _check_device(one: Argument, device: Device) -> None:
    if isinstance(one, (Value, Array)) and one.dtype.name == "float64" and not device.fp64:
        raise unsupported(f"{one.name} is float64; {device.name} has no fp64", "device")
    if isinstance(one, Array) and one.role == "image" and not device.image_support:
        raise unsupported(f"{one.name} is an image; {device.name} has none", "device")


def _memory(task: Task, device: Device, known: Mapping[str, Any], arrays: Arrays, guarded: bool) -> Memory:
    held: dict[str, tuple[Array, DeviceArray]] = {}
    first: Arrays = {}
    for one in task.arrays:
        if one.is_given:
            data = arrays[one.name]
            first[one.name] = as_bytes(data)
            held[one.name] = (one, _core.to_device(first[one.name], device, guarded))
        else:
            held[one.name] = (one, _core.empty(task.shape(one, known), one.dtype, device, guarded))
    return Memory(held, first, [one.name for one in task.results], scrubber(device), Restorer(device))


def as_bytes(data: np.ndarray) -> np.ndarray:
    """Structs as the bytes that devices hold; other arrays as they are."""
    return data if data.dtype.fields is None else data.reshape(-1).view(np.uint8)


def _bound(task: Task, step: Step, name: str, known: Mapping[str, Any], held: Memory, made: Mapping[str, Any]) -> Any:
    argument = task.by_name[step.array(name)]
    if isinstance(argument, Local):
        return argument.bytes.whole(known, 1)
    if isinstance(argument, Sampler):
        return made[argument.name]
    if isinstance(argument, Array):
        return made.get(argument.name) or held.arrays[argument.name][1]
    number = known[argument.name] if argument.each is None else _in_round(argument, argument.each, known)
    if argument.dtype.fields is not None:
        return np.array(number, dtype=argument.dtype).tobytes()
    return argument.dtype.type(fitting(argument.name, number, argument.dtype)).tobytes()


def _in_round(one: Value, each: Expression, known: Mapping[str, Any]) -> Number:
    """What a value is in a round. Raises ParameterError for a fraction where a whole number is declared."""
    found = each.value(known)
    if one.dtype.kind != "f" and found != int(found):
        raise ParameterError(
            f"{one.name}: {each.text!r} is {found} in round {known['i']}, which is no whole number; declare float32 or "
            "float64"
        )
    return found


# ---------------------------------------------------------------- the declaration against the kernel

_seen: set[tuple[str, int, str]] = set()
MOST_SEEN = 10_000


def _declaration(task: Task, code: Code, device: Device, levels: Levels) -> tuple[str, int, str]:
    stages = [(stage.kernel, stage.arguments) for stage in code.kernels]
    return (code.source.text, device.index, f"{code.build_options(levels)} {task.arguments} {stages}")


def is_declared(task: Task, code: Code, device: Device, levels: Levels) -> bool:
    """Whether the declaration is known to fit this build of the kernel."""
    return _declaration(task, code, device, levels) in _seen


def declared(task: Task, code: Code, device: Device, levels: Levels) -> None:
    """Notes that it fits, here or in another process."""
    if len(_seen) > MOST_SEEN:
        _seen.clear()
    _seen.add(_declaration(task, code, device, levels))


def _check_declaration(task: Task, code: Code, device: Device, levels: Levels) -> None:
    """Holds declared arguments against what the driver says of the kernels' own, once for each build."""
    if is_declared(task, code, device, levels):
        return
    with_facts = _with_facts(code, device, levels)
    for stage in code.kernels:
        facts = _facts(with_facts, code, stage)
        if facts is not None:
            check_arguments(stage, facts, task, alone=isinstance(code.stages[0], Stage) and len(code.stages) == 1)
    declared(task, code, device, levels)


def _facts(program: Program, code: Code, stage: Stage) -> Sequence[Facts] | None:
    """What the driver says of the arguments of a stage's kernel, if anything. Raises ParameterError where the text
    lacks the kernel: of its ``name``, or of the ``stages`` that call it otherwise."""
    try:
        return program.arguments(stage.kernel)
    except ParameterError as error:
        if [one.kernel for one in code.kernels] == [code.label]:
            raise
        raise ParameterError(f"stages: {str(error).partition(': ')[2]}") from error


def _with_facts(code: Code, device: Device, levels: Levels) -> Program:
    """The program, which tells of its kernels' arguments where the driver does."""
    options = f"{code.build_options(levels)} -cl-kernel-arg-info"
    return _core.build_program(device, code.source.text, code.source.name, options)


def _only_read(code: Code, device: Device, levels: Levels, stage: Stage) -> set[str]:
    """The names of the arguments that the kernel of a stage has as const; none where the driver does not tell."""
    facts = _with_facts(code, device, levels).arguments(stage.kernel) or ()
    return {name for name, fact in zip(stage.arguments, facts, strict=False) if fact["const"]}


def check_arguments(stage: Stage, facts: Sequence[Facts], task: Task, alone: bool = True) -> None:
    """Raises ParameterError where a declared argument is of another kind or type than the kernel's. A kernel that is
    ``alone`` must be able to write its results; of several, another may."""
    if len(facts) != len(stage.arguments):
        listed = ", ".join(f"{one['type']} {one['name']}" for one in facts)
        raise ParameterError(
            f"arguments: {stage.kernel} takes {len(facts)} ({listed}), but {len(stage.arguments)} are declared "
            f"({', '.join(stage.arguments)})"
        )
    for number, (name, fact) in enumerate(zip(stage.arguments, facts, strict=True), 1):
        if (why := _misfit(task.by_name[name], fact, alone)) is not None:
            raise ParameterError(
                f"{name}: argument {number} of {stage.kernel} is {fact['address']} {fact['type']} {fact['name']}; {why}"
            )


def order_hint(task: Task, code: Code, device: Device, levels: Levels) -> str:
    """What to look at where a result is wrong, and a kernel names the declared arguments in another order than the
    declaration; empty where it does not."""
    program = _with_facts(code, device, levels)
    for stage in code.kernels:
        theirs = [str(fact["name"]) for fact in program.arguments(stage.kernel) or ()]
        ours = [name for name in stage.arguments if name in theirs]
        if ours != (order := [name for name in theirs if name in ours]):
            return f"{stage.kernel} takes {', '.join(order)} in this order, declared are {', '.join(ours)}"
    return ""


def _misfit(one: Argument, fact: Facts, alone: bool) -> str | None:
    pointer = "*" in fact["type"]
    if isinstance(one, Sampler):
        return None if "sampler" in fact["type"] else "it was declared as a sampler"
    if "sampler" in fact["type"]:
        return "declare it by lab.sampler"
    if isinstance(one, Local):
        return None if fact["address"] == "local" else "it was declared as local memory"
    if isinstance(one, Value):
        if pointer or fact["address"] != "private" or fact["image"]:
            return f"it was declared as a value of {one.dtype}"
        return _other_type(one.dtype, fact["type"], vectors=False)
    if one.role == "image" or fact["image"]:
        return None if one.role == "image" and fact["image"] else f"it was declared as {one.role}"
    if fact["address"] not in ("global", "constant"):
        return f"it was declared as {one.role}, a buffer"
    if alone and one.is_result and (fact["const"] or fact["address"] == "constant"):
        return f"it was declared as {one.role}, but the kernel cannot write it"
    return _other_type(one.dtype, fact["type"], vectors=True)


def _other_type(dtype: np.dtype[Any], said: str, vectors: bool) -> str | None:
    """None where the type fits, or is one that cannot be known here, such as a struct."""
    text = said.replace("*", "").replace("const", "").strip()
    for long, short in (
        ("unsigned char", "uchar"),
        ("unsigned short", "ushort"),
        ("unsigned int", "uint"),
        ("unsigned long", "ulong"),
    ):
        text = text.replace(long, short)
    found = _BASE.fullmatch(text)
    if found is None or dtype.name not in _OPENCL:
        return None
    if found[1] != _OPENCL[dtype.name] or (found[2] and not vectors):
        return f"it was declared as {dtype}"
    return None
