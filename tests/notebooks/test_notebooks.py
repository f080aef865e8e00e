"""Notebooks: stored with their outputs, importing gpuopt and little else, running from top to bottom, concluding what
the rows say."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import math
import re
import sys
from types import SimpleNamespace

import pytest

from gpuopt.lab.rows.ratios import Ratio
from notebook_runs import PATHS, code_cells, execute, outputs, printed, tool

IMPORTED = {"gpuopt", "matplotlib", "numpy", *sys.stdlib_module_names}

pytestmark = pytest.mark.usefixtures("any_device")
each_notebook = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


def source(path, cell_id):
    return next("".join(cell["source"]) for cell in code_cells(path) if cell["id"] == cell_id)


def test_there_are_notebooks():
    stems = ["01_spmv", "02_device", "03_gem", "04_gemm", "05_tomography", "06_your_kernel", "07_casebook", "08_why"]
    assert [path.name for path in PATHS] == [f"{stem}.ipynb" for stem in stems]


def test_the_device_of_their_outputs_is_told_alike_wherever_they_are_named():
    root = PATHS[0].parents[1]
    told = "of one run each, on the device that each names: 01 and 06 to 08 on an NVIDIA H200, 02 to 05"
    for page in ("README.md", "docs/gallery.md"):
        assert told in " ".join((root / page).read_text(encoding="utf-8").split()), page
    for path in PATHS:
        shown = json.dumps([cell["outputs"] for cell in code_cells(path)])
        assert ("AMD EPYC" in shown) == (path.stem[:2] in ("02", "03", "04", "05")), path


@each_notebook
def test_stored_with_outputs_of_this_very_code(path):
    """As `tools/notebooks.py` leaves them: of one run from top to bottom, and nothing that only this run knew."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    told = f"its code is not that of its outputs: .venv/bin/python tools/notebooks.py {path.stem}"
    assert notebook["metadata"]["gpuopt"]["outputs_of"] == tool.digest(notebook), told
    shown = [output for cell in code_cells(path) for output in cell["outputs"]]
    assert shown
    assert not [output for output in shown if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert not tool.folders(notebook)
    assert not [cell["id"] for cell in code_cells(path) if cell["execution_count"] or cell["metadata"]]
    assert path.stat().st_size < 3_000_000


@each_notebook
def test_imports(path):
    found = set()
    for cell in code_cells(path):
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).split(".")[0])
    assert "gpuopt" in found
    assert found <= IMPORTED


# ---------------------------------------------------------------- run from top to bottom


@pytest.mark.whole
def test_spmv_notebook_runs(tmp_path):
    path = next(path for path in PATHS if path.stem == "01_spmv")
    notebook, work = execute(path, tmp_path)
    assert {"matrix", "ladder", "bound", "ours", "cut"} <= {cell for cell, _ in outputs(notebook, "image/png")}
    tables = dict(outputs(notebook, "text/html"))
    assert "symmetric_sliced" in tables["sweep"]
    device = re.match(r"(.+): [\d.]+ GB/s", printed(notebook, "prediction"))[1]
    assert device in html.unescape(tables["parameters"])
    conclusion = printed(notebook, "conclusion")
    assert device in conclusion
    assert re.search(r"\d+(\.\d+)? % \[\d+, \d+\] of its bound", conclusion)
    assert not [cell["id"] for cell in code_cells(work / path.name) if "Warning" in printed(notebook, cell["id"])]
    assert (work / "gpuopt-results" / "notebook-spmv.jsonl").stat().st_size > 0


@pytest.mark.whole
def test_device_notebook_runs(tmp_path):
    path = next(path for path in PATHS if path.stem == "02_device")
    notebook, work = execute(path, tmp_path)
    pictures = {"levels", "types", "patterns-picture", "blocks", "caches", "roofline"}
    assert pictures <= {cell for cell, _ in outputs(notebook, "image/png")}
    tables = dict(outputs(notebook, "text/html"))
    assert "dram.read" in tables["ruler"]  # others may be too doubtful to keep on a busy machine
    device = re.match(r"(.+) shows \d+ level", printed(notebook, "levels-said"))[1]
    assert device in html.unescape(tables["parameters"])
    assert device in printed(notebook, "conclusion")
    for said in (cell["id"] for cell in code_cells(path) if cell["id"].endswith("-said")):
        assert re.search(r"\d", printed(notebook, said)), said
    assert not [cell["id"] for cell in code_cells(work / path.name) if "Warning" in printed(notebook, cell["id"])]
    assert (work / "gpuopt-results" / "notebook-device.jsonl").stat().st_size > 0


