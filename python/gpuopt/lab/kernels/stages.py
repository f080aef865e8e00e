"""Launches, the stages of a plan, and rounds of stages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.kernels.arguments import Argument, Array, identifier
from gpuopt.lab.kernels.expressions import LARGEST, Expression, each

Sizes = int | str | Sequence[int | str]
MOST_ROUNDS = 100_000


@dataclass(frozen=True)
class Launch:
    """The index space of a kernel, as expressions: work-items, or groups, and the size of a group."""

    items: tuple[Expression, ...] | None
    groups: tuple[Expression, ...] | None
    local: tuple[Expression, ...]

    @property
    def names(self) -> set[str]:
        """The names in its expressions."""
        return {
            name for part in (self.items or (), self.groups or (), self.local) for one in part for name in one.names
        }

    def sizes(self, known: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Global and local sizes. Items are rounded up to whole groups. Raises ParameterError, also for 2^63 items."""
        local = tuple(one.whole(known, 1) for one in self.local)
        counted, what = (self.items, "items") if self.groups is None else (self.groups, "groups")
        assert counted is not None
        overall = []
        for one, size in zip(counted, local, strict=True):
            groups = -(-one.up(known) // size) if self.groups is None else one.up(known)
            if groups * size >= LARGEST:
                raise ParameterError(
                    f"launch.{what}: {one.text!r} makes {groups} groups of {size}; give fewer than 2^63 work-items"
                )
            overall.append(groups * size)
        return tuple(overall), local


@checked
def launch(*, items: Sizes | None = None, groups: Sizes | None = None, local: Sizes = 64, **other: Any) -> Launch:
    """How a kernel is launched: as many work-``items``, rounded up to whole work-groups of ``local``, or so many
    ``groups`` of them. Each is an expression, or one for each of up to three dimensions, x first. Raises
    ParameterError, also for any ``other`` argument.

    Examples
    --------
    >>> tiles = lab.launch(items=("width", "height / ROWS"), local=(32, 4))
    >>> tiles.sizes({"width": 100, "height": 30, "ROWS": 2})  # all work-items, and those of a group
    ((128, 16), (32, 4))
    """
    if other:
        raise ParameterError(
            f"{next(iter(other))}: launch has no such argument; give items=('w / tile_size_x', 'h / tile_size_y'), or "
            "groups=, and local=('block_size_x', 'block_size_y'), x first"
        )
    if (items is None) == (groups is None):
        raise ParameterError("launch: give either items or groups")
    parts = {"items": items, "groups": groups, "local": local}
    made = {name: None if given is None else each(given, f"launch.{name}") for name, given in parts.items()}
    sizes = made["local"]
    counted = made["items"] if groups is None else made["groups"]
    assert sizes is not None
    assert counted is not None
    if len(sizes) != len(counted) or not 1 <= len(sizes) <= 3:
        raise ParameterError(
            f"launch: {len(counted)} dimensions with a group of {len(sizes)}; give up to 3, as many each"
        )
    return Launch(made["items"], made["groups"], sizes)


@dataclass(frozen=True)
class Stage:
    """One kernel of a plan: its name, the names of its arguments in order, and its launch."""

    kernel: str
    arguments: tuple[str, ...]
    launch: Launch


@dataclass(frozen=True)
class Zero:
    """The end of rounds: after one that leaves the first element of an array zero."""

    flag: str


@dataclass(frozen=True)
class Rounds:
    """Stages that are repeated; buffers named in ``swap`` change places after each round."""

    stages: tuple[Stage, ...]
    times: Expression
    swap: tuple[tuple[str, str], ...] = ()
    until: Zero | None = None


@dataclass(frozen=True)
class Step:
    """A stage of an unrolled plan: ``bound`` says which array stands for which name, ``round`` is its ``i``, None
    outside of rounds."""

    stage: Stage
    bound: Mapping[str, str]
    round: int | None

    def array(self, name: str) -> str:
        """The array that a name of the stage stands for here."""
        return self.bound.get(name, name)


@dataclass(frozen=True)
class Clear:
    """Sets a flag to zero, before a round."""

    flag: str


@dataclass(frozen=True)
class Until:
    """Reads a flag after a round; where it is zero, the plan goes on at the step of number ``past``."""

    flag: str
    past: int


@checked
def stage(kernel: str, arguments: str | Sequence[str], launch: Launch) -> Stage:
    """A kernel of a plan of several: its name in the source, its arguments by name and in its order (a text such as
    ``"x parts n"`` or a list), and its launch. Raises ParameterError for what is no name of C.

    Examples
    --------
    >>> partial = lab.stage("partial", "x parts n", lab.launch(groups="GROUPS", local="WG"))
    >>> partial.arguments
    ('x', 'parts', 'n')
    """
    names = arguments.split() if isinstance(arguments, str) else list(arguments)
    return Stage(identifier(kernel, "kernel"), tuple(identifier(name, kernel) for name in names), launch)


@checked
def zero(flag: str) -> Zero:
    """The end of rounds, for ``lab.repeat(..., until=lab.zero("flag"))``: the flag, the first element of an array of
    whole numbers, is set to zero before each round and read after it; a round that leaves it zero is the last. So
    kernels only set it, where there is more to do. Reading waits for the device: that is part of the plan's time.
    Raises ParameterError.

    Examples
    --------
    >>> advance = lab.stage("advance", "first next level more n", lab.launch(items="n"))
    >>> lab.repeat(advance, "n", until=lab.zero("more")).until
    Zero(flag='more')
    """
    return Zero(identifier(flag, "flag"))


@checked
def repeat(
    stages: Stage | Sequence[Stage], times: int | str, *, swap: Sequence[Any] = (), until: Zero | None = None
) -> Rounds:
    """Stages that run ``times`` times, an expression. Launches and values with ``each`` may use ``i``, the round.

    ``swap`` is a pair of arrays, or a list of pairs, that change places after each round, as of a stencil from one
    array into the other. What the last round wrote then lies in the one or the other: name the result by the array
    that the *first* round writes, with an odd number of rounds, or by an inout that it reads, with an even one, or swap
    no results. A result that is older than what the last round wrote into an array that is no result is refused when
    the kernel is planned; what a round writes follows from the arrays that hold nothing before it, else from the
    ``const`` of the kernels' arguments.

    With ``until`` (see :func:`zero`) a flag ends the rounds, and ``times`` is the most there may be. Nobody knows then
    how many there are, and in which array of a pair the last one wrote: results must not be swapped, and no later stage
    may take what was. Raises ParameterError for no stages and no pairs.

    Examples
    --------
    >>> step = lab.stage("step", "old new w h", lab.launch(items=("w", "h"), local=(16, 4)))
    >>> rounds = lab.repeat(step, "2 * pairs + 1", swap=("new", "old"))
    >>> rounds.swap, rounds.times.value({"pairs": 3})
    ((('new', 'old'),), 7)
    """
    listed = (stages,) if isinstance(stages, Stage) else tuple(stages)
    if not listed:
        raise ParameterError("stages: none is given; give at least one")
    swapped = list(swap)
    pairs = [swapped] if swapped and isinstance(swapped[0], str) else swapped
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or [isinstance(name, str) for name in pair] != [True, True]:
            raise ParameterError(f"swap: {pair!r} is no pair of names; write swap=('a', 'b')")
    return Rounds(listed, Expression(times, "times"), tuple((str(a), str(b)) for a, b in pairs), until)


def check_rounds(rounds: Rounds, later: Sequence[Stage | Rounds], declared: Mapping[str, Argument]) -> None:
    """Raises ParameterError for pairs that cannot be swapped, and a flag that cannot end the rounds: also where a
    ``later`` part of the plan takes what they swap till then. Arguments are ``declared`` by name."""
    for a, b in rounds.swap:
        arrays = [one for one in (declared.get(a), declared.get(b)) if isinstance(one, Array)]
        shapes = {(tuple(map(str, one.shape)), str(one.dtype)) for one in arrays}
        if len(arrays) != 2 or len(shapes) != 1:
            raise ParameterError(f"swap: {a} and {b} are no two arrays of one shape and dtype")
    if rounds.until is None:
        return
    flag = declared.get(rounds.until.flag)
    if not isinstance(flag, Array) or flag.dtype.kind not in "iu" or flag.role in ("input", "constant", "image"):
        raise ParameterError(f"until: {rounds.until.flag} is no array of whole numbers that kernels write")
    swapped = {name for pair in rounds.swap for name in pair}
    results = {name for name, one in declared.items() if isinstance(one, Array) and one.role in _RESULTS}
    if strange := sorted(swapped & (results | {flag.name})):
        raise ParameterError(f"swap: {strange[0]} must stay where it is: a flag ends the rounds after any of them")
    for part in later:
        named = [part.arguments] if isinstance(part, Stage) else [*(one.arguments for one in part.stages), *part.swap]
        if lost := [name for names in named for name in names if name in swapped]:
            raise ParameterError(
                f"swap: a later stage takes {lost[0]}, and a flag ends the rounds before it after any of them: nobody "
                "knows which array of the pair holds what; let rounds write what it needs into an array that stays"
            )


def unrolled(parts: Sequence[Stage | Rounds], known: Mapping[str, Any]) -> list[Step | Clear | Until]:
    """All launches of a plan, in their order, with what the host does between them. Raises ParameterError for too
    many."""
    steps: list[Step | Clear | Until] = []
    bound: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Stage):
            steps.append(Step(part, dict(bound), None))
            continue
        rounds = part.times.whole(known)
        if rounds * len(part.stages) > MOST_ROUNDS:
            raise ParameterError(f"times: {rounds} rounds are more launches than {MOST_ROUNDS}; give fewer")
        with_flag = 0 if part.until is None else 2
        past = len(steps) + rounds * (len(part.stages) + with_flag)
        for index in range(rounds):
            if part.until is not None:
                steps.append(Clear(part.until.flag))
            steps += [Step(one, dict(bound), index) for one in part.stages]
            if part.until is not None:
                steps.append(Until(part.until.flag, past))
            for a, b in part.swap:
                bound[a], bound[b] = bound.get(b, b), bound.get(a, a)
    return steps


