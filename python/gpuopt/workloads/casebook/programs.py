"""What a program does around a kernel: data go to the device, kernels run one after the other, results come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.lab.kernels.arguments import Array, Value
from gpuopt.lab.kernels.checks import flat
from gpuopt.lab.kernels.kernel import Kernel

Call = Callable[[], np.ndarray]


def call_name(name: str) -> str:
    """What rows call the whole call of a version of this name."""
    return f"{name}(...)"


def whole_call(kernel: Kernel, given: Mapping[str, Any]) -> Callable[[Device], Call]:
    """The whole call of a kernel of the casebook, from arrays of the host to an array of the host: of the ``given``
    data and values of its task, those go up that its own kernels take."""
    code, results = kernel.code, [one.name for one in kernel.task.results]
    used = {name for stage in code.kernels for name in stage.arguments}
    taken = [one for one in kernel.task.arguments if one.name in used or isinstance(one, Value)]
    own = Kernel(
        code.source.text,
        kernel.name,
        parameters={name: list(levels) for name, levels in code.space.levels.items()},
        arguments=taken,
        stages=code.stages,
        constraints=[one.text for one in code.space.constraints],
        options=code.options,
    )
    dropped = {one.name for one in kernel.task.arguments if isinstance(one, Array)} - {one.name for one in taken}
    wanted = {name: value for name, value in given.items() if name not in dropped}

    def call(device: Device) -> np.ndarray:
        got = own(device=device, **wanted)
        return flat(got if isinstance(got, dict) else {results[0]: got}, results)

    return lambda device: partial(call, device)