@pytest.mark.whole
def test_gem_notebook_runs(tmp_path):
    path = next(path for path in PATHS if path.stem == "03_gem")
    notebook, work = execute(path, tmp_path)
    assert {"ladder", "factorial", "climbing", "bound", "surface"} <= dict(outputs(notebook, "image/png")).keys()
    tables = dict(outputs(notebook, "text/html"))
    assert "kernel_splitting" in tables["sweep"]
    device = re.match(r"(.+): ([\d.]+|nan) G pair/s", printed(notebook, "prediction"))[1]  # nan: a loaded machine's
    assert device in html.unescape(tables["parameters"])
    assert re.search(r"KS \+ VAVM4: [\d.]+x together, [\d.]+x if gains", printed(notebook, "stacking"))
    assert re.search(r"of all 16 [^.]+\.[\s\S]+ \d+ % of the 24 orders", printed(notebook, "climbing"))
    assert device in printed(notebook, "conclusion")
    assert re.search(r"x if gains multiplied: \d+ %", printed(notebook, "conclusion"))
    assert not [cell["id"] for cell in code_cells(work / path.name) if "Warning" in printed(notebook, cell["id"])]
    assert (work / "gpuopt-results" / "notebook-gem.jsonl").stat().st_size > 0


@pytest.mark.whole
def test_gemm_notebook_runs(tmp_path):
    path = next(path for path in PATHS if path.stem == "04_gemm")
    notebook, work = execute(path, tmp_path)
    pictures = {"ladder", "sizes", "unrolling", "blocks", "ours", "tmv", "tmv-bandwidth", "accuracy"}
    shown = {cell for cell, _ in outputs(notebook, "image/png")}
    assert pictures <= shown
    tables = dict(outputs(notebook, "text/html"))
    assert "multiple_output" in tables["sweep"]
    device = re.match(r"(.+): ([\d.,]+|nan) GFLOP/s", printed(notebook, "prediction"))[1]
    assert device in html.unescape(tables["parameters"])
    assert re.search(r"the worst element: +\d\d?\.\d% of", printed(notebook, "product"))
    assert re.search(r"multiple_output +6\.70x +[\d.]+x", printed(notebook, "steps"))
    assert not re.search(r", [1-9]\d* of all differ", printed(notebook, "special"))
    assert "precision='fast_fp32': an error of" in printed(notebook, "precision")
    # Stored rows are shown, or it says that they are not there.
    assert ("stored" in tables) != ("There is no results/h200/gemm-8192" in printed(notebook, "stored"))
    assert ("stored-speed" in shown) == ("stored" in tables)
    assert ("stored-accuracy" in shown) != ("There is no results/h200/gemm-acc" in printed(notebook, "stored-accuracy"))
    conclusion = printed(notebook, "conclusion")
    assert device in conclusion
    assert re.search(r"with an error of \d", conclusion)
    assert not [cell["id"] for cell in code_cells(work / path.name) if "Warning" in printed(notebook, cell["id"])]
    assert (work / "gpuopt-results" / "notebook-gemm.jsonl").stat().st_size > 0


@pytest.mark.whole
def test_tomography_notebook_runs(tmp_path):
    path = next(path for path in PATHS if path.stem == "05_tomography")
    notebook, work = execute(path, tmp_path)
    pictures = {
        "slice-picture",
        "windows",
        "ladder",
        "bound",
        "cone",
        "histories",
        "helix",
        "helix-convergence",
        "plain",
    }
    shown = {cell for cell, _ in outputs(notebook, "image/png")}
    assert pictures | {"memory"} <= shown
    tables = dict(outputs(notebook, "text/html"))
    assert "vector_output" in tables["sweep"]
    device = printed(notebook, "prediction").splitlines()[0]
    assert device in html.unescape(tables["parameters"])
    assert re.search(r"vector_output +0\.94 to 0\.98x +[\d.]+x", printed(notebook, "steps"))
    assert float(re.search(r"error: ([\d.]+)% of", printed(notebook, "slice"))[1]) < 25  # the skull is a voxel or two
    for method in ("SIRT", "SART", "OS-SART", "CGLS"):
        assert re.search(rf"^{method} +finished; smallest error \d", printed(notebook, "cone"), re.MULTILINE)
    fell = re.findall(r"([\d.]+)% -> ([\d.]+)%, less after (\d+) of (\d+)", printed(notebook, "helix-convergence"))
    assert len(fell) == 2
    for before, after, less, steps in fell:
        assert float(after) < 0.8 * float(before)
        assert less == steps
    assert float(re.search(r"at most (\S+) of the largest", printed(notebook, "plain"))[1]) < 1e-4
    assert "cgls: it needs an exact transpose" in printed(notebook, "adjoint")
    parts = printed(notebook, "memory")
    assert "tight  keeps its data on the host" in parts
    assert "memory_limit: a slice" in parts
    differences = re.findall(r"differs by at most (\S+) of", parts)
    assert len(differences) == 4
    assert all(float(difference) < 1e-4 for difference in differences)
    # Stored rows are shown, or it says that they are not there.
    assert ("stored-rates" in shown) != ("There is no results/h200/tomography" in printed(notebook, "stored"))
    conclusion = printed(notebook, "conclusion")
    assert device in conclusion
    worst = re.search(r"adjoint errors are at most (\S+)\.\n", conclusion)[1]
    assert float(worst) <= 1e-6
    assert not [cell["id"] for cell in code_cells(work / path.name) if "Warning" in printed(notebook, cell["id"])]
    assert (work / "gpuopt-results" / "notebook-tomography.jsonl").stat().st_size > 0


