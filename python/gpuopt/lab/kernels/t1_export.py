"""Kernels as tuning tasks in JSON, T1 1.0.0, for KTT and Kernel Tuner."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.files import write_together
from gpuopt.lab.kernels.arguments import Argument, Array, Local, Sampler, Value
from gpuopt.lab.kernels.expressions import Expression
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.kernels.stages import Stage
from gpuopt.lab.kernels.t1 import AXES, LOW, TEXT_HASH, TYPES, Fill, hash_of

_T1_TYPE = {(ours, width): theirs for theirs, (ours, width) in TYPES.items()}
_ACCESS = {"input": "ReadOnly", "constant": "ReadOnly", "output": "WriteOnly", "inout": "ReadWrite"}
_CEIL = re.compile(r"\bceil\s*\(", re.ASCII)
_NAME = re.compile(r"\b[A-Za-z_]\w*", re.ASCII)


@checked
def write_t1(kernel: Kernel, path: str | Path, /, **sizes: Any) -> None:
    """Writes the task of a kernel at these sizes, T1 1.0.0, and its text beside it: ``task.json`` names
    ``task.kernel.cl``, both of which are replaced, once both are written whole.

    T1 knows neither reference nor tolerance nor work; give them anew to :func:`lab.read_t1`, for arrays of one
    dimension, which is all that T1 has. Work-groups are also written as Kernel Tuner reads them, which takes the size
    of a group from parameters named ``block_size_x``, ``_y``, ``_z`` alone. Raises ParameterError for what T1 cannot
    say (several kernels, images, scratch memory, structs, arrays of data), and WriteError.

    Examples
    --------
    >>> text = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }"
    >>> twice = lab.Kernel(text, "twice", parameters={"block_size_x": [32, 64]}, arguments=[lab.inout("x", "n")],
    ...                    launch=lab.launch(items="n", local="block_size_x"))
    >>> lab.write_t1(twice, "twice.json", n=4096)
    >>> lab.read_t1("twice.json").levels()
    {'block_size_x': 32}
    """
    stage, target = _only_stage(kernel), Path(path)
    if not target.name:
        raise ParameterError(f"path: {str(path)!a} names no file; give one that ends in .json")
    if target.suffix == ".cl":
        raise ParameterError(f"path: {path} is named as a kernel's text; give it the suffix .json")
    numbers = kernel.task.numbers(sizes, {}, [*kernel.code.space.levels])
    listed = [_argument(kernel, kernel.task.by_name[name], numbers) for name in stage.arguments]
    text, content = target.with_suffix(".kernel.cl"), kernel.code.source.text.encode()
    spec: dict[str, Any] = {
        "Language": "OpenCL",
        "CompilerOptions": kernel.code.options.split(),
        "KernelName": stage.kernel,
        "KernelFile": text.name,
        TEXT_HASH: hash_of(content),
        **_launch(stage, numbers),
        "Arguments": listed,
    }
    whole = {
        "General": {"FormatVersion": 1, "BenchmarkName": kernel.name},
        "ConfigurationSpace": {
            "TuningParameters": [_parameter(name, levels) for name, levels in kernel.code.space.levels.items()],
            "Conditions": [_condition(one, kernel, numbers) for one in kernel.code.space.constraints],
        },
        "KernelSpecification": spec,
    }
    write_together({text: content, target: json.dumps(whole, indent=1, allow_nan=False).encode()})


def _only_stage(kernel: Kernel) -> Stage:
    first = kernel.code.stages[0]
    if len(kernel.code.stages) > 1 or not isinstance(first, Stage):
        raise ParameterError(f"stages: {kernel.name} launches several kernels; T1 has one, so write each by itself")
    return first


def _with(text: str, numbers: Mapping[str, Any]) -> str:
    """An expression with numbers in place of the sizes and values that T1 does not know, and without ceil."""

    def number(found: re.Match[str]) -> str:
        value = numbers.get(found[0], found[0])
        return f"({value})" if not isinstance(value, str) and value < 0 else str(value)

    return _without_ceil(_NAME.sub(number, text))


class _Floors(ast.NodeTransformer):
    """What is written for ceil is a floor of the negative, since other tools have no ceil."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id != "ceil":
            return node
        floor = ast.BinOp(ast.UnaryOp(ast.USub(), node.args[0]), ast.FloorDiv(), ast.Constant(1))
        return ast.UnaryOp(ast.USub(), floor)


