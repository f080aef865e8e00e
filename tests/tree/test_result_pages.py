"""A page of docs/results that does not show what its rows say is found. (`./dev lint` looks at all of them.)"""

from __future__ import annotations

import importlib
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from gpuopt.lab import Study

MARKER = re.compile(r"<!-- rows: (.*?) \| table: (\S+) -->")


@pytest.fixture
def pages(root: Path) -> Path:
    if not (root / "results").exists():
        pytest.skip("source distributions are without results/")
    return root / "docs" / "results"


def run(root: Path, pages: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / "result_pages.py"), "--pages", str(pages), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_changed_number_is_found_and_written_anew(root: Path, pages: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    copy.mkdir()
    page = copy / "spmv-h200.md"
    right = (pages / page.name).read_text(encoding="utf-8")
    start = right.index("| table: paper -->")
    number = re.compile(r"\d\.\d{4} \[").search(right, start)
    assert number is not None
    wrong = right[: number.start()] + "9.9999 [" + right[number.end() :]
    page.write_text(wrong, encoding="utf-8")

    checked = run(root, copy, "--check")
    assert checked.returncode == 1
    assert "spmv-h200.md: table paper" in checked.stdout
    assert "9.9999" in checked.stdout
    assert page.read_text(encoding="utf-8") == wrong, "--check writes nothing"

    assert run(root, copy).returncode == 0
    assert page.read_text(encoding="utf-8") == right
    assert [file.name for file in copy.iterdir()] == [page.name], "nothing is left beside the page"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("table: paper", "table: papers", "no table is called papers"),
        ("table: paper", "table: ours", "no marker for paper"),
        ("<!-- rows: results/h200/spmv-2048x2048/rows.jsonl", "<!-- rows: results/h200/tmv/rows.jsonl", "its marker"),
    ],
)
def test_a_marker_that_does_not_fit_is_found(
    root: Path, pages: Path, tmp_path: Path, old: str, new: str, told: str
) -> None:
    page = tmp_path / "spmv-h200.md"
    page.write_text((pages / page.name).read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    checked = run(root, tmp_path, "--check")
    assert checked.returncode == 1
    assert told in checked.stdout + checked.stderr


def test_every_file_that_a_page_names_exists(root: Path, pages: Path) -> None:
    named = {
        file
        for page in pages.glob("*.md")
        for files, _ in MARKER.findall(page.read_text(encoding="utf-8"))
        for file in files.split(", ")
    }
    assert len(named) > 40
    assert [file for file in sorted(named) if not (root / file).is_file()] == []


def test_every_link_and_picture_of_a_page_exists(pages: Path) -> None:
    for page in pages.glob("*.md"):
        links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name


def test_every_picture_is_shown_somewhere(root: Path, pages: Path) -> None:
    texts = [page.read_text(encoding="utf-8") for page in (*(root / "docs").rglob("*.md"), root / "README.md")]
    pictures = sorted(file.name for file in (root / "docs" / "pictures").glob("*.png"))
    assert [name for name in pictures if not any(name in text for text in texts)] == []


def test_an_interval_has_the_digits_that_it_supports(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables.tables import Aim
    from result_tables.values import Value, small

    assert str(Value(0.331232, 0.3312, 0.331312)) == "0.3312 [0.3312, 0.3313]"
    assert str(Value(207.88, 194.68, 252.72)) == "208 [195, 253]"
    assert str(Value(2095.3)) == "2095"
    assert small(1.6e-6) == "1.6e-6"
    assert str(Value(2.0, 1.0, 4.0).inverse) == "0.500 [0.250, 1.000]"

    assert Aim("", lambda: Value(1), least=1).verdict(Value(1.0)) == "met"
    assert Aim("", lambda: Value(1), least=2).verdict(Value(1.98, 1.97, 1.99)) == "missed by 1 %"
    assert Aim("", lambda: Value(1), least=90, unit="%").verdict(Value(89, 85, 95)).startswith("missed by 1 points; ")
    assert Aim("", lambda: Value(1), most=0.2).verdict(Value(0.1)) == "met"


def test_a_ceiling_that_a_profile_refused_is_no_agreement(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile keeps an earlier one's value where its own rounds disagreed: that value agrees with itself."""
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import device, values

    kept = {"local": {"rate": 226.0}, "read": {"rate": 30.0}, "fp32": {"rate": 100.0}}
    told = "182 GB/s in this sitting, but its rounds disagree: the middle half lies 45 % apart; 226 GB/s stands"
    held = {
        "first": {"ceilings": kept, "refused": {}},
        "second": {"ceilings": kept | {"fp32": {"rate": 80.0}}, "refused": {"local": told}},
    }
    monkeypatch.setattr(values, "_profile", held.__getitem__)
    pair = values.Profile("first"), values.Profile("second")
    assert device.within(*pair, 10) == (1, 2)

    shown = device.ceilings({"": pair}, [("local, GB/s", "local", 1)])()
    assert shown.splitlines()[-1] == "| local, GB/s | 226.0 | about 182, not kept |  |"
    aim = device.agreement({"CPU": pair})().splitlines()[-1]
    assert "1 of 2 that both kept | at least 100 % | 50.00 % | missed by 50 points" in aim


def test_the_best_kernel_on_cpus_is_the_fastest_that_the_rows_hold(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (root / "results").exists():
        pytest.skip("source distributions are without results/")
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import gem_cpu

    for rows in gem_cpu.BIG.values():
        kernels = [row for row in rows.group.rows if row["role"] == "variant" and row["status"] == "ok"]
        loop = rows.row("C++ loop")["median_ms"]
        assert gem_cpu.best(rows).mid == pytest.approx(max(loop / row["median_ms"] for row in kernels), rel=0.01)


@pytest.mark.parametrize("page", ["device_cpu", "gem_cpu", "gemm_cpu", "spmv_h200", "tomography_h200"])
def test_what_a_page_finds_has_the_numbers_of_its_rows(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    tables = importlib.import_module(f"result_tables.{page}").TABLES
    told = tables["findings"]()
    assert f"{told}\n<!-- end -->" in (pages / f"{page.replace('_', '-')}.md").read_text(encoding="utf-8")
    assert all(line.startswith("- ") for line in told.splitlines())


def test_numbers_in_sentences_are_the_least_and_the_greatest(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables.tables import between, findings

    assert between([1.7148, 1.46, 1.629]) == "1.46 to 1.71"
    assert between([34.53, 61.9, 48.0], ".0f") == "35 to 62"
    assert between([1.001, 1.002], ".1f") == "1.0"
    assert findings(lambda: ["one", "two"])() == "- one\n- two"


def test_a_ratio_of_two_clocks_is_by_the_hosts_on_both_sides_or_none(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call's time by the host's clock over a kernel's by the device's is no ratio of times."""
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import gemm_h200, spmv_h200
    from result_tables.values import AnotherClock

    big, kernel, call = spmv_h200.BIG, spmv_h200.TWO_ROWS, "M @ x"

    def times(name: str, field: str) -> dict[int, float]:
        row = big.row(name)
        mine = big.group.blocks_of[(row["role"], row["configuration"])]
        return {block["block"]: block[field] for block in mine if block[field]}

    kernels, calls = times(kernel, "wall_ms"), times(call, "median_ms")
    ratios = [calls[block] / kernels[block] for block in calls.keys() & kernels.keys()]
    assert big.speedup(kernel, call).mid == pytest.approx(statistics.median(ratios), rel=0.01)

    assert gemm_h200.BIG.times_as_fast("gpuopt.gemm(A, B)", "PyTorch") == "another clock"
    with pytest.raises(AnotherClock, match="by two clocks"):
        gemm_h200.BIG.speedup("gpuopt.gemm(A, B)", "PyTorch")


def test_the_files_of_the_first_rules_are_those_whose_summaries_name_none(root: Path, pages: Path) -> None:
    text = (pages / "README.md").read_text(encoding="utf-8")
    table = text[text.index("| table: first_rules -->") :].partition("<!-- end -->")[0]
    told = set(re.findall(r"^\| `(.+?)`", table, re.MULTILINE))
    assert "results/h200/gem-globule/rows.jsonl" not in told
    for name in ("h200/spmv-321x481", "h200/papers/gem-steps", "h200/gemm-sizes", "cpu-2core/intel-gemm"):
        path = f"results/{name}/rows.jsonl"
        methods = {row["method"] for row in Study.load(root / path).summary if row["status"] == "ok"}
        assert (path in told) == (None in methods), path


def test_a_mean_of_shapes_says_what_a_librarys_stalls_make_of_it(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In some blocks of three shapes NumPy took 18 to 450 times as long as in others."""
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import whole_calls_cpu

    told = whole_calls_cpu.TABLES["shapes"]()
    assert told in (pages / "whole-calls-cpu.md").read_text(encoding="utf-8")
    assert "kernels have 0.84 and whole calls 0.65 of the rate of NumPy, but 0.70 and 0.55 without" in told
    assert "without 128^3, 256^3 and 512^3" in told
    assert "Xeon" in told


def test_what_kept_programs_leave_of_the_first_call_is_the_calls_own_time(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import whole_calls_cpu

    told = whole_calls_cpu.TABLES["first"]()
    assert "(`caches`) the first call takes 0.24 and 0.23 s by Intel's runtime and PoCL, 0.07 and 0.05 of it" in told


def test_every_case_of_the_papers_projections_that_has_rows_is_shown(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import tomography_h200

    for path in ("tomography-paper", "tomography-i2", "tomography-64"):
        study = Study.load(root / f"results/h200/papers/{path}/rows.jsonl")
        assert {group.problem.partition(" ")[0] for group in study.groups()} <= tomography_h200.PAPER.keys()


def test_copies_by_the_driver_stand_beside_those_by_slots_of_the_same_machine(root: Path, pages: Path) -> None:
    kept = (root / "results" / "h200" / "whole-calls" / "copies.txt").read_text(encoding="utf-8")
    page = (pages / "whole-calls-h200.md").read_text(encoding="utf-8")
    for name, told in (
        ("driver's own", "{:.0f} ms up and {:.0f} down"),
        ("16 x 2 MiB, 8 threads", "{:.1f} and {:.1f}"),
    ):
        found = re.search(rf"^{name}: to_device +([\d.]+) ms .* to_numpy +([\d.]+) ms", kept, re.MULTILINE)
        assert found is not None
        assert told.format(*map(float, found.groups())) in page


def test_the_rates_behind_gems_bounds_are_those_of_its_rows(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel reaches its printed share of the bound by the printed rate."""
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import gem_h200

    line = next(line for line in gem_h200.TABLES["rates"]().splitlines() if line.startswith("| K0 "))
    roots, row = float(line.split("|")[3]), gem_h200.K0.row(gem_h200.BEST)
    share = 100 * row["special"]["native_rsqrt"] / (roots * 1e6 * row["median_ms"])
    assert share == pytest.approx(gem_h200.K0.bound(gem_h200.BEST).mid, rel=2e-4)


def test_compiled_projections_stand_beside_what_was_printed(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import instructions

    gains = {
        line.split(" | ")[0]: line.split(" | ")[1] for line in _lines(instructions.TABLES["projections-elsewhere"]())
    }
    assert gains["| alu"] == "1.3 to 1.45"
    assert gains["| vector input"] == "0.48"
    assert gains["| vector output"] == "0.94 to 0.98"


def test_every_variant_that_spills_in_a_sweep_is_named(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import instructions

    told = instructions.TABLES["spills"]()
    assert "| `tensor` of gemm | 4 | 24 to 64 |" in told
    assert "| `pairs` of gem | 14 | 4 to 8 |" in told


def _lines(table: str) -> list[str]:
    return table.splitlines()[2:]


def test_the_best_full_storage_is_the_fastest_that_the_rows_hold(
    root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import spmv_h200

    times = {
        line.split(" | ")[0]: float(line.split(" | ")[1].split(" ")[0]) for line in _lines(spmv_h200.TABLES["ours"]())
    }
    full = {name: ms for name, ms in times.items() if "symmetric" not in name and "HALF=1" not in name}
    assert [name for name in full if name.endswith(", best full storage")] == [min(full, key=lambda name: full[name])]


def test_a_file_of_two_days_is_shown_with_both(root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import gemm_h200

    line = next(line for line in _lines(gemm_h200.TABLES["setup"]()) if "results/h200/gemm-sizes/" in line)
    assert line.endswith("| 2026-11-21, 2026-11-24 |")


def test_two_boards_are_compared_by_the_same_problems(root: Path, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two molecules of one size are two problems."""
    monkeypatch.syspath_prepend(str(root / "tools"))
    from result_tables import energy_h200

    assert not [line for line in _lines(energy_h200.TABLES["boards"]()) if line.startswith("| tiled(LOCAL=256, RSQRT")]


def test_sittings_without_a_unit_are_no_machine(root: Path, pages: Path) -> None:
    told = (root / "results" / "h200" / "sittings.txt").read_text(encoding="utf-8").splitlines()[0]
    assert told == "7 sittings, 24 ceilings, 4 units named in 4 of them"
    assert "on four machines at least" in (pages / "device-h200.md").read_text(encoding="utf-8")