# ---------------------------------------------------------------- the conclusion is computed


BEST = {"configuration": "sliced(WIDTH=8)", "preset": None, "gflop_s": 12.34}
BEST |= {"pct_bound": 80.0, "pct_lo": 70.0, "pct_hi": None, "profile": "2026-11-21"}


@pytest.mark.parametrize(
    ("best", "verdict", "said"),
    [
        (BEST, "FAST", "sliced(WIDTH=8), is 2.00x [1.67, 2.50] as fast as the paper's first step."),
        (BEST, "SAME", "sliced(WIDTH=8), is no faster than the paper's first step (2.00x [1.67, 2.50])."),
        (BEST, "AMBIGUOUS", "seems 2.00x [1.67, 2.50] as fast as the paper's first step, which these blocks do not"),
        (BEST, None, "seems 2.00x [1.67, 2.50] as fast"),
        (BEST | {"profile": None}, "FAST", "of its bound (of memory alone: no `gpuopt profile` of this device). You"),
        (BEST | {"preset": "paper:basic"}, "SAME", "is the paper's first step itself, at 12.34 GFLOP/s."),
    ],
)
def test_conclusion_follows_the_rows(best, verdict, said):
    namespace = {
        "GUESS": 7.5,
        "best": best,
        "device": SimpleNamespace(name="A device"),
        "gains": {
            "paper:aligned": Ratio(0.8, 0.7, 0.9, "FAST", 10),
            "paper:image": Ratio(1.5, 1.4, 1.6, "SLOW", 10),
        },
        "names": ["paper:basic", "paper:aligned", "paper:image"],
        "np": SimpleNamespace(nan=float("nan")),
        "study": SimpleNamespace(speedup=lambda name, reference: Ratio(0.5, 0.4, 0.6, verdict, 10)),
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source(PATHS[0], "conclusion"), namespace)
    text = out.getvalue()
    assert said in text
    assert "On A device, of the paper's 2 later steps these pay: aligned 1.25x [1.11, 1.43]." in text
    assert "It reaches 80 % [70, nan] of its bound" in text
    assert "You said 7.5x" in text


@pytest.mark.parametrize(
    ("gflop_s", "gb_s", "said"),
    [
        (20.0, 40.0, "sliced has 0.50: memory is its limit. It runs at 20 GFLOP/s, 40 % of what memory allows."),
        (300.0, 10.0, "sliced has 30.00: arithmetic is its limit. It runs at 300 GFLOP/s, 60 % of what arithmetic"),
        (75.0, 150.0, "150 % of what memory allows.\nMore than all of it: its data come from a cache."),
    ],
)
def test_roofline_conclusion_follows_the_rows(gflop_s, gb_s, said):
    path = next(path for path in PATHS if path.stem == "02_device")
    kernel = {"variant": "sliced", "gflop_s": gflop_s, "gb_s": gb_s}
    namespace = {
        "device": SimpleNamespace(name="A device"),
        "products": SimpleNamespace(best=lambda: kernel),
        "ruler": SimpleNamespace(rate={"dram.read": 100.0, "float32": 500.0}.get),
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source(path, "conclusion"), namespace)
    assert said in out.getvalue()
    assert "On A device, arithmetic is the limit from 5.0 flop a byte on." in out.getvalue()


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ([Ratio(2.0, 1.9, 2.1, "SLOW", 10)], "lies below the product in 1 and above it in\n0; in 0 it"),
        ([Ratio(0.5, 0.4, 0.6, "FAST", 10)], "lies below the product in 0 and above it in\n1; in 0 it"),
        ([Ratio(0.5, 0.4, 1.1, None, 10)], "lies below the product in 0 and above it in\n0; in 1 it"),
        ([], "Of 0 pairs of optimizations"),
    ],
)
def test_gem_conclusion_follows_the_rows(ratios, said):
    pytest.importorskip("matplotlib")
    from gpuopt.lab import gem_plots

    path = next(path for path in PATHS if path.stem == "03_gem")
    stacks = [gem_plots.Stack("MT + KS", 2.0, 2.0 * ratio.mid, ratio) for ratio in ratios]
    namespace = {
        "GUESS": 90,
        "best": {"configuration": "tiled(VERTICES=8)"},
        "device": SimpleNamespace(name="A device"),
        "gem_plots": SimpleNamespace(stacking=lambda study, size: stacks if size < 4 else []),
        "name_of": lambda row: row["configuration"],
        "study": SimpleNamespace(speedup=lambda name, reference: Ratio(0.5, 0.4, 0.6, "FAST", 10)),
        "together": stacks,
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source(path, "conclusion"), namespace)
    text = out.getvalue()
    assert said in text
    assert "The fastest kernel, tiled(VERTICES=8), is 2.00x [1.67, 2.50] as fast as the basic one." in text
    assert text.count("On A device, MT + KS: ") == text.count("You said 90 %.") == len(stacks)