def _without_ceil(text: str) -> str:
    if not _CEIL.search(text):
        return text
    return ast.unparse(_Floors().visit(ast.parse(text, mode="eval")))


def _parameter(name: str, levels: tuple[int | str, ...]) -> dict[str, Any]:
    values = [_number(one) for one in levels]
    kinds = {type(value) for value in values}
    kind = "int" if kinds == {int} else "string" if str in kinds else "float"
    return {"Name": name, "Type": kind, "Values": repr(values)}


def _number(level: int | str) -> int | float | str:
    """A level as conditions take it: the word 0.5 is a number."""
    with suppress(ValueError):
        if isinstance(level, str) and repr(float(level)) == level and math.isfinite(float(level)):
            return float(level)
    return level


def _condition(one: Expression, kernel: Kernel, numbers: Mapping[str, Any]) -> dict[str, Any]:
    named = [name for name in kernel.code.space.levels if name in one.names]
    return {"Parameters": named, "Expression": _with(one.text, numbers)}


def _launch(stage: Stage, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of work-groups, once as the form has them and once as Kernel Tuner reads them."""
    local = [_with(one.text, numbers) for one in stage.launch.local]
    counted = stage.launch.items or stage.launch.groups or ()
    texts = [_with(one.text, numbers) for one in counted]
    # Rounded up, as by ceil.
    by = local if stage.launch.items else ["1"] * len(texts)
    groups = [f"-(-({text}) // ({size}))" for text, size in zip(texts, by, strict=True)]
    return {
        "GlobalSizeType": "CUDA",
        "GlobalSize": {axis: _at(groups, index) for index, axis in enumerate(AXES)},
        "LocalSize": {axis: _at(local, index) for index, axis in enumerate(AXES)},
        "ProblemSize": groups,
        **{f"GridDiv{axis}": ["1"] for axis, _ in zip(AXES, groups, strict=False)},
    }


def _at(texts: list[str], index: int) -> str:
    return texts[index] if index < len(texts) else "1"


def _argument(kernel: Kernel, one: Argument, numbers: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(one, Local):
        return {"Name": one.name, "Type": "int8", "MemoryType": "Local", "Size": _with(one.bytes.text, numbers)}
    if isinstance(one, Sampler):
        raise ParameterError(f"{one.name}: T1 has no samplers")
    kind = _T1_TYPE.get((one.dtype.name, 1))
    if kind is None:
        raise ParameterError(f"{one.name}: it is a struct; T1 has numbers and vectors of numbers")
    if isinstance(one, Value):
        value = _finite(one.name, "value", numbers.get(one.name))
        return {"Name": one.name, "Type": kind, "MemoryType": "Scalar", "FillValue": value}
    if one.role not in _ACCESS:
        raise ParameterError(f"{one.name}: T1 has no {'images' if one.role == 'image' else 'scratch memory'}")
    told = {
        "Name": one.name,
        "Type": kind,
        "TypeSize": one.dtype.itemsize,
        "Size": int(np.prod(kernel.task.shape(one, numbers))),
        "MemoryType": "Vector",
        "AccessType": _ACCESS[one.role],
        **({"MemType": "Constant"} if one.role == "constant" else {}),
    }
    return told | (_filled(one, numbers) if one.is_given else {"FillType": "Constant", "FillValue": 0, "Output": 1})


def _finite(name: str, what: str, found: Any) -> Any:
    """A number that JSON can hold."""
    if not isinstance(found, (int, float, Fraction)) or not math.isfinite(found):
        raise ParameterError(f"{name}: its {what} is {found}; T1 has finite numbers alone")
    return found


def _filled(one: Array, numbers: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(one.data, Fill):
        source = one.data.source
        told = {"DataSource": source.text} if isinstance(source, Expression) else {"FillValue": source}
        return {"FillType": one.data.kind, **told}
    if one.data is not None:
        raise ParameterError(f"{one.name}: its data are an array or a function; T1 says only how an array is filled")
    usual = (-1, 1) if one.dtype.kind == "f" else (0, 100)
    given = (one.low, one.high)
    low, high = (
        default if end is None else end.value(numbers) if isinstance(end, Expression) else end
        for end, default in zip(given, usual, strict=True)
    )
    first, end = float(_finite(one.name, "low", low)), float(_finite(one.name, "high", high))
    return {"FillType": "Random", "FillValue": end, **({LOW: first} if first != 0 else {})}
