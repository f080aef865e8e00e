"""Every claim of the papers beside what rows say: a table, pictures, and rows of their own."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuopt import files
from gpuopt._core import ParameterError
from gpuopt.checked import checked, methods_checked
from gpuopt.lab.rows.claims import Finding, finding, sittings
from gpuopt.lab.rows.sources import Source, studies_of
from gpuopt.lab.rows.table import Sheet
from gpuopt.lab.show import claim_sheets
from gpuopt.lab.show.claim_devices import ordered
from gpuopt.papers import claims as data
from gpuopt.signals import is_file, let_through

if TYPE_CHECKING:
    import pandas

ROWS_FILE = "claims.jsonl"
PAGE = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{}</title></head><body>{}</body></html>\n'


@checked
def claims(*sources: Source, paper: str | Sequence[str] | None = None) -> Claims:
    """Hold every claim of the papers against rows.

    Parameters
    ----------
    sources
        Studies, rows, results files (raw or compact), folders of them; of several devices, in any order. Without any,
        the claims stand alone, with the commands that measure them.
    paper
        The key of a paper, such as ``"jang2009"``, or several, each told once; without it, all of them.

    Returns
    -------
    Claims
        Prints as tables; ``rows``, ``to_pandas()``, ``save(directory)``. Each claim has a verdict for each device; the
        rules are in :mod:`gpuopt.lab.rows.claims`.

    Raises
    ------
    ParameterError
        For an unknown paper, and for a source that is none.
    ResultsError
        For a file or folder without rows.

    Examples
    --------
    >>> found = lab.claims(paper="catanzaro2010")
    >>> {row["verdict"] for row in found.rows}
    {'not measured'}

    ``lab.claims("gpuopt-results", paper="jang2009").save("claims")`` writes tables and pictures of what was measured.
    """
    for source in sources:
        if source is None or isinstance(source, bool | int | float):
            raise ParameterError(f"claims: {source!r} is no study, rows, file or folder; without rows, give no source")
    keys = data.known() if paper is None else (paper,) if isinstance(paper, str) else tuple(paper)
    chosen = [data.load(key) for key in dict.fromkeys(keys)]
    studies = [study for source in sources for study in studies_of(source)]
    measured = sittings(studies)
    found = {
        device: {(each.paper, each.id): finding(each, device, here) for one in chosen for each in one.claims}
        for device, here in measured.items()
    }
    return Claims(chosen, found, [note for study in studies for note in study.notes])


@methods_checked
class Claims:
    """Claims and findings. ``papers``: the papers' claims; ``findings``: by device and (paper, id)."""

    def __init__(
        self,
        papers: Sequence[data.PaperClaims],
        findings: dict[str, dict[tuple[str, str], Finding]],
        notes: Sequence[str] = (),
    ) -> None:
        self.papers, self.notes = list(papers), list(notes)
        self.findings = {device: findings[device] for device in ordered(findings)}

    @property
    def devices(self) -> list[str]:
        """The devices that rows are of, in the order of the columns."""
        return list(self.findings)

    def of(self, paper: data.PaperClaims) -> dict[str, dict[str, Finding]]:
        """What was found for the claims of one paper, by device and id. A device without any number is left out, unless
        none has one. Raises ParameterError for another paper."""
        if all(paper.key != one.key for one in self.papers):
            raise ParameterError(
                f"paper: {paper.key} is none of these; give one of {', '.join(one.key for one in self.papers)}"
            )
        whole = self._whole(paper)
        told = {device: found for device, found in whole.items() if any(each.ours for each in found.values())}
        return told or whole

    def _whole(self, paper: data.PaperClaims) -> dict[str, dict[str, Finding]]:
        """The same of all devices."""
        return {
            device: {claim.id: found[paper.key, claim.id] for claim in paper.claims}
            for device, found in self.findings.items()
        }

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a claim and device, in JSON's types: what is claimed, ``ours`` with ``lo`` and ``hi`` in ``unit``, each
        problem's own ``[mid, lo, hi]``, the verdict, why, and the command that measures it. Without devices a row a
        claim."""
        made = []
        for paper in self.papers:
            for claim in paper.claims:
                found: list[Finding | None] = [of[paper.key, claim.id] for of in self.findings.values()]
                made += [_row(paper, claim, each) for each in found or [None]]
        return made

    def to_pandas(self) -> pandas.DataFrame:
        """``rows`` as a DataFrame. Needs pandas."""
        import pandas

        return pandas.DataFrame.from_records(self.rows)

    def save(self, directory: str | Path, pictures: bool = True, only_measured: bool = False) -> list[Path]:
        """Write a table a paper (Markdown, and all in one HTML page), the rows as JSON lines, and pictures into
        ``directory``, which is made where missing; of all claims, or in tables and pictures of those that some device
        has a number for. Return the paths. Pictures need matplotlib. Raises ParameterError where a ``claims.jsonl``
        that is there holds other rows."""
        target = Path(directory)
        refuse_other_rows(target / ROWS_FILE)
        texts = {
            f"claims-{paper.key}.md": claim_sheets.markdown(paper, self.of(paper), only_measured, self._whole(paper))
            for paper in self.papers
        }
        texts["claims.html"] = PAGE.format(html.escape("What the papers claim"), self._html(only_measured))
        texts[ROWS_FILE] = "".join(json.dumps(row, allow_nan=False) + "\n" for row in self.rows)
        for name, text in texts.items():
            files.write(target / name, [text.encode("utf-8")], make_folder=True, over_rows=name == ROWS_FILE)
        paths = [target / name for name in texts]
        return paths + (self.save_pictures(target, only_measured) if pictures else [])

    def save_pictures(self, directory: str | Path, only_measured: bool = False) -> list[Path]:
        """Write a picture a paper, of many claims several, as ``claims-PAPER.png`` into ``directory``, which is made
        where missing; of all claimed ratios, or of those that some device has a number for. Return the paths: none, and
        no folder is made, where there is nothing to draw. Needs matplotlib."""
        from gpuopt.lab.show import claim_pictures

        target = Path(directory)
        made = (claim_pictures.save(each, self.of(each), target, self.devices, only_measured) for each in self.papers)
        return [path for paths in made for path in paths]

    def to_text(self, width: int | None = None, only_measured: bool = False) -> str:
        """The tables in ``width`` characters, or in those of the terminal; of all claims, or of those that some device
        has a number for."""
        return "\n\n".join(sheet.text(width) for sheet in self._sheets(only_measured))

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self._html()

    def _html(self, only_measured: bool = False) -> str:
        return "".join(sheet.html() for sheet in self._sheets(only_measured))

    def _sheets(self, only_measured: bool = False) -> list[Sheet]:
        made = [claim_sheets.sheet(paper, self.of(paper), only_measured, self._whole(paper)) for paper in self.papers]
        if made:
            made[-1].footers += [("note", note) for note in self.notes]
        return made


def refuse_other_rows(path: Path) -> None:
    """Raises ParameterError for a file that is there and has a line that is no claim: a new one may not replace it."""
    if not is_file(path):
        return
    try:
        with path.open("rb") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        rows = [None]
    except OSError as error:
        let_through(error)
        raise files.refused(path, error, "name another folder") from error
    if not all(isinstance(row, dict) and row.get("kind") == "claim" for row in rows):
        raise ParameterError(f"directory: {files.shown(path)} is no file of claims; name another folder")


def _row(paper: data.PaperClaims, claim: data.Claim, found: Finding | None) -> dict[str, Any]:
    test = claim.test
    ours = found.ours if found else None
    return {
        "schema": data.SCHEMA,
        "kind": "claim",
        "paper": claim.paper,
        "id": claim.id,
        "where": claim.where,
        "says": claim.says,
        "source": claim.source,
        "printed": list(claim.printed) or None,
        "unit": claim.unit,
        "paper_device": claim.device,
        "workload": test.workload if test else None,
        "of": test.of.text if test else None,
        "over": test.over.text if test and test.over else None,
        "quantity": test.quantity if test else None,
        "direction": test.direction if test else None,
        "best": test.best if test else None,
        "subject": test.subject if test else None,
        "device": found.device if found else None,
        "verdict": found.verdict if found else "not measured",
        "ours": ours.mid if ours else None,
        "lo": ours.lo if ours else None,
        "hi": ours.hi if ours else None,
        "problems": {name: [one.mid, one.lo, one.hi] for name, one in found.problems.items()} if found else {},
        "reason": (found.reason if found else claim.why) or None,
        "untested": claim.untested,
        "date": (found.date or None) if found else None,
        "command": paper.command(claim),
    }
