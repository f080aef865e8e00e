"""A workload's record: what `gpuopt study` and `gpuopt tune` accept for it, and the functions that run them.

Each room ``workloads/<w>/study.py`` holds one as ``WORKLOAD``; `gpuopt.registry` collects them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuopt._core import Device, ParameterError
from gpuopt.configuration import Configuration
from gpuopt.lab.report import Study
from gpuopt.lab.run.survey import Question
from gpuopt.problem import AnyPeer, Problem


def _no_pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    return []


def _no_check(subject: str, device: Device) -> None:
    """For workloads whose subjects are of one problem, which is made at once."""


def _no_peers(device: Device, notes: list[str]) -> Sequence[AnyPeer]:
    return ()


@dataclass(frozen=True)
class Workload:
    """A workload of problems.

    name, summary
        Name and help text of its subcommand.
    subject, default, subject_help
        The positional arguments of `gpuopt study NAME`: the name shown in the usage line, the default, and the help
        text. At most ``most`` may be given. They describe one problem, or, if ``several``, one problem each, all in one
        study.
    dtypes
        Those of the option ``--dtype``, the default first.
    problem
        ``problem(subjects, dtype, device, **options)``.
    check
        ``check(subject, device)`` raises ParameterError for what is no subject, without making its problem: a study
        looks at all of ``several`` before it measures the first.
    pictures
        ``pictures(problem, device, directory, study)`` writes the workload's own pictures, beside the ladder that every
        study has, and returns their paths; with several problems, it receives the last one.
    drawn
        The names of all files that ``pictures`` may write.
    options
        Decorators of the command line: ``click.option(...)``.
    sets
        Names that stand for many subjects, ``several`` being true: a study takes what a plain call takes of each, tells
        which do not fit, and goes on. ``problem`` gets the name before the subject.
    designs
        Sets of configurations by name, for ``--design``.
    peers
        ``peers(device, notes)`` returns other people's code for the same problems that is installed and runs there;
        ``notes`` receive why an installed one was left out.
    """

    name: str
    summary: str
    subject: str
    default: tuple[str, ...]
    subject_help: str
    dtypes: tuple[str, ...]
    problem: Callable[..., Problem]
    check: Callable[[str, Device], None] = _no_check
    pictures: Callable[[Problem, Device, Path, Study], list[Path]] = _no_pictures
    drawn: tuple[str, ...] = ()
    most: int = 1
    several: bool = False
    options: tuple[Callable[[Any], Any], ...] = ()
    sets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    designs: Mapping[str, Callable[[], list[Configuration]]] = field(default_factory=dict)
    peers: Callable[[Device, list[str]], Sequence[AnyPeer]] = _no_peers

    def problems(self, subjects: Sequence[str]) -> list[tuple[str, ...]]:
        """The subjects of each problem; of a set its name and one of its own each."""
        if not self.several:
            return [tuple(subjects)]
        if len(subjects) > 1 and (named := next(filter(self.sets.__contains__, subjects), None)):
            raise ParameterError(f"{named} stands for many of {self.subject}; give it alone")
        found = [[(given, own) for own in self.sets[given]] if given in self.sets else [(given,)] for given in subjects]
        return [each for several in found for each in several] or [()]

    def refuse_sets(self, subjects: Sequence[str]) -> None:
        """Raises ParameterError for a set, which only studies take."""
        if named := next(filter(self.sets.__contains__, subjects), None):
            raise ParameterError(
                f"{named} is for `gpuopt study`; give one of its members, such as {self.sets[named][0]}"
            )


@dataclass(frozen=True)
class SurveyWorkload:
    """A workload of many microbenchmarks of the device: ``questions(device, quick)`` returns them, ``pictures(study,
    directory)`` writes their pictures, of the names ``drawn``, and returns the paths."""

    name: str
    summary: str
    questions: Callable[[Device, bool], Sequence[Question]]
    pictures: Callable[[Study, Path], list[Path]]
    drawn: tuple[str, ...] = ()


def sizes_of(text: str, form: str, counts: Collection[int]) -> list[int]:
    """The numbers of `3`, `3x4`, ..., as many as ``counts`` allows. Raises ParameterError that names ``form``."""
    if not re.fullmatch(r"0*[1-9]\d{0,17}(x0*[1-9]\d{0,17})*", text) or text.count("x") + 1 not in counts:
        shown = text if len(text) < 60 else f"{text[:57]}..."
        raise ParameterError(f"{shown!r} is no size; write {form}")
    return [int(number) for number in text.split("x")]
