"""What a sweep returns: its rows, with tables, sentences and pictures of them. Nothing here touches a device."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuopt import files
from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows import frames
from gpuopt.lab.rows.copies import apart
from gpuopt.lab.rows.energies import is_ranked
from gpuopt.lab.rows.groups import where
from gpuopt.lab.rows.row_fields import Kind
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.sources import stored
from gpuopt.lab.rows.study_rows import StudyRows, joined_info, joined_rows
from gpuopt.lab.rows.table import Sheet, printable, wrapped
from gpuopt.signals import is_file

if TYPE_CHECKING:
    import pandas
    import xarray

PLOTS = ("ladder.png", "ladder-*.png", "energy.png")  # patterns of the names of what `Study.save_plots` writes
MORE = "More: --explain or study.explain(): each step, configurations, flags"


@checked
class Study(StudyRows):
    """The rows of a sweep with their tables, sentences and pictures; arguments and attributes as of
    :class:`gpuopt.lab.rows.study_rows.StudyRows`. Times are in ms, the other units stand in the names of fields.

    Examples
    --------
    >>> row = {"kind": "summary", "role": "variant", "status": "ok"}
    >>> study = lab.Study([row | {"variant": "naive", "median_ms": 3.0}, row | {"variant": "tlp", "median_ms": 1.5}])
    >>> study.best()["variant"]
    'tlp'
    >>> print(study.speedup("tlp", "naive"))
    2.00x
    >>> len(study.failures()), len(study.groups()), study.to_csv("study.csv").name, study.to_json("study.json").name
    (0, 1, 'study.csv', 'study.json')
    >>> lab.Study.joined([study, study]).best()["median_ms"]
    1.5
    """

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """The study stored at `path` (JSON lines). Raises ResultsError where there is none or it cannot be read."""
        if not is_file(path):
            raise ResultsError(f"path: there is no results file at {path}; lab.sweep and `gpuopt study` write one")
        rows, notes = stored(path)
        return cls(rows, notes=notes)

    @classmethod
    def joined(cls, studies: Sequence[Study]) -> Study:
        """One study of the rows of several studies; tables and pictures still show each problem by itself. Of
        what several have, that counts which was measured last, by the times of the rows; where they have none, that of
        the last study. A row that several studies have is one row. Raises ParameterError for none."""
        if not studies:
            raise ParameterError("studies: there are none; give at least one")
        notes = dict.fromkeys(note for study in studies for note in study.notes)
        parts = apart([study.rows for study in studies])
        infos = [max((studies[number].problem_info for number in same), key=len) for _, same in parts]
        joined = cls(joined_rows([rows for rows, _ in parts]), joined_info(infos), list(notes))
        counted = {number for _, same in parts for number in same}  # what ended early and went on elsewhere did not end
        joined.interrupted = any(
            study.interrupted for number, study in enumerate(studies) if number in counted or not study.rows
        )
        return joined

    def sentences(self) -> list[str]:
        """One sentence for each step, which says what the step's numbers show and nothing else."""
        from gpuopt.lab.show import sentences as explain

        return explain.sentences(self)

    def save_plots(self, directory: str | Path) -> list[Path]:
        """Writes `ladder.png` into `directory` (made where missing), with several problems one `ladder-PROBLEM.png` for
        each, `-` for what is no ASCII letter, digit, space or one of ._=+-, and `energy.png` where energies of
        more than the idle device's were measured; returns the paths written. Needs matplotlib."""
        from gpuopt.lab.show import energy_picture, ladder
        from gpuopt.lab.show.style import drawable

        target = files.made_folder(directory)
        shown = drawable(self)
        names = _file_names(dict.fromkeys(group.problem for group in shown.groups()))
        parts: dict[str, StudyRows] = {
            f"ladder-{name}.png": Study(shown.of_problem(problem), self.problem_info) for problem, name in names.items()
        }
        parts = parts if len(parts) > 1 else {"ladder.png": self}
        for name, part in parts.items():
            ladder.ladder(part).savefig(target / name, dpi=150)
        written = [target / name for name in parts]
        if any(is_ranked(row) for row in self.summary):
            written.append(target / "energy.png")
            energy_picture.energy_plot(self).savefig(written[-1], dpi=150)
        return written

    # ------------------------------------------------------------ for other programs

    def to_pandas(self, kind: Kind | None = None, *, full: bool = False) -> pandas.DataFrame:
        """A line for each row of ``summary``, or for each point: 15 columns, of points alone 12.

        Times are in ms with their 95 % interval, speedups over the baseline with theirs (NaN for the baseline itself),
        ``bound_pct`` is the share of the bound in percent. With ``full``, every row with every field, but for rows of
        environments, with ``kind`` every row of that kind: mappings become columns such as ``bytes.dram``. Raises
        ResultsError without pandas.
        """
        from gpuopt.lab.show import tidy

        if not full and kind is None:
            return tidy.as_frame(tidy.columns(self), tidy.lines(self))
        wanted = [row for row in self.rows if row["kind"] == kind or (kind is None and row["kind"] != "environment")]
        return frames.to_pandas(wanted)

    def to_xarray(self) -> xarray.Dataset:
        """The columns of :meth:`to_pandas` as variables over device, problem, dtype, name and role. Raises ResultsError
        without xarray, for points, and where several runs of one problem are in the study."""
        from gpuopt.lab.show import tidy

        return tidy.as_dataset(self)

    def to_csv(self, path: str | Path) -> Path:
        """Writes the table of :meth:`to_pandas` as CSV, and returns the path. Raises WriteError, ParameterError (no
        regular file)."""
        from gpuopt.lab.show import tidy

        return _written(path, tidy.as_csv(tidy.columns(self), tidy.lines(self)).encode())

    def to_json(self, path: str | Path) -> Path:
        """Writes the table of :meth:`to_pandas` as a JSON list of objects, null where there is no number, and returns
        the path. Raises WriteError, ParameterError (no regular file)."""
        from gpuopt.lab.show import tidy

        return _written(path, tidy.as_json(tidy.lines(self)).encode())

    def to_parquet(self, path: str | Path) -> Path:
        """Writes the table of :meth:`to_pandas` as Apache Parquet, and returns the path. Raises ResultsError without
        pandas or pyarrow, WriteError, ParameterError (no regular file)."""
        try:
            made = self.to_pandas().to_parquet(None)
        except ImportError as error:
            raise ResultsError("to_parquet needs pyarrow: pip install pyarrow") from error
        return _written(path, bytes(made))

    # ------------------------------------------------------------ rendering

    def headline(self, width: int | None = None) -> str:
        """The fastest here and over the best peer, what of the papers pays, and how sure that is, in ``width``
        characters or those of the terminal; empty without rows."""
        from gpuopt.lab.show import headline

        return headline.text(headline.lines(self), width)

    def to_text(self, width: int | None = None) -> str:
        """The headline and the tables in `width` characters, or in those of the terminal."""
        notes = f", {len(self.notes)} notes." if len(self.notes) > 1 else ", a note." if self.notes else "."
        more = [wrapped([MORE + notes], width, "")] if self.groups() or self.points else []
        return "\n\n".join(
            filter(None, [self.headline(width), *(sheet.text(width) for sheet in self._sheets()), *more])
        )

    def explain(self, width: int | None = None) -> str:
        """What the tables leave out: a sentence a step, all rows and columns, facts of the run, flags, failures,
        notes and configurations."""
        parts = [wrapped(self.sentences(), width), *(sheet.text(width) for sheet in self._details())]
        return "\n\n".join(part for part in parts if part)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from gpuopt.lab.show import headline

        top = "".join(
            f"<p><b>{html.escape(label)}</b>: {html.escape(printable(text))}</p>"
            for label, text in headline.lines(self)
        )
        items = "".join(f"<li>{html.escape(printable(text))}</li>" for text in self.sentences())
        more = (f"<ul>{items}</ul>" if items else "") + "".join(sheet.html() for sheet in self._details())
        tables = "".join(sheet.html() for sheet in self._sheets())
        return top + tables + (f"<details><summary>explained</summary>{more}</details>" if more else "")

    def _sheets(self) -> list[Sheet]:
        from gpuopt.lab.show import points
        from gpuopt.lab.show import tables as sheets

        made = [sheets.sheet(self, group) for group in self.groups()]
        made += [points.sheet(rows, self) for rows in _by_device(self.points)]
        if not made:
            notes = self.notes or ["no configuration has been measured"]
            return [Sheet([], ["an empty study"], footers=[("", note) for note in notes])]
        return made

    def _details(self) -> list[Sheet]:
        """What the tables leave out, and at the end the notes."""
        from gpuopt.lab.show import explanation, points

        groups = self.groups()
        made = [explanation.details(self, group) for group in groups]
        made += [Sheet([], [], footers=points.remarks(rows)) for rows in _by_device(self.points)]
        rest = [("note", note) for note in self.notes] if made else []
        if self.harness and made:
            spent, wall = self.harness
            share = f"{spent:.1f} s of {wall:.1f} s ({100 * spent / wall:.1f} %)"
            rest.append(("harness", f"{share}, the rest was builds, transfers, runs and checks"))
        return [*made, *([Sheet([], [], footers=rest)] if rest else [])]


def _written(path: str | Path, data: bytes) -> Path:
    files.write(path, [data])
    return Path(path)


def _by_device(rows: list[Row]) -> list[list[Row]]:
    keys = ("device", "unit", "driver")
    places = dict.fromkeys(where(row, keys) for row in rows)
    return [[row for row in rows if where(row, keys) == place] for place in places]


def _file_names(problems: Iterable[str]) -> dict[str, str]:
    """What stands for each problem in a file's name, no two alike: rows may name a problem in any way."""
    found: dict[str, str] = {}
    for problem in problems:
        name = re.sub(r"[^A-Za-z0-9 ._=+-]+", "-", problem)[:100]
        numbered = (f"{name}-{number}" for number in range(2, len(found) + 3))
        found[problem] = next(one for one in (name, *numbered) if one not in found.values())
    return found
