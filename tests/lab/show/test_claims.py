"""Tables, files and pictures of claims, and where rows are read from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claims as made_up
from gpuopt import ParameterError, lab
from gpuopt.lab.rows.claims import finding, sittings
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.store import Store
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.claims import Claims

ENTRIES = (
    made_up.entry("gains", 1.75, says="Vectors gain 75 %.", source="table"),
    made_up.entry("loses", 0.5, "less", where="Figure 2", source="picture"),
    made_up.entry("rate", 50, None, over=None, quantity="gflop_s", where="Figure 2"),
    made_up.entry("elsewhere", None, of="image"),
    made_up.untested("energy"),
)


def made(*studies: list[dict[str, Any]], entries: tuple[made_up.Entry, ...] = ENTRIES) -> Claims:
    paper = made_up.paper(*entries)
    measured = sittings([StudyRows(rows) for rows in studies])
    findings = {
        device: {(claim.paper, claim.id): finding(claim, device, here) for claim in paper.claims}
        for device, here in measured.items()
    }
    return Claims([paper], findings)


def test_without_rows_every_claim_is_told_with_its_command() -> None:
    text = made().to_text(100)
    for word in ("gains", "1.75x", "Vectors gain 75 %. (in a table)", "(in a picture without numbers)", "(in prose)"):
        assert word in text
    assert text.count("not measured") == len(ENTRIES)
    assert "Not measured: energy: No energy is measured." in text
    assert "5 claims, none measured; 4 have a test" in text
    assert f"[sizes]: {made_up.COMMAND} (measures 4 claims)" in text


def test_a_paper_given_twice_is_told_once() -> None:
    told = lab.claims(paper=["jang2009", "daga2011", "jang2009"])
    assert [paper.key for paper in told.papers] == ["jang2009", "daga2011"]


def test_a_number_from_before_a_failure_does_not_count() -> None:
    """As in one study of all sittings, in whichever order they are given."""
    good, again = (made_up.pair(2.0, time_utc=f"2026-0{month}-01T00:00:00Z") for month in (1, 3))
    bad = [
        row | {"status": "wrong", "reason": "bad", "median_ms": None} if row["variant"] == "vectorized" else row
        for row in made_up.pair(2.0, time_utc="2026-02-01T00:00:00Z")
    ]

    def told(*studies: list[dict[str, Any]]) -> tuple[str, str, str]:
        (row,) = made(*studies, entries=(made_up.entry("one", 1.75),)).rows
        return row["verdict"], row["date"] or "", row["reason"] or ""

    failed = ("not measured", "", "vectorized(LOCAL=256): wrong: bad")
    assert told(good, bad) == told(bad, good) == told(good + bad) == failed
    assert told(good, bad, again) == told(again, good, bad) == ("holds", "2026-03-01", "")


@pytest.mark.parametrize("test", [{}, {"over": None, "quantity": "gflop_s", "direction": None}])
def test_a_study_without_verdicts_decides_nothing(test: dict[str, Any]) -> None:
    def of(*studies: list[dict[str, Any]]) -> Claims:
        return made(*studies, entries=(made_up.entry("one", 1.75, **test),))

    def found(*studies: list[dict[str, Any]]) -> Any:
        return of(*studies).rows[0]

    busy = [row | {"refused": "a busy host"} for row in made_up.pair(2.0, time_utc="2026-11-02T00:00:00Z")]
    assert found(busy)["verdict"] == "undecided"
    assert found(busy)["ours"] is not None
    assert "its study gives no verdicts: a busy host" in of(busy).to_text(200)
    quiet = made_up.pair(2.5, time_utc="2026-11-01T00:00:00Z")
    assert found(quiet, busy)["verdict"] == "holds"
    both = found(busy + made_up.pair(2.5, problem="another"))
    assert (both["verdict"], list(both["problems"])) == ("holds", ["another"])


def test_a_line_a_claim_with_numbers_and_verdicts() -> None:
    text = made(made_up.pair(2.0)).to_text(110)
    lines = {line.split()[0]: line for line in text.splitlines() if line.startswith("  ") and line[2] != " "}
    assert lines["gains"].split()[1] == "1.75x"
    assert "2.00x [1.99, 2.01]" in lines["gains"]
    assert lines["gains"].endswith("holds")
    assert lines["loses"].endswith("inverted")
    assert lines["rate"].endswith("smaller")
    assert lines["elsewhere"].split()[1:] == ["more", "HD", "5870", "-", "not", "measured"]
    assert "5 claims. Ratios of speeds: 1 holds, 0 smaller, 1 inverted, 0 undecided, 1 not measured." in text
    assert "Rates and shares: 0 hold, 1 smaller, 0 inverted, 0 undecided, 0 not measured. Without a test: 1." in text
    assert f"[sizes]: {made_up.COMMAND} (measures 1 claim on Intel Xeon Proc…)" in text


@pytest.mark.parametrize("width", [60, 80, 110])
def test_the_table_fits_the_terminal(width: int) -> None:
    devices = [made_up.pair(2.0, device=f"NVIDIA Device with a very long name {letter}") for letter in "ABC"]
    for studies in ([], devices[:1], devices[:2], *([devices] if width >= 80 else [])):
        text = made(*studies).to_text(width)
        assert max(map(len, text.splitlines())) <= width, (width, len(studies))
        assert text.count("holds") >= len(studies)


def test_several_devices_stand_beside_each_other() -> None:
    both = made(made_up.pair(2.0, device="NVIDIA H200"), made_up.pair(0.5, device="Xeon(R) CPU"))
    assert both.devices == ["NVIDIA H200", "Xeon(R) CPU"]
    text = both.to_text(120)
    assert "H200: 5 claims. Ratios of speeds: 1 holds" in text
    assert "Xeon CPU: 5 claims. Ratios of speeds: 1 holds, 0 smaller, 1 inverted" in text
    line = next(line for line in text.splitlines() if line.startswith("  gains"))
    assert line.index("holds") < line.index("inverted")


def test_the_range_over_problems_is_told() -> None:
    text = made(made_up.pair(2.0, problem="a") + made_up.pair(3.0, problem="b")).to_text(110)
    assert "a; b: 2.00 to 3.00." in text
    best = made_up.entry("most", 2, best=True)
    text = made(made_up.pair(2.0, problem="a") + made_up.pair(3.0, problem="b_512x256"), entries=(best,)).to_text(110)
    assert "best at 512x256 of a; 512x256: 2.00 to 3.00." in text


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gemm_1024x131072x1024", "1024x131072x1024"),
        ("grid_symmetric_321x481_r5", "321x481"),
        ("I1_64views", "I1, 64 views"),
        ("I1", "I1"),
        ("bytes=268435456 width=64", "256 MiB, width 64"),
        ("bytes=1073740800", "1024 MiB"),
        ("bytes=16384 trips=1024", "16 KiB, trips 1024"),
        ("bytes=many", "bytes many"),
    ],
)
def test_problems_have_short_names(name: str, told: str) -> None:
    from gpuopt.lab.show.claim_sheets import problem_name

    assert problem_name(name) == told


def test_cpus_are_called_by_their_runtimes_and_stand_in_one_order() -> None:
    runtimes = {"pthread-AMD EPYC": "Portable Computing Language", "AMD EPYC": "Intel(R) OpenCL"}
    cpus = [
        made_up.pair(2.0, device=name, platform=platform, device_type="cpu")
        for name, platform in reversed(runtimes.items())
    ]
    both = made(*cpus, made_up.pair(2.0, device="NVIDIA H200"))
    assert both.devices == ["NVIDIA H200", *runtimes]
    text = both.to_text(120)
    for word in ("PoCL: 5 claims", "Intel: 5 claims", "PoCL: pthread-AMD EPYC"):
        assert word in text
    for device, places in (("", "H200"), (" --device portable", "PoCL"), (" --device intel", "Intel")):
        assert f"[sizes]: {made_up.COMMAND}{device} (measures 1 claim on {places})" in " ".join(text.split())
    twice = made(*cpus, made_up.pair(2.0, device="Xeon", platform="Intel(R) OpenCL", device_type="cpu"))
    assert "Xeon: 5 claims" in twice.to_text(120)


@pytest.mark.parametrize(
    ("devices", "called"),
    [
        (["H100 80GB HBM3, no. 1", "H100 80GB HBM3, no. 2"], ["H100 80…3, no. 1", "H100 80…3, no. 2"]),
        (["A card in the first slot", "A card in the fifth slot"], ["A card …rst slot", "A card …fth slot"]),
        (["A card of the old kind, left", "A card of the odd kind, left"], ["A card …nd, left", "A card …nd, left #2"]),
        (["NVIDIA H200", "H200"], ["H200", "H200 #2"]),
    ],
)
def test_devices_of_like_names_are_told_apart(devices: list[str], called: list[str]) -> None:
    text = made(*(made_up.pair(2.0, device=name) for name in devices)).to_text(160)
    heading = next(line for line in text.splitlines() if line.startswith("claim"))
    for device, name in zip(devices, called, strict=True):
        assert name in heading
        assert f"{name}: 5 claims" in text
        assert device in text


def test_how_long_a_command_takes_is_told() -> None:
    paper = made_up.paper(*ENTRIES, takes={"sizes": "an hour on a CPU"})
    assert "(measures 4 claims; an hour on a CPU)" in Claims([paper], {}).to_text(110)


def test_why_there_is_no_interval_is_told() -> None:
    few = made(made_up.pair(2.0, blocks=3))
    assert "too few blocks" in few.to_text(110)


def test_html_escapes_and_has_the_sentences() -> None:
    html = made(entries=(made_up.entry("one", 2, says="<script>a & b</script>"),))._repr_html_()
    assert "&lt;script&gt;a &amp; b&lt;/script&gt;" in html
    assert "<script>" not in html


def test_rows_have_everything_and_are_json(tmp_path: Path) -> None:
    both = made(made_up.pair(2.0, device="A"), made_up.pair(0.5, device="B"))
    rows = both.rows
    assert len(rows) == 2 * len(ENTRIES)
    first = rows[0]
    assert {key: first[key] for key in ("id", "device", "verdict", "unit", "printed", "command", "source")} == {
        "id": "gains", "device": "A", "verdict": "holds", "unit": "times", "printed": [1.75],
        "command": made_up.COMMAND, "source": "table",
    }  # fmt: skip
    assert first["lo"] < first["ours"] < first["hi"]
    assert rows[-1]["untested"] == "energy"
    assert rows[-1]["command"] is None
    assert [row["verdict"] for row in made().rows] == ["not measured"] * len(ENTRIES)
    pytest.importorskip("pandas")
    assert list(both.to_pandas()["verdict"]) == [row["verdict"] for row in rows]


def test_save_writes_tables_rows_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    both = made(made_up.pair(2.0, device="A"), made_up.pair(0.5, device="B"))
    paths = both.save(tmp_path / "new")
    assert [path.name for path in paths] == [
        *("claims-catanzaro2010.md", "claims.html", "claims.jsonl", "claims-catanzaro2010.png")
    ]
    text = paths[0].read_text(encoding="utf-8")
    assert (
        "| Figure 1 | Vectors gain 75 %. (`gains`) | table | 1.75x | HD 5870 | 2.00x [1.99, 2.01] (512x512) | holds |"
        in text
    )
    assert "- energy: energy and power are not held against rows" in text
    assert [json.loads(line) for line in paths[2].read_text(encoding="utf-8").splitlines()] == both.rows
    assert paths[3].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("held", ['{"kind": "summary"}', "[1]", "no JSON", '{"kind": "claim"}\n{"kind": "block"}'])
def test_save_keeps_rows_that_are_no_claims(tmp_path: Path, held: str) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text(held)
    with pytest.raises(ParameterError, match=r"^directory: .*claims.jsonl is no file of claims; name another folder"):
        made().save(tmp_path, pictures=False)
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_text() == held
    for good in ("", '{"kind": "claim"}\n'):
        path.write_text(good)
        assert path in made().save(tmp_path, pictures=False)


def test_pictures_have_their_marks_and_pages() -> None:
    pytest.importorskip("matplotlib")
    from gpuopt.lab.show import claim_pictures

    many = [made_up.entry(f"c{n}", 1.5, where=f"Figure {n // 7}") for n in range(80)]
    more = [made_up.untested("energy"), made_up.entry("order", where="Figure 99")]
    paper = made_up.paper(*many, *more)
    pages = claim_pictures.pages_of(paper)
    assert [claim.id for page in pages for claim in page] == [claim.id for claim in paper.claims if claim.test]
    assert len(pages) > 2
    assert all(len(page) <= claim_pictures.MOST_LINES for page in pages)
    claims = made(made_up.pair(2.0), entries=(*ENTRIES, made_up.entry("huge", 1e9)))
    figure = claim_pictures.draw(
        claims.papers[0], claims.of(claims.papers[0]), claim_pictures.pages_of(claims.papers[0])[0]
    )
    ax = figure.subfigs[0].axes[0]
    words = [text.get_text() for text in ax.texts]
    assert [word for word in words if "holds" in word] == ["✓ holds"]
    assert words.count("not measured") == 1, "image, of which there are no rows"
    assert {"⇄ inverted", "↓ smaller", "Figure 1", "Figure 2", "gains · on HD 5870", "1e+09"} <= set(words)
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[1] < 2e4, "a huge number stands at the edge"


def test_a_number_beyond_the_axis_is_written() -> None:
    pytest.importorskip("matplotlib")
    from gpuopt.lab.show import claim_pictures

    claims = made(made_up.pair(5e4), made_up.pair(3000.0, device="other"))
    paper = claims.papers[0]
    ax = claim_pictures.draw(paper, claims.of(paper), claim_pictures.pages_of(paper)[0]).subfigs[0].axes[0]
    words = [text.get_text() for text in ax.texts]
    assert "5e+04" in words
    assert "3e+03" not in words, "3000 is on the axis"
    assert ax.get_xlim()[1] > 3000


def test_a_device_has_its_colour_whatever_the_paper(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from gpuopt.lab.show import claim_pictures

    claims = made(made_up.pair(2.0, device="A"), made_up.pair(2.0, device="B"))
    paper = claims.papers[0]
    page = claim_pictures.pages_of(paper)[0]
    alone = {"B": claims.of(paper)["B"]}

    def colour(found: Any, name: str) -> Any:
        ax = claim_pictures.draw(paper, found, page, every_device=claims.devices).subfigs[0].axes[0]
        return next(line.get_color() for line in ax.get_legend().get_lines() if line.get_label() == name)

    assert colour(alone, "B") == colour(claims.of(paper), "B") != colour(claims.of(paper), "A")


def test_pictures_of_what_was_measured_alone() -> None:
    pytest.importorskip("matplotlib")
    from gpuopt.lab.show import claim_pictures

    claims = made(made_up.pair(2.0))
    paper = claims.papers[0]
    whole, short = claim_pictures.pages_of(paper), claim_pictures.pages_of(paper, {"gains", "loses", "rate"})
    assert [claim.id for page in whole for claim in page] == ["gains", "elsewhere", "loses"]
    assert [claim.id for page in short for claim in page] == ["gains", "loses"]


def test_a_paper_without_ratios_has_no_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rate = made_up.entry("rate", 5.0, None, over=None, quantity="gflop_s")
    assert made(entries=(rate,)).save_pictures(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


# ---------------------------------------------------------------- lab.claims


def stored(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def verdicts(claims: Claims) -> dict[str, set[str]]:
    return {device: {row["verdict"] for row in claims.rows if row["device"] == device} for device in claims.devices}


def test_rows_come_from_studies_files_and_folders(tmp_path: Path) -> None:
    rows = made_up.pair(2.0)
    raw = stored(tmp_path / "results" / "deep" / "rows.jsonl", rows)
    stored(tmp_path / "results" / "other.jsonl", [{"no": "row"}])
    compact_file(raw, tmp_path / "compact.jsonl")
    every = [
        lab.claims(source, paper="catanzaro2010").rows
        for source in (lab.Study(rows), rows, raw, str(raw), tmp_path / "compact.jsonl", tmp_path / "results")
    ]
    assert all(one == every[0] for one in every)
    assert any(row["verdict"] != "not measured" for row in every[0])


def test_papers_are_chosen_by_key() -> None:
    assert {row["paper"] for row in lab.claims().rows} == {"catanzaro2010", "daga2011", "jang2009", "yang2012"}
    assert {row["paper"] for row in lab.claims(paper="jang2009").rows} == {"jang2009"}
    assert {row["paper"] for row in lab.claims(paper=["jang2009", "daga2011"]).rows} == {"jang2009", "daga2011"}
    with pytest.raises(ParameterError, match=r"no claims of 'jang' are known; use one of catanzaro2010"):
        lab.claims(paper="jang")


def test_what_has_no_rows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="sources: it is None; give a StudyRows, a text, a Path or a list"):
        lab.claims(None)  # type: ignore[arg-type]
    with pytest.raises(ResultsError, match="no results file or folder"):
        lab.claims(tmp_path / "missing.jsonl")
    with pytest.raises(ResultsError, match="in this folder has result rows"):
        lab.claims(tmp_path)
    with pytest.raises(ResultsError, match="has no result rows"):
        lab.claims(stored(tmp_path / "rows.jsonl", [{"no": "row"}]))


def test_an_empty_path_is_not_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path / "rows.jsonl", made_up.pair(2.0))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="sources: '' is no path"):
        lab.claims("")
    for given in ("", [".", ""]):
        with pytest.raises(ParameterError, match="paths: '' is no path"):
            lab.audit(given)


def test_damaged_lines_are_told_below_the_table(tmp_path: Path) -> None:
    path = stored(tmp_path / "rows.jsonl", made_up.pair(2.0))
    path.write_text(path.read_text() + '{"torn": ')
    claims = lab.claims(path, paper="catanzaro2010")
    assert "passed over" in claims.to_text()
    assert any(row["ours"] for row in claims.rows)
    assert len(Store(path).problems) == 1


def test_a_device_without_any_number_has_no_column() -> None:
    claims = lab.claims(
        made_up.pair(2.0, device="A"), made_up.pair(2.0, device="B", workload="gemm"), paper="catanzaro2010"
    )
    assert list(claims.of(claims.papers[0])) == ["A"]
