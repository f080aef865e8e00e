"""The papers' figures: complete, consistent with themselves, and refused when damaged."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from gpuopt import Configuration, Error, ParameterError, _core, labels, papers
from gpuopt.configuration import complete
from gpuopt.papers import findings

SPMV = ["basic", "aligned", "local_offsets", "vectorized", "cpu", "image", "cpu_coarse"]


def text():
    return (resources.files("gpuopt.papers") / "catanzaro2010.json").read_text(encoding="utf-8")


def test_ladder_of_the_article():
    paper = papers.load("spmv")
    assert [step.preset for step in paper.steps] == [f"paper:{name}" for name in SPMV]
    assert [step.figures["gflop_s"] for step in paper.steps] == [13.1, 13.9, 24.5, 32.9, 2.9, 49.2, None]
    for step in paper.steps[:-1]:
        bandwidth = paper.devices[step.device]["gb_s"]
        bound = 2 / step.figures["bytes_per_2_flop"] * bandwidth
        assert step.figures["bound_gflop_s"] == pytest.approx(bound, abs=0.051)
        share = 100 * step.figures["gflop_s"] / bound
        assert step.figures["pct_bound"] == pytest.approx(share, abs=0.6)


def test_presets_and_figures():
    assert papers.preset("spmv", "paper:cpu") == papers.preset("spmv", "paper:vectorized")
    assert papers.preset("spmv", "paper:cpu_coarse") == Configuration("coarse")
    assert list(papers.figures("spmv")) == [f"paper:{name}" for name in SPMV]
    assert papers.figures("spmv")["paper:image"]["device"] == "HD 5870"
    assert papers.figure("spmv", "vectorized").preset == "paper:vectorized"
    assert papers.figure("spmv", "vectorized", "cpu").preset == "paper:cpu"
    assert papers.figure("spmv", "sliced") is None
    assert papers.figure("nothing", "sliced") is None
    assert papers.figures("nothing") == {}
    assert papers.figures("spmv")["paper:cpu"]["device_type"] == "cpu"
    assert {figures["dtype"] for figures in papers.figures("spmv").values()} == {"float32"}
    assert papers.presets_of_type("spmv", "cpu") == {"paper:cpu", "paper:cpu_coarse"}
    assert papers.presets_of_type("nothing", "cpu") == set()
    with pytest.raises(ParameterError, match="paper:image"):
        papers.preset("spmv", "paper:images")
    with pytest.raises(ParameterError, match="spmv"):
        papers.load("nothing")


def test_what_is_handed_out_is_the_callers_to_change():
    printed = papers.figures("spmv")
    for handed in (
        papers.load("spmv"),
        papers.of("spmv")[0],
        papers.of_key("catanzaro2010"),
        papers.paper_of("spmv", "paper:basic"),
    ):
        assert handed == papers.load("spmv")
        handed.steps[0].figures["gflop_s"] = 1e6
        handed.devices["HD 5870"]["type"] = "cpu"
        handed.devices.clear()
    papers.steps("spmv")["paper:basic"].figures.clear()
    papers.figure("spmv", "basic").figures.clear()
    assert papers.figures("spmv") == printed


def test_several_papers_of_one_workload():
    keys = [paper.key for paper in papers.of("gemm")]
    assert keys == ["jang2009", "jang2009_textures", "yang2012"]
    jang, textures, yang = (papers.load("gemm", key) for key in keys)
    assert (jang.ladder, textures.ladder, yang.ladder) == (True, True, False)
    assert list(papers.steps("gemm")) == [step.preset for step in (*jang.steps, *textures.steps, *yang.steps)]
    for buffers, images in zip(jang.steps, textures.steps, strict=True):
        assert images.preset == f"{buffers.preset}_image"
        assert images.figures == buffers.figures
        beside = {**buffers.configuration.parameters, "TEXTURE": 1}
        assert images.configuration == Configuration(buffers.configuration.variant, **beside)
    assert papers.figures("gemm")["paper:block_32x16"]["paper"] == "yang2012"
    assert papers.paper_of("gemm", "paper:unroll8") == jang
    assert papers.paper_of("gemm", "paper:tlp") is None
    assert papers.of("nothing") == ()
    assert papers.load("tmv").key == "yang2012"
    with pytest.raises(ParameterError, match="several papers measured 'gemm'; give one of jang2009, jang2009_text"):
        papers.load("gemm")
    with pytest.raises(ParameterError, match="'daga2011' did not measure 'gemm'"):
        papers.load("gemm", "daga2011")


def test_a_preset_belongs_to_one_paper(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(text(), encoding="utf-8")
    monkeypatch.setattr(papers.resources, "files", lambda package: tmp_path)
    papers._papers.cache_clear()
    try:
        with pytest.raises(Error, match=r"two\.json: spmv has the preset paper:basic already"):
            papers.load("spmv")
    finally:
        papers._papers.cache_clear()


def test_figures_of_brook_ladder_agree_with_each_other():
    steps = papers.load("gemm", "jang2009").steps
    assert [step.figures["speedup"] for step in steps] == [1, 1.01, 1.05, 1.09, 1.07, 4.78, 6.7]
    serial = steps[0].figures["speedup_over_cpu"]
    for step in steps:
        printed = step.figures
        assert printed["alu"] / printed["fetch"] == pytest.approx(printed["alu_per_fetch"], abs=0.006)
        assert printed["speedup_over_cpu"] / serial == pytest.approx(printed["speedup"], abs=0.006)


@pytest.mark.parametrize("workload", ["spmv", "gem", "gemm", "tmv", "tomography"])
def test_presets_are_of_the_tables(workload):
    for step in papers.steps(workload).values():
        complete(workload, step.configuration)
        least, most = step.figures["speedup_least"], step.figures["speedup_most"]
        assert (step.figures["speedup"] or least or 0) <= (most or 1e9)


def test_parsed_text_is_the_shipped_one():
    assert papers.parse(text(), "catanzaro2010") == {"spmv": papers.load("spmv")}


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda d: d.update(schema=2), "schema"),
        (lambda d: d.pop("title"), "keys"),
        (lambda d: d.update(extra=1), "keys"),
        (lambda d: d["steps"][0].update(device="HD 4870"), "not described"),
        (lambda d: d["steps"][0].update(preset="basic"), "paper:"),
        (lambda d: d["steps"][0]["figures"].update(gflops=1), "unknown figures"),
        (lambda d: d["steps"][0]["figures"].update(gflop_s="13.1"), "positive number"),
        (lambda d: d["steps"][0]["figures"].update(gflop_s=float("nan")), "positive number"),
        (lambda d: d["steps"][0]["figures"].update(gflop_s=10**400), "positive number"),
        (lambda d: d["steps"][0]["parameters"].update(SLICE="64"), "SLICE"),
        (lambda d: d["steps"].append(d["steps"][0]), "twice"),
        (lambda d: d["devices"]["HD 5870"].update(colour="red"), "facts"),
        (lambda d: d["devices"]["HD 5870"].update(type="tpu"), "neither"),
        (lambda d: d.update(notes="one"), "notes"),
    ],
)
def test_damage_is_named(damage, word):
    document = json.loads(text())
    damage(document)
    with pytest.raises(Error, match=word) as caught:
        papers.parse(json.dumps(document), "catanzaro2010")
    assert "catanzaro2010.json" in str(caught.value)


def test_what_is_not_json_is_named():
    with pytest.raises(Error, match=r"torn\.json"):
        papers.parse("{", "torn")
    with pytest.raises(Error, match="keys"):
        papers.parse("[]", "list")
    for parse in (papers.parse, findings.parse):
        with pytest.raises(Error, match=r"deep.*recursion"):
            parse("[" * 100_000, "deep")


@pytest.mark.parametrize("workload", _core.workload_names())
def test_words_are_of_steps_that_there_are(workload: str) -> None:
    assert set(labels.of(workload).steps) <= set(papers.steps(workload))
