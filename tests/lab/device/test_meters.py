"""Meters on a made-up /sys tree and with a made-up NVML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuopt.lab.device import energy
from gpuopt.lab.device.energy import MeterError, NvmlMeter, RaplMeter, meter_of
from meters import GPU

CPU = SimpleNamespace(name="A CPU", platform="PoCL", vendor="x", type="cpu")
RANGE = 1_000_000
Tree = Callable[[Mapping[str, object]], Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Writes files of /sys/class/powercap, {"intel-rapl:0/name": text}."""
    monkeypatch.setattr(energy, "_ROOT", tmp_path)
    powercap = tmp_path / "sys/class/powercap"

    def write(files: Mapping[str, object]) -> Path:
        for name, text in files.items():
            (powercap / name).parent.mkdir(parents=True, exist_ok=True)
            (powercap / name).write_text(f"{text}\n")
        return powercap

    return write


def domain(number: str, name: str, microjoules: int) -> dict[str, object]:
    files = {"name": name, "energy_uj": microjoules, "max_energy_range_uj": RANGE}
    return {f"intel-rapl:{number}/{file}": value for file, value in files.items()}


def test_packages_are_added_up_and_nothing_else(tree: Tree) -> None:
    """A part of a package is in it already, and `psys` is the whole machine."""
    powercap = tree(
        domain("0", "package-0", 100)
        | domain("0:0", "core", 50)
        | domain("0:1", "dram", 7)
        | domain("1", "package-1", 900_000)
        | domain("2", "psys", 5)
    )
    meter = meter_of(CPU)  # type: ignore[arg-type]
    assert isinstance(meter, RaplMeter)
    assert meter.joules() == 0
    tree({"intel-rapl:0/energy_uj": 300_100, "intel-rapl:0:0/energy_uj": 250_000, "intel-rapl:1/energy_uj": 950_000})
    assert meter.joules() == pytest.approx(0.35)
    assert meter.watts() is None
    assert powercap.is_dir()


def test_a_counter_that_wraps_goes_on(tree: Tree) -> None:
    tree(domain("0", "package-0-die-0", 950_000) | domain("1", "package-0-die-1", 10))
    meter = meter_of(CPU)  # type: ignore[arg-type]
    assert isinstance(meter, RaplMeter)
    tree({"intel-rapl:0/energy_uj": 40_000, "intel-rapl:1/energy_uj": 20})
    assert meter.joules() == pytest.approx(0.090_010)
    tree({"intel-rapl:0/energy_uj": 40_000})
    assert meter.joules() == pytest.approx(0.090_010)


def test_a_counter_that_was_reset_is_no_wrap(tree: Tree) -> None:
    tree(domain("0", "package-0", 400_000))
    meter = meter_of(CPU)  # type: ignore[arg-type]
    assert isinstance(meter, RaplMeter)
    tree({"intel-rapl:0/energy_uj": 100})
    with pytest.raises(MeterError, match="from 400000 to 100 uJ, which is no wrap"):
        meter.joules()


def test_a_package_that_fails_leaves_no_step_of_another(tree: Tree) -> None:
    """It was counted again by the next reading."""
    tree(domain("0", "package-0", 0) | domain("1", "package-1", 400_000))
    meter = meter_of(CPU)  # type: ignore[arg-type]
    assert isinstance(meter, RaplMeter)
    tree({"intel-rapl:0/energy_uj": 10_000, "intel-rapl:1/energy_uj": 100})
    with pytest.raises(MeterError, match="no wrap"):
        meter.joules()
    tree({"intel-rapl:0/energy_uj": 10_000, "intel-rapl:1/energy_uj": 400_000})
    assert meter.joules() == pytest.approx(0.01)


def test_what_went_by_between_two_series_is_not_counted(tree: Tree) -> None:
    tree(domain("0", "package-0", 400_000))
    meter = meter_of(CPU)  # type: ignore[arg-type]
    assert isinstance(meter, RaplMeter)
    tree({"intel-rapl:0/energy_uj": 390_000})  # after minutes, nearly once around
    meter.begin()
    tree({"intel-rapl:0/energy_uj": 391_000})
    assert meter.joules() == pytest.approx(0.001)


def test_a_host_without_rapl_says_why(tree: Tree) -> None:
    tree({"dtpm/name": "dtpm"})
    assert "as in most virtual machines" in str(meter_of(CPU))  # type: ignore[arg-type]
    tree(domain("0", "package-0", 1) | {"intel-rapl:0/energy_uj": "none"})
    assert "energy_uj cannot be read" in str(meter_of(CPU))  # type: ignore[arg-type]


def test_a_counter_for_root_alone_says_what_to_do(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(domain("0", "package-0", 1))
    read = Path.read_text

    def refused(path: Path, *given: Any, **named: Any) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return read(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", refused)
    assert "as root: chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj" in str(meter_of(CPU))  # type: ignore[arg-type]


class Board:
    """A GPU as ``NvmlGpu`` shows it."""

    def __init__(self, millijoules: int | None = 5_000, milliwatts: int | None = 480_000) -> None:
        self.millijoules, self.milliwatts = millijoules, milliwatts

    def ask(self, function: str, *arguments: Any) -> Any:
        if function == "nvmlDeviceGetTotalEnergyConsumption":
            return self.millijoules
        assert (function, arguments) == ("nvmlDeviceGetFieldValues", ([186],))
        if self.milliwatts is None:
            return [SimpleNamespace(nvmlReturn=3)]
        return [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=self.milliwatts))]


def board(monkeypatch: pytest.MonkeyPatch, found: Board | None) -> None:
    monkeypatch.setattr(energy.NvmlGpu, "of", lambda device: found)


def test_a_gpu_counts_millijoules(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Board()
    board(monkeypatch, gpu)
    meter = meter_of(GPU)  # type: ignore[arg-type]
    assert isinstance(meter, NvmlMeter)
    assert (meter.joules(), meter.watts(), meter.sensor_pct) == (5.0, 480.0, 25.0)
    gpu.milliwatts = None
    assert meter.watts() is None
    gpu.millijoules = None
    with pytest.raises(MeterError, match="NVML does not tell"):
        meter.joules()


@pytest.mark.parametrize(
    ("name", "percent"), [("NVIDIA H100 80GB HBM3", 25.0), ("NVIDIA A100-SXM4-40GB", 25.0), ("NVIDIA L4", None)]
)
def test_the_share_that_a_sensor_samples_is_told_where_it_is_known(name: str, percent: float | None) -> None:
    assert NvmlMeter(Board(), name).sensor_pct == percent  # type: ignore[arg-type]


def test_a_gpu_without_a_meter_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    board(monkeypatch, None)
    assert "NVML does not show this GPU" in str(meter_of(GPU))  # type: ignore[arg-type]
    board(monkeypatch, Board(millijoules=None))
    assert "from Volta on" in str(meter_of(GPU))  # type: ignore[arg-type]
    other = SimpleNamespace(name="gfx90a", platform="AMD", vendor="AMD", type="gpu")
    assert "no meter is known for a device of AMD" in str(meter_of(other))  # type: ignore[arg-type]
