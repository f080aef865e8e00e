"""``lab.audit``: everything in results files that follows from other rows, computed again; and profiles, likewise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from gpuopt._core import Error, ParameterError
from gpuopt.checked import checked
from gpuopt.files import ELSEWHERE, NO_WORKING_DIRECTORY, leads_nowhere, refuse_irregular
from gpuopt.lab.device import bounds
from gpuopt.lab.device.profile import Profile
from gpuopt.lab.rows import audit_rules
from gpuopt.lab.rows.audit import audit_file, audit_points
from gpuopt.lab.rows.audit_bounds import KnownProfile
from gpuopt.lab.rows.audit_facts import FileAudit, Ledger, Report, alike
from gpuopt.lab.rows.audit_rules import Fields
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.sources import under
from gpuopt.signals import is_file, is_folder, let_through
from gpuopt.workloads.microbench import ceilings

PROFILES, ROWS = "*profile*.json", "*.jsonl"


@checked
def audit(paths: str | Path | Iterable[str | Path], profile: str | Path | Iterable[str | Path] | None = None) -> Report:
    """Computes again what follows from other rows, in results files, profiles, and folders of both.

    Each block's ratio, flags, rates and bound; each summary's median, interval, ratio, verdict, flags and share of its
    bound; a point's rates; hashes; a profile's ceilings. Where samples were kept, also what follows from them. Rows are
    judged by the rules of their own generation (``gpuopt.lab.rows.audit_rules``). Numbers agree to 1e-9.

    Returns the report: ``ok``, ``discrepancies``, ``to_text()``, ``to_json()``. Raises ResultsError where a file cannot
    be read, there is none or it holds no rows, ParameterError for a profile that is none, and an empty path.

    Parameters
    ----------
    paths
        Files of JSON lines (raw or compact), profiles (JSON), or folders, which are searched at any depth for files
        NAME.jsonl and for profiles.
    profile
        A profile, or several, that bounds of rows of that device, driver and sitting (earlier rows: of that date) are
        held against. Without it, those among the files, and in a file's folder and the one above, are tried, and taken
        where they give what most of a comparison's rows say; what is no profile there is passed over.

    Examples
    --------
    >>> row = {"kind": "search", "status": "ok", "variant": "naive", "flops": 2e9, "median_ms": 1.0, "gflop_s": 3000.0}
    >>> _ = lab.Store("rows.jsonl").append(row)
    >>> print(lab.audit("rows.jsonl").discrepancies[0])
    rows.jsonl:1: naive, search: gflop_s is 3000, not 2000 (...)
    """
    given = [Path(each) for each in _several("profile", profile)] if profile is not None else []
    asked = _several("paths", paths)
    if not asked:
        raise ResultsError("paths: no file is given; name results files, profiles or folders")
    files = list(dict.fromkeys(file for path in asked for file in _files(Path(path))))
    known = [_known(file, _profile(file), asked=True) for file in given]
    found: list[FileAudit] = []
    for file in [file for file in files if file.suffix == ".json"]:
        made = _profile(file)
        known.append(_known(file, made))
        found.append(_audit_profile(file, made))
    beside = {
        profile
        for path in map(Path, asked)
        if is_file(path)
        for folder in path.resolve().parents[:2]
        for profile in folder.glob(PROFILES)
    }
    known += _beside(beside - {file.resolve() for file in files})
    found += [audit_file(file, str(file), known) for file in files if file.suffix != ".json"]
    for path in asked:
        here = set(_files(Path(path)))
        if not any(_holds_something(made) for made in found if made.path in here):
            raise ResultsError(f"{path} holds no result rows: there is nothing to audit")
    return Report(sorted(found, key=lambda each: str(each.path)))


def _several(argument: str, paths: str | Path | Iterable[str | Path]) -> list[str | Path]:
    found = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if "" in found:
        raise ParameterError(f"{argument}: '' is no path; name a file or a folder, such as '.'")
    return found


def _files(path: Path) -> list[Path]:
    """The path itself, or the results files and profiles at any depth of a folder."""
    if leads_nowhere(path):
        raise ResultsError(f"cannot read {path}: {NO_WORKING_DIRECTORY}; {ELSEWHERE}")
    if is_folder(path):
        found = under(path, ROWS) + [file for file in under(path, PROFILES) if file.suffix == ".json"]
        if not found:
            raise ResultsError(f"{path}: no file NAME.jsonl in this folder; `gpuopt study` writes them")
        return found
    if not is_file(path):
        raise ResultsError(f"there is no results file, profile or folder {path}")
    return [path]


def _holds_something(made: FileAudit) -> bool:
    return bool(made.rows or made.own or made.claims or made.ledger.checked or made.ledger.discrepancies)


def _profile(file: Path) -> Profile:
    refuse_irregular("profile", file)
    try:
        return Profile.from_json(file.read_bytes())
    except OSError as error:
        let_through(error)
        raise ResultsError(f"cannot read {file}: {error.strerror}") from error
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}") from error


# ---------------------------------------------------------------- what rows are held against


def _beside(files: Iterable[Path]) -> list[KnownProfile]:
    """Those of files that nobody named: what is no profile, or a damaged one, is none of theirs."""
    found = []
    for file in sorted(files):
        with suppress(ParameterError, ResultsError):
            found.append(_known(file, _profile(file)))
    return found


def _known(file: Path, made: Profile, asked: bool = False) -> KnownProfile:
    launch_ms = (made.rate("launch") or 0.0) * 1e-3
    word, needs = bounds.profile_word(made), partial(_needs, made)
    return KnownProfile(str(file), made.device, made.driver, made.date, word, needs, launch_ms, asked)


def _needs(profile: Profile, row: Fields) -> Mapping[str, float]:
    """The times of the resources that the profile knows, as bounds of the row's generation took them."""
    if not audit_rules.counts_launches(row):
        return audit_rules.resources(row, {name: (each.rate, each.unit) for name, each in profile.ceilings.items()})
    work: Any = {"flops": row["flops"], "bytes": row["bytes"], "special": row["special"]}
    return bounds.resources(work, str(row["dtype"]), profile, row["device_type"])


