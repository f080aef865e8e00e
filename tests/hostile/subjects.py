"""Who reads each kind of file, and what must hold of whatever it accepts."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import gpuopt
from gpuopt import audit, io, papers, problems, records
from gpuopt import tomo as gt
from gpuopt.lab.device import aa_record
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.report import Study
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import new_row
from gpuopt.lab.rows.store import Store
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.papers import claims, findings

from . import corpus
from .mutations import mutated


@dataclass(frozen=True)
class Case:
    """A damaged file: where it lies, what it was before, and by which number it was drawn."""

    path: Path
    data: bytes
    before: bytes
    draw: random.Random


@dataclass(frozen=True)
class Subject:
    """Good files by name, and ``read``, which returns what was accepted and is wrong."""

    name: str
    share: int
    good: dict[str, bytes]
    read: Callable[[Case], list[str]]
    is_json: bool = False

    def case(self, seed: int, number: int, folder: Path) -> Case:
        """The file ``number`` of a seed, written into ``folder``."""
        draw = random.Random(f"{seed}:{number}")
        name = draw.choice(sorted(self.good))
        before = self.good[name]
        as_it_is = draw.random() < 0.08  # bombs are good files
        data = before if as_it_is else mutated(draw, before, list(self.good.values()), is_json=self.is_json)
        path = folder / f"{number}-{name}"
        path.write_bytes(data)
        return Case(path, data, before, draw)


def subjects(device: gpuopt.Device, root: Path) -> list[Subject]:
    """Everything that is read. Profiles and records are read where the cache is, which must be the caller's own."""
    stored = root / "results" / "cpu-2core"
    paper = root / "python" / "gpuopt" / "papers"
    rows = corpus.rows(stored / "intel-tmv" / "rows.jsonl")
    profile = corpus.profile(device, stored / "pocl-profile.json")
    tuned = _tuned(device)
    documents = {f"{file.parent.name}-{file.name}": file.read_bytes() for file in sorted(paper.rglob("*.json"))}
    return [
        Subject("molecule", 2, corpus.molecules(), _molecule),
        Subject("surface", 8, corpus.surfaces(), _surface),
        Subject("picture", 5, corpus.pictures(), _picture),
        Subject("scan", 4, corpus.scans(), _scan),
        Subject("rows", 4, rows, _rows, is_json=True),
        Subject("profile", 2, {"profile.json": profile}, lambda case: _profile(case, device), is_json=True),
        Subject(
            "comparisons",
            2,
            {"aa.json": corpus.comparisons(device, stored)},
            lambda case: _comparisons(case, device),
            is_json=True,
        ),
        Subject("records", 2, {"spmv.json": tuned}, lambda case: _records(case, device), is_json=True),
        Subject("paper", 1, documents, _paper, is_json=True),
        Subject("study", 1, {**rows, "profile.json": profile}, lambda case: _study(case, device), is_json=True),
    ]


def _molecule(case: Case) -> list[str]:
    made = io.read_pqr(case.path, case.draw.choice((np.float32, np.float64)))
    good = len(made) > 0 and all(np.isfinite(a).all() for a in (made.xyz, made.charge, made.radius))
    assert made.radius is not None
    return [] if good and made.radius.min() >= 0 else ["a molecule with numbers that cannot be"]


def _surface(case: Case) -> list[str]:
    if case.path.suffix in (".vert", ".face"):
        other = {".vert": ".face", ".face": ".vert"}[case.path.suffix]
        case.path.with_suffix(other).write_bytes(corpus.surfaces()[f"surface{other}"])
    made = io.read_surface(case.path, case.draw.choice((np.float32, np.float64)))
    wrong = [] if np.isfinite(made.points).all() else ["points that are not finite"]
    if made.normals is not None:
        known = made.normals[~np.isnan(made.normals).all(axis=1)]  # three NaN say that a normal is not known
        if not np.allclose(np.linalg.norm(known, axis=1), 1, atol=1e-5):
            wrong.append("normals that are not of length 1")
    if made.faces is not None and not ((made.faces >= 0) & (made.faces < len(made))).all():
        wrong.append("faces that name no point")
    copy = case.path.with_name(f"copy-{case.path.stem}.ply")
    io.write_ply(copy, made, np.ones(len(made)))
    again = io.read_ply(copy, made.dtype)
    if not np.array_equal(again.points, made.points):
        wrong.append("points that are others once written and read")
    return wrong


