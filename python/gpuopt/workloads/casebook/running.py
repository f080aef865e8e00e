"""The casebook on a device: each entry swept, its versions held against its bug (`lab.casebook`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuopt._core import Device, Error
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, complete
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import Recorder, UnsavedRowsError, interrupted_note
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.table import Sheet, Shown
from gpuopt.lab.run.sweep import SweepRun, sweep
from gpuopt.lab.run.wanted import what_to_measure
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.problem import Problem
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select
from gpuopt.signals import let_through
from gpuopt.workloads.casebook import index, tables
from gpuopt.workloads.casebook.device_class import class_of
from gpuopt.workloads.casebook.entry import DeviceClass, Entry
from gpuopt.workloads.casebook.findings import Finding, findings_of, not_run

if TYPE_CHECKING:
    import pandas


@checked
@dataclass(repr=False)
class Casebook(Shown):
    """What was found. ``findings`` are a version each, ``studies`` the sweeps by the entries' ids, ``notes`` for the
    reader; ``interrupted`` is True where Ctrl-C ended it early; ``unsaved`` says which rows the file lacks."""

    device: Device
    device_class: DeviceClass
    findings: list[Finding] = field(default_factory=list)
    studies: dict[str, Study] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    unsaved: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """All rows of all sweeps."""
        return [row for study in self.studies.values() for row in study.rows]

    def of(self, entry: str | Entry) -> list[Finding]:
        """The findings of one entry, by its id or name, one of your own too. Raises ParameterError for an unknown
        one."""
        (one,) = index.chosen(entry, [each.entry for each in self.findings])
        return [each for each in self.findings if each.entry.id == one.id]

    def to_pandas(self) -> pandas.DataFrame:
        """A line for each finding, as a DataFrame."""
        import pandas

        return pandas.DataFrame.from_records([each.to_json() for each in self.findings])

    def _sheet(self) -> Sheet:
        return tables.sheet(self.findings, self.device, self.device_class, self.notes)


@checked
def casebook(
    entries: str | Entry | Sequence[str | Entry] | None = None,
    *,
    device: Selector = None,
    quick: bool = False,
    store: str | Path | None = None,
    progress: bool | None = None,
) -> Casebook:
    """Run entries of the casebook on one device: each bug beside its fixes, checked, timed and judged by a sweep.

    What cannot run is a finding with its reason. Ctrl-C ends it early and keeps what is finished. Raises
    ParameterError for an unknown entry and for two entries of one id, and ResultsError where ``store`` takes no row at
    all.

    Parameters
    ----------
    entries
        Ids or names, such as ``"A2"`` or ``["row_sum", "E1"]``, or entries of your own; None for all.
    quick
        A fixed budget, a second or two an entry, and on CPUs smaller sizes.
    store
        A JSON-lines file of the sweeps' rows; the same call goes on where it was interrupted.

    Examples
    --------
    >>> lab.casebook(["A2"], quick=True)  # doctest: +SKIP
    >>> from gpuopt.workloads.casebook.index import chosen
    >>> [(entry.id, entry.name) for entry in chosen("A2")]
    [('A2', 'row_sum')]
    """
    chosen = select(device)
    wanted = index.chosen(entries)
    book = Casebook(chosen, class_of(chosen))
    bar = Bar(progress, len(wanted), "entry", even=False)
    try:
        _run(book, wanted, bar, quick, store)
    except KeyboardInterrupt:
        book.interrupted = True
    finally:
        bar.close()
    if book.interrupted:
        book.notes.append(interrupted_note(store is not None))
    return book


def _run(book: Casebook, wanted: Sequence[Entry], bar: Bar, quick: bool, store: str | Path | None) -> None:
    for entry in wanted:
        bar.say(f"{entry.id} {entry.name}")
        try:
            study, labels = _swept(entry, book, quick, store)
        except ResultsError as error:
            let_through(error)
            if not book.studies:  # no row at all was taken
                raise
            book.findings += not_run(entry, book.device_class, " ".join(str(error).split()))
        except (Error, MemoryError) as error:
            let_through(error)
            reason = " ".join(str(error).split()) or type(error).__name__
            book.findings += not_run(entry, book.device_class, reason)
        else:
            book.studies[entry.id] = study
            book.findings += findings_of(entry, study, labels, book.device_class)
            book.notes += [note for note in study.notes if note not in book.notes and len(wanted) == 1]
            if study.interrupted:
                raise KeyboardInterrupt
        bar.step()


def glance(
    problem: Problem,
    configurations: Sequence[Configuration],
    device: Device,
    store: str | Path | None = None,
    calls: Sequence[str] = (),
) -> Study:
    """A sweep of short visits, without reads and copies beside them: a second or two. Of the problem's whole calls
    those of these names are visited too. Raises as ``sweep`` does."""
    wanted = what_to_measure(problem, device, configurations, all_levels=False)
    run = SweepRun(problem, device, PROTOCOLS["short"], Recorder(store), ceilings=False)
    run.run(None, wanted, calls, (), Bar(False, 0))
    return run.recorder.handed_over(run.study())


def _swept(entry: Entry, book: Casebook, quick: bool, store: str | Path | None) -> tuple[Study, list[str]]:
    """The study of one entry, and what its rows call the versions; the book notes which rows were not saved."""
    device = book.device
    entry.check(device)
    sizes = entry.sizes_for(device, quick)
    problem = entry.problem_of(sizes)
    configurations = [complete(problem.workload, each) for each in entry.configurations(sizes)]
    try:
        if quick:
            calls = [*problem.calls] if entry.program else []
            return glance(problem, configurations, device, store, calls), [str(each) for each in configurations]
        calls_too = bool(entry.program)
        study = sweep(
            problem, configurations, device=device, peers=(), calls=calls_too, store=store, progress=False
        )  # the bar of entries is the casebook's
    except UnsavedRowsError as error:
        study = error.study
        study.notes.append(str(error))
        book.notes.append(str(error))
        book.unsaved.append(error.what())
    return study, [str(each) for each in configurations]