# ---------------------------------------------------------------- profiles


def _audit_profile(file: Path, made: Profile) -> FileAudit:
    """Its rows, and the ceilings and levels that follow from them."""
    ledger = Ledger(str(file))
    lines = audit_points(json.loads(file.read_text("utf-8"))["rows"], file, ledger)
    try:
        wanted = ceilings.of_rows(made.rows)
    except Error as error:
        ledger.whole_file("ceilings", len(made.ceilings), str(error), "ceilings follow from the rows of a profile")
        return FileAudit(file, Counter(str(entry.row["kind"]) for entry in lines.entries), ledger)
    _ceilings(ledger, made, wanted)
    _levels(ledger, made, wanted)
    return FileAudit(file, Counter(str(entry.row["kind"]) for entry in lines.entries), ledger)


def _ceilings(ledger: Ledger, made: Profile, wanted: Profile) -> None:
    for name in sorted(made.ceilings.keys() | wanted.ceilings.keys()):
        if name in made.refused:  # it is of an earlier sitting, or missing
            ledger.findings["ceilings that their sitting did not keep"] += 1
            continue
        stored, found = made.ceilings.get(name), wanted.ceilings.get(name)
        if stored is None or found is None:
            ledger.whole_file(name, stored, found, "the ceilings that the rows of a profile show")
            continue
        for part in ("rate", "unit", "configuration", "lo", "hi"):
            _profile_fact(ledger, f"{name}.{part}", getattr(stored, part), getattr(found, part))


def _levels(ledger: Ledger, made: Profile, wanted: Profile) -> None:
    _profile_fact(ledger, "levels", len(made.levels), len(wanted.levels))
    for number, (stored, found) in enumerate(zip(made.levels, wanted.levels, strict=False), 1):
        for part in ("bytes", "rate_gb_s", "lo", "hi", "between"):
            _profile_fact(ledger, f"level {number}.{part}", getattr(stored, part), getattr(found, part))


def _profile_fact(ledger: Ledger, name: str, stored: Any, wanted: Any) -> None:
    if alike(stored, wanted):
        ledger.checked += 1
    else:
        ledger.whole_file(name, stored, wanted, "of the profile's rows")


__all__: Sequence[str] = ("audit",)