def _picture(case: Case) -> list[str]:
    made = problems.spmv_image_affinity(case.path, radius=1, max_bytes=3_000_000)
    image = made.inputs["image"]
    finite = np.isfinite(image).all() and np.isfinite(made.reference).all()
    return [] if finite and min(image.shape) > 0 else ["an image or a product that is not finite"]


def _scan(case: Case) -> list[str]:
    made = gt.read_scan(case.path, 6, flat=65535.0 if case.draw.random() < 0.5 else None, dark=0.0)
    found = made.projections(slice(0, 2))
    return [] if np.isfinite(found).all() and found.shape[:2] == (6, 2) else ["line integrals that are not finite"]


def _rows(case: Case) -> list[str]:
    """Undamaged lines are read, whatever stands around them; what is accepted can be shown, compacted and audited."""
    store = Store(case.path)
    found = store.rows()
    wrong = _lost(case, found)
    study = Study.load(case.path)
    shown = study.to_text(100) + study.explain(100)
    shown.encode()
    if "\x1b" in shown:
        wrong.append("a table that commands the terminal")
    recorder = Recorder(case.path) if not store.compact else None
    if recorder is not None:
        recorder.note_earlier_runs()
    with suppress(gpuopt.Error):
        compact_file(case.path, case.path.with_name(f"{case.path.stem}-compact.jsonl"))
    with suppress(gpuopt.Error):
        audit.audit(case.path).to_text().encode()
    with suppress(gpuopt.Error):
        gpuopt.lab.claims(study)
    if case.draw.random() < 0.05:
        _drawn(study, case.path.parent)
    if not store.compact:
        wrong += _appended(case, store)
    return wrong


def _lost(case: Case, found: list[dict[str, object]]) -> list[str]:
    """Raw lines that stand as they were; lines of a compact file depend on others."""
    if not case.path.name.endswith("raw.jsonl"):
        return []
    whole = [line for line in case.before.splitlines() if line]
    there = set(case.data.split(b"\n"))
    kept = [block for block, line in enumerate(whole) if line in there]
    read = {row["block"] for row in found if isinstance(row["block"], int)}
    return [f"line {block + 1} stands there and is not read" for block in kept if block not in read]