@pytest.mark.parametrize(
    ("ratio", "bound_ms", "said"),
    [
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), 0.8, "last step is 2.00x [1.67, 2.50] as fast as the plain loop."),
        (Ratio(1.0, 0.9, 1.1, "SAME", 10), 0.8, "last step is no faster than the plain loop (1.00x [0.91, 1.11])."),
        (Ratio(0.5, 0.4, 0.6, None, 10), 0.8, "as the plain loop, which these blocks do not decide."),
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), 0.8, "as the plain loop,\nat 80 % of its bound, with an error of 2e-07."),
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), float("nan"), "as the plain loop,\nwith an error of 2e-07."),
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), 0.8, "Of his 2 later steps these pay: multiple_output 2.00x [1.67, 2.50]."),
        (Ratio(0.5, 0.4, 0.6, None, 10), 0.8, "Of his 2 later steps these pay: none; 1 undecided."),
    ],
)
def test_gemm_conclusion_follows_the_rows(ratio, bound_ms, said):
    path = next(path for path in PATHS if path.stem == "04_gemm")
    namespace = {
        "GUESS": 9,
        "LARGEST": 192,
        "best": {"configuration": "packed(ROWS=6)", "median_ms": 1.0, "l2_rel": 2e-7},
        "bound_of": lambda row: bound_ms,
        "device": SimpleNamespace(name="A device"),
        "gains": {"paper:unroll4": Ratio(1.5, 1.4, 1.6, "SLOW", 10), "paper:multiple_output": ratio},
        "group": SimpleNamespace(label=lambda row: "packed"),
        "jang": [SimpleNamespace(figures={"speedup": 6.7})],
        "np": SimpleNamespace(isfinite=math.isfinite),
        "study": SimpleNamespace(speedup=lambda name, reference: Ratio(0.1, 0.09, 0.11, "FAST", 10)),
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source(path, "conclusion"), namespace)
    assert said in out.getvalue()
    assert out.getvalue().startswith("On A device, at 192, ")
    assert "You said 9x; his own was 6.7x." in out.getvalue()


@pytest.mark.parametrize(
    ("ratio", "limit", "said"),
    [
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), 4.0, "are 2.00x [1.67, 2.50] as fast as the plain loop. You said 0.96x."),
        (Ratio(2.0, 1.9, 2.1, "SLOW", 10), 4.0, "are slower than the plain loop (0.500x [0.476, 0.526])."),
        (Ratio(1.0, 0.9, 1.1, "SAME", 10), 4.0, "are no faster than the plain loop (1.00x [0.91, 1.11])."),
        (Ratio(0.5, 0.4, 0.6, None, 10), 4.0, "as the plain loop, which these blocks do not decide."),
        (
            Ratio(0.5, 0.4, 0.6, "FAST", 10),
            4.0,
            "The fastest kernel, columns(Z=64), is 2.00x [1.67, 2.50] as fast, at 50",
        ),
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), math.nan, "columns(Z=64), is 2.00x [1.67, 2.50] as fast.\n"),
        (Ratio(0.5, 0.4, 0.6, "FAST", 10), 4.0, "error of 30.0% after the first iteration, 10.0% after 2.\n"),
    ],
)
def test_tomography_conclusion_follows_the_rows(ratio, limit, said):
    path = next(path for path in PATHS if path.stem == "05_tomography")
    namespace = {
        "GUESS": 0.96,
        "adjoint": {"circle": [1e-9, 1e-3]},
        "apart": 1e-6,
        "ceiling": lambda row: (limit, "four loads each"),
        "device": SimpleNamespace(name="A device"),
        "helical": {"SART": (None, [0.3, 0.1], None)},
        "naive": "paper:naive",
        "np": SimpleNamespace(isfinite=math.isfinite),
        "rate_of": lambda row: 2.0,
        "study": SimpleNamespace(best=lambda: {"configuration": "columns(Z=64)"}, speedup=lambda *names: ratio),
    }
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source(path, "conclusion"), namespace)
    assert said in out.getvalue()
    assert out.getvalue().startswith("On A device, four voxels a work-item are ")
