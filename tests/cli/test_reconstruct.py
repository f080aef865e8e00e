"""`gpuopt reconstruct`: from a scan's file to slices and a picture, and its errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

click = pytest.importorskip("click")
Image = pytest.importorskip("PIL.Image")
pytest.importorskip("h5py")

from click.testing import CliRunner, Result  # noqa: E402

import exchange  # noqa: E402
import gpuopt  # noqa: E402
import gpuopt.tomo as gt  # noqa: E402
from gpuopt import cli, reconstruct_commands  # noqa: E402


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return exchange.write_exchange(tmp_path / "tooth.h5", exchange.counts())


def run(*words: object) -> Result:
    return CliRunner().invoke(cli.app, ["reconstruct", *map(str, words)], prog_name="gpuopt")


def pages(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        found = []
        for page in range(picture.n_frames):
            picture.seek(page)
            found.append(np.array(picture))
    return np.stack(found)


def test_fbp_of_some_rows(here: Path, any_device: gpuopt.Device) -> None:
    result = run(here, "--rows", "1:3", "--device", any_device.index)
    assert result.exit_code == 0, result.output
    for told in ("60 views from 0 to 177 degrees", "axis at column 26.", "3 dead pixels", "2 slices of 64 x 64"):
        assert told in result.stdout
    images = pages(Path("tooth-fbp.tif"))
    assert images.dtype == np.float32
    assert images.shape == (2, 64, 64)
    expected = gt.shepp_logan(3, field=44.0, density=0.04).sample(gt.Volume((2, 64, 64)), 3, float)
    assert np.linalg.norm(images - expected) < 0.5 * np.linalg.norm(expected)
    with Image.open("tooth-fbp.png") as picture:
        assert (picture.size, picture.mode) == ((64, 64), "L")


@pytest.mark.parametrize("algorithm", [name for name in reconstruct_commands.ALGORITHMS if name != "fbp"])
def test_each_algorithm(here: Path, any_device: gpuopt.Device, algorithm: str) -> None:
    result = run(
        here, "--algorithm", algorithm, "--iterations", 3, "--rows", 1, "--centre", 31.5 - exchange.OFFSET,
        "--rings", 0, "--pixel", 0.5, "--out", "slices.npy", "--device", any_device.index,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "axis" not in result.stdout
    assert ("below 0 and are 0 now" in result.stdout) == (algorithm in ("mlem", "os_em"))
    images = np.load("slices.npy", allow_pickle=False)
    assert images.shape == (1, 64, 64)
    expected = gt.shepp_logan(3, field=44.0, density=0.08).sample(gt.Volume((4, 64, 64)), 3, float)[1]
    assert np.corrcoef(images[0].ravel(), expected.ravel())[0, 1] > 0.7
    assert Path("slices.png").exists()


def test_rows_in_parts_are_those_of_all_at_once(
    here: Path, any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("whole.npy", 1 << 30), ("parts.npy", 1)):
        monkeypatch.setattr(reconstruct_commands, "_AT_ONCE", most)
        assert run(here, "--centre", 26, "--out", name, "--device", any_device.index).exit_code == 0
    np.testing.assert_allclose(np.load("parts.npy"), np.load("whole.npy"), atol=1e-6)


def test_tiffs_with_angles(here: Path, any_device: gpuopt.Device) -> None:
    made = exchange.counts(dead=False)
    exchange.write_pages(Path("scan.tif"), made.data)
    exchange.write_pages(Path("white.tif"), made.white)
    Path("angles.txt").write_text("\n".join(map(str, made.theta)))
    common = ("--flat", "white.tif", "--dark", 100, "--rows", "2", "--device", any_device.index)
    for angles, name in (("0,177", "one.npy"), ("angles.txt", "two.npy")):
        result = run("scan.tif", "--angles", angles, *common, "--out", name)
        assert result.exit_code == 0, result.output
    np.testing.assert_allclose(np.load("one.npy"), np.load("two.npy"), atol=1e-6)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rows", "9"), "--rows: '9' leaves none of the 4 rows"),
        (("--rows", "a:b"), "--rows: 'a:b' is neither"),
        (("--rows", "3:0:-1"), "--rows: "),
        (("--angles", "0,nan"), "neither FIRST,LAST"),
        (("--angles", "none.txt"), "none.txt"),
        (("--angles", "0,1,2"), "neither FIRST,LAST"),
        (("--window", "hann", "--algorithm", "sirt"), "--window: sirt has none; it is for fbp"),
        (("--iterations", "3"), "--iterations: fbp has none; it is for sirt, sart"),
        (("--window", "round"), "window: 'round' is not known"),
        (("--pixel", "0"), "pixel"),
        (("--centre", "nan"), "centre"),
        (("--out", "a.png"), "a.png has no suffix .tif or .npy"),
        (("--out", "none/a.tif"), "out: there is no folder none"),
        (("--flat", "none.tif"), "none.tif"),
    ],
)
def test_bad_options(here: Path, any_device: gpuopt.Device, words: tuple[str, ...], told: str) -> None:
    result = run(here, *words, "--device", any_device.index)
    assert result.exit_code == 2, result.output
    assert told in result.stderr
    assert not list(Path().glob("*.npy"))
    assert not list(Path().glob("*.png"))


def test_a_scan_is_not_written_over(here: Path) -> None:
    exchange.write_pages(Path("scan.tif"), np.ones((3, 2, 9), np.uint16))
    (Path("views")).mkdir()
    for scan, out in (("scan.tif", "scan.tif"), ("scan.tif", "views/../scan.tif"), ("views", "views/a.tif")):
        result = run(scan, "--angles", "0,120", "--out", out)
        assert result.exit_code == 2
        assert "is, or lies in, the scan itself" in result.stderr


def test_the_algorithms_are_those_of_the_option() -> None:
    (choice,) = (one.type for one in cli.app.commands["reconstruct"].params if one.name == "algorithm")
    assert list(choice.choices) == list(reconstruct_commands.ALGORITHMS)


def test_no_scan(here: Path) -> None:
    here.write_bytes(b"nothing")
    result = run(here)
    assert result.exit_code == 2
    assert "neither HDF5 nor TIFF" in result.stderr
    assert run("none.h5").exit_code == 2