def _drawn(study: Study, folder: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    study.save_plots(folder / "pictures")
    pyplot.close("all")


def _appended(case: Case, store: Store) -> list[str]:
    before = [row["row_id"] for row in store.rows()]
    made = store.append(new_row(kind="search", status="ok", workload="spmv", variant="last"))
    after = [row["row_id"] for row in Store(case.path).rows()]
    return [] if after == [*before, made["row_id"]] else [f"{len(before)} rows and one more are {len(after)}"]


def _profile(case: Case, device: gpuopt.Device) -> list[str]:
    """A damaged profile gives no ceilings, or those of before."""
    kept = _kept(profiles.path_of(device), case)
    try:
        found = _quietly(lambda: profiles.stored(device))
        wrong = _unused(found, case) if found is None else _other_ceilings(found, case)
        with suppress(gpuopt.Error):
            repr(profiles.load(case.path, device)).encode()
        with suppress(gpuopt.Error):
            audit.audit(case.path).to_text().encode()
        return wrong
    finally:
        for left in kept.parent.iterdir():
            left.unlink()


def _other_ceilings(found: profiles.Profile, case: Case) -> list[str]:
    before = profiles.Profile.from_json(case.before.decode())
    repr(found).encode()
    changed = [name for name in before.ceilings if found.ceilings.get(name) != before.ceilings[name]]
    rates = [each.rate for each in found.ceilings.values()]
    if not all(isinstance(rate, (int, float)) and 0 < rate < float("inf") for rate in rates):
        return ["a ceiling that cannot be"]
    sealed = "sha256" in json.loads(case.before)  # nothing tells what was changed in files without a checksum
    return [f"ceilings other than were measured: {', '.join(changed)}"] if changed and sealed else []


def _comparisons(case: Case, device: gpuopt.Device) -> list[str]:
    kept = _kept(aa_record.path_of(device), case)
    try:
        found = _quietly(lambda: aa_record.last(device))
        if found is None:
            return _unused(found, case)
        (repr(found) + found.sentence()).encode()
        return []
    finally:
        for left in kept.parent.iterdir():
            left.unlink()


def _kept(path: Path, case: Case) -> Path:
    """The damaged file where a whole one is kept, in a folder of the owner's alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(case.data)
    return path


def _unused(found: object, case: Case) -> list[str]:
    """A whole file that is not used would hide what damaged ones do."""
    return ["a file that is whole and not used"] if not found and case.data == case.before else []


def _quietly(read: Callable[[], object]) -> object:
    """What is set aside or ignored is told by a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read()


_X = np.random.default_rng(3).uniform(-1, 1, 400).astype(np.float32)


def _matrix() -> object:
    from scipy.sparse import dia_array

    return dia_array((np.ones((3, 400), np.float32), [-1, 0, 7]), shape=(400, 400))


def _tuned(device: gpuopt.Device) -> bytes:
    match = {"name": device.name, "dtype": "float32"}
    made = [
        {"match": match, "variant": "sliced", "parameters": {"SLICE": 64}, "date": "2026-11-22", "gain": 1.2},
        {"match": {"dtype": "float32"}, "variant": "basic", "parameters": {}},
    ]
    path = records.store_records("spmv", made)
    data = path.read_bytes()
    path.unlink()
    return data


def _records(case: Case, device: gpuopt.Device) -> list[str]:
    """Whatever a record says, a plain call gives the right product."""
    path = _kept(records.tuned_dir() / "spmv.json", case)
    matrix = _matrix()
    try:
        wrong = _unused(_quietly(lambda: records.user_records("spmv")), case)
        found = _quietly(lambda: gpuopt.spmv(matrix, _X, device=device))
        wanted = matrix @ _X  # type: ignore[operator]
        wrong += [] if np.allclose(found, wanted, atol=1e-5) else ["a product by a damaged record that is wrong"]
        _quietly(lambda: records.store_records("spmv", [{"match": {"dtype": "float32"}, "variant": "basic"}]))
        if _quietly(lambda: records.user_records("spmv")) == []:
            wrong.append("a record that was stored and is not there")
        return wrong
    finally:
        for left in path.parent.iterdir():
            left.unlink()


def _paper(case: Case) -> list[str]:
    text = case.data.decode(errors="replace")
    for parse in (papers.parse, claims.parse, findings.parse):
        with suppress(gpuopt.Error):
            parse(text, "damaged")
    return []


def _study(case: Case, device: gpuopt.Device) -> list[str]:
    """A study goes on whatever stands in its rows' file, or in the device's profile. Peers are left out: another
    library's compiler takes more memory than any file."""
    brief = replace(PROTOCOLS["quick"], name="brief", warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
    PROTOCOLS["brief"] = brief
    problem = problems.spmv_stencil((40, 10), 5, device=device)
    kept, rows = profiles.path_of(device), case.path
    if case.path.name.endswith("profile.json"):
        kept, rows = _kept(kept, case), case.path.with_suffix(".jsonl")
    try:
        found = _quietly(
            lambda: gpuopt.lab.sweep(problem, variants=["basic"], protocol="brief", device=device, store=rows, peers=())
        )
        assert isinstance(found, Study)
        found.to_text(100).encode()
        measured = [row for row in found.rows if row["status"] == "ok" and row["kind"] in ("block", "summary")]
        return [] if measured else ["a study that measured nothing"]
    finally:
        kept.unlink(missing_ok=True)
