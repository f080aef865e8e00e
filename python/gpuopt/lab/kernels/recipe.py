"""A kernel at one configuration as data: what a worker needs to build and run it, without what is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt.lab.kernels.arguments import Argument, Array, Local, Sampler, Value
from gpuopt.lab.kernels.binding import Code
from gpuopt.lab.kernels.expressions import Expression
from gpuopt.lab.kernels.frames import described, dtype_of
from gpuopt.lab.kernels.source import Source
from gpuopt.lab.kernels.space import Levels, Space
from gpuopt.lab.kernels.stages import Launch, Rounds, Stage, Zero
from gpuopt.lab.kernels.task import DeclaredWork, Numbers, Task

Recipe = dict[str, Any]


def written(task: Task, code: Code, levels: Levels, numbers: Numbers) -> Recipe:
    """The recipe as JSON. Its arrays travel beside it."""
    return {
        "name": code.label,  # a judged kernel has its own
        "arguments": [_argument(one) for one in task.arguments],
        "work": None
        if task.work is None
        else [_text(one) for one in (task.work.flops, task.work.read, task.work.write)],
        "text": code.source.text,
        "file": code.source.name,
        "levels": levels,
        "constraints": [one.text for one in code.space.constraints],
        "stages": [_part(one) for one in code.stages],
        "options": code.options,
        "numbers": {name: _number(value) for name, value in numbers.items()},
    }


def read(recipe: Recipe) -> tuple[Task, Code, Levels, Numbers]:
    """Task (without its reference), code, levels and numbers of a recipe."""
    arguments = tuple(_read_argument(one) for one in recipe["arguments"])
    work = None
    if recipe["work"] is not None:
        work = DeclaredWork(*(None if one is None else Expression(one, "work") for one in recipe["work"]))
    levels: Levels = recipe["levels"]
    space = Space({name: (level,) for name, level in levels.items()}, [])
    space.constraints = tuple(Expression(one, "constraints") for one in recipe["constraints"])
    stages = tuple(_read_part(one) for one in recipe["stages"])
    code = Code(Source(recipe["text"], recipe["file"]), recipe["name"], space, stages, recipe["options"])
    kinds = {one.name: one.dtype for one in arguments if isinstance(one, Value)}
    numbers = {name: _read_number(value, kinds.get(name)) for name, value in recipe["numbers"].items()}
    return Task(recipe["name"], arguments, None, None, work), code, levels, numbers


def _text(one: Expression | None) -> str | None:
    return None if one is None else one.text


def _number(value: Any) -> Any:
    return value.tobytes().hex() if isinstance(value, np.generic) else value


def _read_number(value: Any, dtype: np.dtype[Any] | None) -> Any:
    if isinstance(value, str) and dtype is not None:
        return np.frombuffer(bytes.fromhex(value), dtype=dtype)[0]
    return value


def _argument(one: Argument) -> list[Any]:
    if isinstance(one, Local):
        return ["local", one.name, one.bytes.text]
    if isinstance(one, Sampler):
        return ["sampler", one.name, one.address, one.filter, one.normalized]
    if isinstance(one, Value):
        return ["value", one.name, described(one.dtype), _text(one.each)]
    return [one.role, one.name, described(one.dtype), [part.text for part in one.shape], one.channels]


def _read_argument(told: list[Any]) -> Argument:
    role, name = told[:2]
    if role == "local":
        return Local(name, Expression(told[2], name))
    if role == "sampler":
        return Sampler(name, *told[2:])
    if role == "value":
        return Value(name, dtype_of(told[2]), None, None if told[3] is None else Expression(told[3], name))
    shape = tuple(Expression(part, f"{name}.shape") for part in told[3])
    return Array(name, role, shape, dtype_of(told[2]), channels=told[4])


def _launch(one: Launch) -> list[Any]:
    return [None if part is None else [each.text for each in part] for part in (one.items, one.groups, one.local)]


def _part(one: Stage | Rounds) -> list[Any]:
    if isinstance(one, Stage):
        return ["stage", one.kernel, list(one.arguments), _launch(one.launch)]
    flag = None if one.until is None else one.until.flag
    return ["repeat", [_part(stage) for stage in one.stages], one.times.text, [list(pair) for pair in one.swap], flag]


def _read_part(told: list[Any]) -> Any:
    if told[0] == "stage":
        parts = [None if part is None else tuple(Expression(each, "launch") for each in part) for part in told[3]]
        return Stage(told[1], tuple(told[2]), Launch(parts[0], parts[1], parts[2] or ()))
    stages = tuple(_read_part(one) for one in told[1])
    until = None if told[4] is None else Zero(told[4])
    return Rounds(stages, Expression(told[2], "times"), tuple((a, b) for a, b in told[3]), until)
