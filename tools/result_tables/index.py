"""The table of docs/results/README.md: a page a workload and device, and the number to remember of each."""

from collections.abc import Callable

from gpuopt.lab.rows.audit_rules import generation_alone

from . import (
    device_cpu,
    device_h200,
    gem_cpu,
    gem_h200,
    gemm_cpu,
    gemm_h200,
    paper_claims,
    spmv_cpu,
    spmv_h200,
    tomography_cpu,
    tomography_h200,
)
from .tables import Line, days, grid, markdown
from .values import Lines, Points, Profile, Rows, Value, sweeps

H200, CPU = "NVIDIA H200", "2-core EPYC"
Source = Rows | Profile


def _runtimes(value_of: Callable[[str], Value], unit: str) -> str:
    return "; ".join(f"{value_of(name)}{unit} ({name})" for name in ("PoCL", "Intel"))


def _pages() -> list[tuple[str, str, str, Source]]:
    """(page, device, headline, where its day is from)."""
    best = spmv_h200.BIG.rate(spmv_h200.best(), "gflop_s").bare
    capsid = gem_h200.K0.rate(gem_h200.BEST, "gop_s").bare
    simt = gemm_h200.BIG.rate(gemm_h200.SIMT, "gflop_s").bare * 1e-3
    split = gemm_h200.BIG.rate(gemm_h200.FAST, "gflop_s").bare * 1e-3
    back = tomography_h200.CUBE512.rate("image", "gop_s").bare
    read, peak = (device_h200.FIRST.ceiling(name).bare for name in ("dram.read", "float32"))
    products = _runtimes(lambda name: spmv_cpu.PLACES[f"{name}, 50 MB"].speedup("M @ x", "SciPy dia_array"), " times")
    loops = _runtimes(lambda name: gem_cpu.best(gem_cpu.BIG[name]), " times")
    numpy = _runtimes(lambda name: gemm_cpu.PLACES[f"{name}, 2048"].speedup("packed", "NumPy"), " times")
    later = "[calls of a later day](whole-calls-cpu.md)"  # twice as fast
    iradon = _runtimes(lambda name: tomography_cpu.FBP[name].value("ratio"), " times")
    reads = _runtimes(lambda name: device_cpu.PROFILES[name][1].ceiling("l1"), " GB/s")
    return [
        ("spmv-h200", H200, f"{best} GFLOP/s with full storage", spmv_h200.BIG),
        ("spmv-cpu", CPU, f"`M @ x` over SciPy, 50 MB: {products}", spmv_cpu.INTEL),
        ("device-h200", H200, f"read {read} GB/s, fp32 {peak} GFLOP/s", device_h200.FIRST),
        ("device-cpu", CPU, f"caches {reads}", device_cpu.PROFILES["PoCL"][0]),
        ("gem-h200", H200, f"{capsid} G pair/s of a capsid", gem_h200.K0),
        ("gem-cpu", CPU, f"over a C++ loop: {loops}", gem_cpu.BIG["PoCL"]),
        ("gemm-h200", H200, f"{simt} TFLOP/s in float32, {split} by fp16x3", gemm_h200.BIG),
        ("gemm-cpu", CPU, f"over NumPy, 2048: {numpy}; {later}", gemm_cpu.PLACES["PoCL, 2048"]),
        ("tomography-h200", H200, f"back projection {back} G updates/s, 512^3", tomography_h200.CUBE512),
        ("tomography-cpu", CPU, f"FBP over `iradon`: {iradon}", tomography_cpu.CASES["I1"]["PoCL"]),
    ]


def _day(source: Source) -> str:
    if isinstance(source, Profile):
        return str(source.held["date"])
    return days([row for row in source.group.rows if row["time_utc"]])


def _index() -> str:
    lines = [(f"[{page}]({page}.md)", device, text, _day(source)) for page, device, text, source in _pages()]
    return markdown(["page", "device", "headline", "date"], lines, words=True)


def _builds() -> list[Line]:
    lines: list[Line] = []
    for line in BUILDS.all():
        name = f"{line['workload']}, {line['problem']}: `{line['configuration'].partition('(')[0]}`"
        ratio = f"{line['ratio']:.4f} [{line['ratio_least']:.3f}, {line['ratio_greatest']:.3f}]"
        lines.append((name, float(line["old_ms"]), float(line["new_ms"]), ratio))
    return lines


def _first_rules() -> list[Line]:
    """The files that hold rows of the first rules: their days, and which problems where others are by present rules."""
    lines: list[Line] = []
    for path in sweeps("results"):
        rows = Points(path).measured
        first = [row for row in rows if generation_alone(row) == "first"]
        if first:
            problems = dict.fromkeys(str(row["problem"]) for row in first)
            of_them = "all" if len(first) == len(rows) else ", ".join(problems)
            lines.append((f"`{path}`", days(first), of_them))
    return lines


BUILDS = Lines("results/h200/compare-builds.jsonl")
TABLES = {
    "first_rules": lambda: markdown(["rows of the first rules", "days", "problems"], _first_rules(), words=True),
    "index": _index,
    "papers": paper_claims.index(),
    "builds": grid(["headline", "before, ms", "after, ms", "after / before [least, greatest of 15 turns]"], _builds),
}
