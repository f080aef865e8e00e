"""What a sweep returns: its rows, with tables, sentences and pictures of them. Nothing here touches a device."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from gpuopt.lab.rows.groups import where
from gpuopt.lab.rows.schema import ResultsError, Row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.study_rows import StudyRows, joined_info
from gpuopt.lab.rows.table import Sheet


class Study(StudyRows):
    """The rows of a sweep with their tables, sentences and pictures; arguments and attributes as of
    :class:`gpuopt.lab.rows.study_rows.StudyRows`."""

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """The study stored at `path` (JSON lines). Raises ResultsError where there is none or it cannot be read."""
        if not Path(path).is_file():
            raise ResultsError(f"path: there is no results file at {path}; lab.sweep and `gpuopt study` write one")
        store = Store(path)
        return cls(store.latest(), notes=[f"passed over: {problem}" for problem in store.problems])

    @classmethod
    def joined(cls, studies: Sequence[Study]) -> Study:
        """One study of the rows of several studies; tables and pictures still show each problem by itself."""
        notes = dict.fromkeys(note for study in studies for note in study.notes)
        info = joined_info([study.problem_info for study in studies])
        joined = cls((row for study in studies for row in study.rows), info, list(notes))
        joined.interrupted = any(study.interrupted for study in studies)
        return joined

    def sentences(self) -> list[str]:
        """One sentence for each step, which says what the step's numbers show and nothing else."""
        from gpuopt.lab.show import sentences as explain

        return explain.sentences(self)

    def save_plots(self, directory: str | Path) -> list[Path]:
        """Writes `ladder.png` into `directory` (made where missing), with several problems one `ladder-PROBLEM.png` for
        each; returns the paths written. Needs matplotlib."""
        from gpuopt.lab.show import ladder

        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        names = dict.fromkeys(group.problem for group in self.groups())
        parts = {f"ladder-{name}.png": Study(self.of_problem(name), self.problem_info) for name in names}
        parts = parts if len(parts) > 1 else {"ladder.png": self}
        for name, part in parts.items():
            ladder.ladder(part).savefig(target / name, dpi=150)
        return [target / name for name in parts]

    # ------------------------------------------------------------ rendering

    def to_text(self, width: int | None = None) -> str:
        """The tables in `width` characters, or in those of the terminal."""
        return "\n\n".join(sheet.text(width) for sheet in self._sheets())

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        tables = "".join(sheet.html() for sheet in self._sheets())
        items = "".join(f"<li>{html.escape(text)}</li>" for text in self.sentences())
        return tables + (f"<details><summary>step by step</summary><ul>{items}</ul></details>" if items else "")

    def _sheets(self) -> list[Sheet]:
        groups = self.groups()
        if self.points and not groups:
            from gpuopt.lab.show import points

            made = [points.sheet(rows) for rows in _by_device(self.points)]
            made[-1].footers += [("note", note) for note in self.notes]
            return made
        if not groups:
            notes = self.notes or ["no configuration has been measured"]
            return [Sheet([], ["an empty study"], footers=[("", note) for note in notes])]
        from gpuopt.lab.show import tables as sheets

        made = [sheets.sheet(self, group) for group in groups]
        made[-1].footers += [("note", note) for note in self.notes]
        if self.harness:
            spent, wall = self.harness
            share = f"{spent:.1f} s of {wall:.1f} s ({100 * spent / wall:.1f} %)"
            made[-1].footers.append(("harness", f"{share}, the rest was builds, transfers, runs and checks"))
        return made


def _by_device(rows: list[Row]) -> list[list[Row]]:
    places = dict.fromkeys(where(row, ("device", "driver")) for row in rows)
    return [[row for row in rows if where(row, ("device", "driver")) == place] for place in places]