def check_results(
    parts: Sequence[Stage | Rounds],
    steps: Sequence[Step | Clear | Until],
    roles: Mapping[str, str],
    only_read: Callable[[Stage], Collection[str]],
) -> None:
    """Raises ParameterError where a result among arrays of these ``roles``, by name, is older than what the last round
    wrote, and that is no result. ``only_read`` are the arguments that a kernel has as const."""
    launches = [step for step in steps if isinstance(step, Step)]
    for name in (name for name, role in roles.items() if role in _RESULTS):
        swapping = [part for part in parts if isinstance(part, Rounds) and any(name in pair for pair in part.swap)]
        stages = [stage for part in swapping for stage in part.stages]
        partners = [one for part in swapping for pair in part.swap if name in pair for one in pair if one != name]
        # Whoever meets an array that holds nothing yet must write it; so rounds write what they have under its name.
        empty = [one for one in (name, *partners) if roles.get(one) in ("output", "scratch")]
        under = next((one for one in empty if _meet_first(launches, stages, one)), None)
        under = under or _only_written(stages, (name, *partners), only_read)
        latest = under and _written_last(launches, stages, under, name)
        if latest and latest != name and roles[latest] not in _RESULTS:
            way = "odd" if under == name else "even"
            raise ParameterError(
                f"swap: the last round writes to {latest}, which is no result, and {name} is older; give a number of "
                f"rounds after which {name} is the last, of a pair an {way} one, or swap no results"
            )


