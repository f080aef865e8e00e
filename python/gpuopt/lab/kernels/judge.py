"""Somebody else's kernel against a task that is trusted: does it compute the task, always, and how fast?

The kernel is text and data, so nothing of its author's runs on the host. References, seeds and verdicts are known here
alone; the kernel runs in a worker. On a CPU device a kernel is native code of that worker's user all the same: an
author who is not trusted at all belongs in a container or on another machine.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.kernels.audits import TaskError
from gpuopt.lab.kernels.kernel import Chosen, Kernel
from gpuopt.lab.kernels.source import bare, in_first_language, source_of
from gpuopt.lab.kernels.stages import Launch, Rounds, Stage
from gpuopt.lab.kernels.trial import Trial
from gpuopt.lab.kernels.verdicts import Verdict
from gpuopt.selection import Selector, select

Level = Literal["quick", "full", "judge"]


@checked
def judge(  # long: half of it is its arguments and what users read of them
    source: str | Path,
    task: Kernel,
    *,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
    launch: Launch | None = None,
    stages: Sequence[Any] | None = None,
    constraints: str | Sequence[Any] = (),
    options: str = "",
    configuration: Chosen = None,
    device: Selector = None,
    level: str = "judge",
    seed: int | None = None,
    repeatable: bool = True,
    **sizes: Any,
) -> Verdict:
    """Judges a kernel by the task of another one: its arguments, reference, tolerance and work.

    One configuration is judged, the standard one where ``configuration`` names none. Of the judged kernel come text,
    levels, launch and stages alone; what is left out is the task's own. Its ``constraints`` are added to those of the
    task, of which, where ``parameters`` are given, only those on sizes and values hold. What is right, the task's
    ``reference`` says; an answer that is known is ``reference=lambda: answer`` of that task. ``level`` is "quick"
    (results over two random poisons, guards, inputs, and without images a second data set), "full" (also five runs
    alike, further data, sizes and values, state kept between runs) or "judge" (also constructs that are refused, and
    seeds drawn after the text is fixed). A right kernel is timed at each level. Meanwhile other threads' isolated
    kernels of the device wait. ``repeatable=False``: results may differ from run to run within the tolerance. ``sizes``
    are sizes and values by name; each is changed a little, so what a kernel needs of them stands in ``constraints``.
    Whole values of 0, 1 and -1, which may be flags, and whole numbers of structs stay as they are; a note names them.
    Raises TaskError for a task that wrong results pass, ParameterError for a declaration that does not fit.

    Examples
    --------
    >>> right = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }"
    >>> task = lab.Kernel(right, "twice", arguments=[lab.inout("x", "n")], launch=lab.launch(items="n", local=1),
    ...                   reference=lambda x: 2 * x)
    >>> [lab.judge(text, task, level="quick", n=64).word for text in (right, right.replace("2", "3"))]
    ['ok', 'wrong']
    """
    if level not in ("quick", "full", "judge"):
        raise ParameterError(f"level: there is none called {level!r}; use quick, full or judge")
    if seed is not None and seed < 0:
        raise ParameterError(f"seed: it is {seed}; give a whole number of at least 0")
    own, chosen = task.code, select(device)
    named = Configuration(name or own.label)
    try:
        text = source_of(source)
    except ParameterError as error:  # a file that it may not include
        return Verdict("refused", str(error), level, named, chosen.key, (), "")
    if "kernel" not in bare(text.text):
        return Verdict("compile", f"{text.name} holds no kernel", level, named, chosen.key, (), "")
    ours = own.space.levels.keys() if parameters is not None else set()
    kept = [one.text for one in own.space.constraints if not one.names & ours]
    theirs = Kernel(
        source,
        name or own.label,
        parameters={n: list(levels) for n, levels in own.space.levels.items()} if parameters is None else parameters,
        arguments=task.task.arguments,
        launch=launch,
        stages=stages if stages is not None or launch is not None else _renamed(own.stages, name),
        constraints=[*kept, *([constraints] if isinstance(constraints, str) else constraints)],
        options=in_first_language(options or own.options) if level == "judge" else options or own.options,
    )
    if isinstance(configuration, Configuration) and configuration.variant == own.label:  # as the task is called
        configuration = configuration.parameters
    space = theirs.code.space
    known = {} if configuration is not None else task.task.numbers(sizes, {}, [*space.levels])
    levels = theirs.levels(configuration) if configuration is not None else space.standard(known)
    for left in (2, 1, 0):
        first_seed = secrets.randbelow(2**31) if seed is None else seed
        trial = Trial(task.task, theirs.code, chosen, levels, dict(sizes), first_seed, level, repeatable)
        try:
            return trial.verdict()
        except TaskError:  # data that were drawn may have a sum near zero; a bad task fails with any
            if seed is not None or not left:
                raise
    raise AssertionError("unreachable")


def _renamed(stages: tuple[Stage | Rounds, ...], name: str) -> list[Stage | Rounds]:
    """The task's own launch, of a kernel of another name."""
    if name and len(stages) == 1 and isinstance(stages[0], Stage):
        return [dataclasses.replace(stages[0], kernel=name)]
    return list(stages)