_RESULTS = ("output", "inout")


def _meet_first(launches: Sequence[Step], swapping: Sequence[Stage], under: str) -> bool:
    """Whether rounds are the first to meet an array, and under its own name."""
    first = next((step for step in launches if under in map(step.array, step.stage.arguments)), None)
    return (
        first is not None and first.stage in swapping and under in first.stage.arguments and first.array(under) == under
    )


def _only_written(
    swapping: Sequence[Stage], names: Sequence[str], only_read: Callable[[Stage], Collection[str]]
) -> str | None:
    """The one of these names that rounds may write; None where there is none, or several."""
    written = {name for stage in swapping for name in {*stage.arguments} & {*names} if name not in only_read(stage)}
    return written.pop() if len(written) == 1 else None


def _written_last(launches: Sequence[Step], swapping: Sequence[Stage], under: str, name: str) -> str | None:
    """The array that holds what rounds wrote last ``under`` a name; None where there are no rounds, and where a later
    stage takes the result ``name``."""
    places = [n for n, step in enumerate(launches) if step.stage in swapping and under in step.stage.arguments]
    if not places:
        return None
    last = places[-1]
    after = [step for step in launches[last + 1 :] if step.stage not in swapping]
    taken = any(name in map(step.array, step.stage.arguments) for step in after)
    return None if taken else launches[last].array(under)


def parts_of(
    label: str, arguments: Sequence[str], launch: Launch | None, stages: Sequence[Any] | None
) -> tuple[Stage | Rounds, ...]:
    """The stages of a kernel, of which one launch is one. Raises ParameterError."""
    if (launch is None) == (stages is None):
        raise ParameterError("launch: give either launch, of one kernel, or stages")
    if launch is not None:
        return (Stage(label, tuple(arguments), launch),)
    assert stages is not None
    if not isinstance(stages, Sequence) or not stages or not all(isinstance(one, (Stage, Rounds)) for one in stages):
        raise ParameterError("stages: give lab.stage(...) and lab.repeat(...), at least one")
    return tuple(stages)
