"""`gpuopt reconstruct`: from a scan's file to slices and a picture, and its errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
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
from gpuopt.tomo import tiff_stacks  # noqa: E402

ITERATIVE = [name for name in reconstruct_commands.ALGORITHMS if name != "fbp"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return exchange.write_exchange(tmp_path / "tooth.h5", exchange.counts())


def run(*words: object) -> Result:
    return CliRunner().invoke(cli.app, ["reconstruct", *map(str, words)], prog_name="gpuopt")


@pytest.fixture
def reconstruct(here: Path, any_device: gpuopt.Device) -> Callable[..., Result]:
    """The command on a device, which has to succeed."""

    def done(*words: object) -> Result:
        result = run(*words, "--device", any_device.index)
        assert result.exit_code == 0, result.output
        return result

    return done


@pytest.fixture
def tiff(here: Path) -> Path:
    """The scan as TIFFs: scan.tif, white.tif and dark.tif."""
    made = exchange.counts(dead=False)
    for name, fields in (("white", made.white), ("dark", made.dark), ("scan", made.data)):
        exchange.write_pages(Path(f"{name}.tif"), fields)
    return Path("scan.tif")


def pages(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        found = []
        for page in range(picture.n_frames):
            picture.seek(page)
            found.append(np.array(picture))
    return np.stack(found)


def test_fbp_of_some_rows(here: Path, reconstruct: Callable[..., Result]) -> None:
    result = reconstruct(here, "--rows", "1:3")
    for told in (
        "60 views from 0 to 177 degrees",
        "axis at column 26.",
        "rows 1 to 2: dead pixels lie on the lines between their neighbours now, 3 of them",
        "2 slices of 64 x 64",
    ):
        assert told in result.stdout
    images = pages(Path("tooth-fbp.tif"))
    assert images.dtype == np.float32
    assert images.shape == (2, 64, 64)
    expected = gt.shepp_logan(3, field=44.0, density=0.04).sample(gt.Volume((2, 64, 64)), 3, float)
    assert np.linalg.norm(images - expected) < 0.5 * np.linalg.norm(expected)
    with Image.open("tooth-fbp.png") as picture:
        assert (picture.size, picture.mode) == ((64, 64), "L")


@pytest.mark.parametrize("algorithm", ITERATIVE)
def test_each_algorithm(here: Path, reconstruct: Callable[..., Result], algorithm: str) -> None:
    result = reconstruct(
        here, "--algorithm", algorithm, "--iterations", 3, "--rows", 1, "--centre", 31.5 - exchange.OFFSET,
        "--rings", 0, "--pixel", 0.5, "--out", "slices.npy",
    )  # fmt: skip
    assert "axis" not in result.stdout
    assert ("below 0 and are 0 now" in result.stdout) == (algorithm in ("mlem", "os_em"))
    images = np.load("slices.npy", allow_pickle=False)
    assert images.shape == (1, 64, 64)
    expected = gt.shepp_logan(3, field=44.0, density=0.08).sample(gt.Volume((4, 64, 64)), 3, float)[1]
    assert np.corrcoef(images[0].ravel(), expected.ravel())[0, 1] > 0.7
    assert Path("slices.png").exists()


def test_rows_in_parts_are_those_of_all_at_once(
    here: Path, reconstruct: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("whole.npy", 1 << 30), ("parts.npy", 1)):
        monkeypatch.setattr(reconstruct_commands, "_AT_ONCE", most)
        reconstruct(here, "--centre", 26, "--out", name)
    np.testing.assert_allclose(np.load("parts.npy"), np.load("whole.npy"), atol=1e-6)


def test_slices_too_large_for_a_tiff_are_refused_before_any_is_computed(
    here: Path, reconstruct: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiff_stacks, "_MOST_BYTES", 3 * 64 * 64 * 4)
    reconstruct(here, "--rows", "1:4")
    reconstruct(here, "--out", "slices.npy")
    monkeypatch.setattr(gt, "find_centre", None)
    monkeypatch.setattr(reconstruct_commands, "_projections", None)
    refused = run(here)
    assert (refused.exit_code, "axis" in refused.stdout) == (2, False)
    assert "--out: 65,536 bytes are too many for a TIFF; name a file .npy, or fewer rows" in refused.stderr


@pytest.mark.parametrize("out", ["slices.tif", "slices.npy"])
def test_without_pillow_nothing_is_computed(here: Path, monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(reconstruct_commands, "_projections", None)
    refused = run(here, "--out", out)
    assert (refused.exit_code != 0, "axis" in refused.stdout) == (True, False)
    assert "Pillow, which is not installed" in refused.stderr


def test_the_axis_of_angles_that_wrap_and_of_too_few(tmp_path: Path, reconstruct: Callable[..., Result]) -> None:
    made = exchange.counts()
    wrapped = exchange.write_exchange(tmp_path / "wrapped.h5", replace(made, theta=(made.theta + 300) % 360))
    assert "axis at column 26." in reconstruct(wrapped, "--rows", 1).stdout
    some = replace(made, data=made.data[::12], theta=made.theta[::12] * 2)
    refused = run(exchange.write_exchange(tmp_path / "few.h5", some), "--rows", 1)
    assert refused.exit_code == 2
    assert "--centre: the axis is not found by itself; name its column (geometry: the angles span" in refused.stderr


def test_tiffs_without_angles_name_the_option(tiff: Path) -> None:
    refused = run(tiff, "--flat", "white.tif")
    assert refused.exit_code == 2
    assert "--angles FIRST,LAST in degrees, or --angles FILE" in refused.output


def test_tiffs_without_flat_fields_name_the_options(tiff: Path) -> None:
    refused = run(tiff, "--angles", "0,177")
    assert refused.exit_code == 2
    assert "--flat: scan.tif holds no flat fields; give some, or --integrals" in refused.stderr


@pytest.mark.parametrize("option", ["--flat", "--dark"])
def test_line_integrals_have_no_fields(tiff: Path, option: str) -> None:
    refused = run(tiff, "--angles", "0,177", "--integrals", option, 100)
    assert refused.exit_code == 2
    assert f"{option}: line integrals are not corrected" in refused.stderr


def test_tiffs_with_angles(tiff: Path, reconstruct: Callable[..., Result]) -> None:
    Path("angles.txt").write_text("\n".join(map(str, exchange.counts().theta)))
    for angles, name in (("0,177", "one.npy"), ("angles.txt", "two.npy")):
        reconstruct(tiff, "--angles", angles, "--flat", "white.tif", "--dark", 100, "--rows", 2, "--out", name)
    np.testing.assert_allclose(np.load("one.npy"), np.load("two.npy"), atol=1e-6)


def test_angles_stand_for_a_theta_that_cannot_be_read(here: Path, reconstruct: Callable[..., Result]) -> None:
    import h5py

    common = ("--angles", "0,177", "--rows", 2, "--centre", 26.2)
    reconstruct(here, *common, "--out", "one.npy")
    with h5py.File(here, "a") as file:
        del file["exchange/theta"]
        file["exchange/theta"] = np.full(exchange.VIEWS + 1, np.nan)
    reconstruct(here, *common, "--out", "two.npy")
    np.testing.assert_array_equal(np.load("two.npy"), np.load("one.npy"))


def test_many_turns(tiff: Path, reconstruct: Callable[..., Result]) -> None:
    """The same views, every other one six turns on: --angles are degrees, without a doubt."""
    made = exchange.counts()
    for name, turned in (("one", made.theta), ("many", made.theta + 2160 * (np.arange(len(made.theta)) % 2))):
        Path("angles.txt").write_text("\n".join(map(str, turned)))
        common = ("--flat", "white.tif", "--dark", "dark.tif", "--rows", 2, "--centre", 26.2)
        reconstruct(tiff, "--angles", "angles.txt", *common, "--out", f"{name}.npy")
    np.testing.assert_allclose(np.load("many.npy"), np.load("one.npy"), atol=1e-5)


def test_what_is_missing_is_told(tiff: Path, reconstruct: Callable[..., Result]) -> None:
    """Warnings in a line each, not with the place in Python's code; and a way to the axis."""
    common = (tiff, "--angles", "0,100", "--flat", "white.tif", "--dark", "dark.tif", "--rows", 2)
    told = run(*common)
    assert told.exit_code == 2
    assert "--centre: the axis is not found by itself; name its column (geometry: the angles span 100" in told.stderr
    common = (*common, "--centre", 26)
    assert "no view lies in 80 degrees" in run(*common).stderr
    told = reconstruct(*common, "--limited-angle")
    assert told.stderr == (
        "row 2: angles: no view lies in 80 degrees of the half turn that fbp needs; what lies along these rays is "
        "blurred\n"
    )


def test_an_axis_elsewhere_is_told_with_the_option(reconstruct: Callable[..., Result]) -> None:
    made = exchange.counts(dead=False)
    exchange.write_exchange(Path("lines.h5"), replace(made, data=made.integrals))
    told = reconstruct("lines.h5", "--integrals", "--centre", 32, "--rows", 1)
    axis = f"{31.5 - exchange.OFFSET:.1f}"
    assert told.stderr == (
        f"row 1: projections: they turn about another column of the detector; give --centre {axis}\n"
    )
    assert reconstruct("lines.h5", "--integrals", "--centre", axis, "--rows", 1).stderr == ""


def test_a_truncated_scan_is_told_and_its_picture_shows_the_object(reconstruct: Callable[..., Result]) -> None:
    made = exchange.counts(dead=False)
    inner = exchange.Counts(*(part[..., 12:42] for part in (made.data, made.white, made.dark)), made.theta, made.data)
    exchange.write_exchange(Path("cut.h5"), inner)
    told = reconstruct("cut.h5", "--rows", 1, "--out", "cut.npy")
    assert told.stderr.startswith("row 1: projections: the object reaches an edge")
    low, high = tiff_stacks.grey_range(np.load("cut.npy")[0])
    assert f"black {low:.3g}, white {high:.3g} 1/mm" in told.stdout
    with Image.open("cut.png") as picture:
        grey = np.array(picture)
    centre = grey[10:20, 10:20]
    assert np.ptp(centre.astype(int)) > 60
    assert low < high < np.load("cut.npy").max()


@pytest.mark.parametrize("columns", [1, 2])
def test_a_scan_of_a_few_columns_has_a_picture(reconstruct: Callable[..., Result], columns: int) -> None:
    """All of whose pixels lie at the rim."""
    scan = gt.parallel3d(12, (2, columns))
    h5py = pytest.importorskip("h5py")
    with h5py.File("few.h5", "w") as file:
        file["exchange/data"], file["exchange/theta"] = gt.sphere(0.6).project(scan, 2), np.degrees(scan.angles)
    reconstruct("few.h5", "--integrals", "--centre", (columns - 1) / 2, "--out", "few.npy")
    with Image.open("few.png") as picture:
        assert picture.size == (columns, columns)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--rows", "9"), "--rows: '9' leaves none of the 4 rows"),
        (("--rows", "-5"), "--rows: '-5' leaves none of the 4 rows"),
        (("--rows", "a:b"), "--rows: 'a:b' is neither"),
        (("--rows", ""), "--rows: '' is neither"),
        (("--rows", "3:0:-1"), "--rows: "),
        (("--rows", "0:5"), "--rows: '0:5' reaches beyond the 4 rows, from 0; give an END of at most 4"),
        (("--rows", "-5:4"), "--rows: '-5:4' reaches beyond the 4 rows"),
        (("--rings", "65"), "--rings: 65 columns are more than the scan's 64"),
        (("--rings", "2"), "--rings: a median over 2 columns changes nothing"),
        (("--angles", "three.txt"), "--angles: there are 3 of 60 views"),
        (("--angles", "0,nan"), "neither FIRST,LAST"),
        (("--angles", "1e308,-1e308"), "neither FIRST,LAST"),
        (("--angles", "none.txt"), "none.txt"),
        (("--angles", "0,1,2"), "neither FIRST,LAST"),
        (("--window", "hann", "--algorithm", "sirt"), "--window: sirt has none; it is for fbp"),
        (("--iterations", "3"), "--iterations: fbp has none; it is for sirt, sart"),
        (("--window", "round"), "--window: 'round' is not known"),
        (("--limited-angle", "--algorithm", "sirt"), "--limited-angle: sirt has none; it is for fbp"),
        (("--pixel", "0"), "--pixel: 0.0 cannot be; give mm, above 0"),
        (("--pixel", "nan"), "--pixel: nan is no number"),
        (("--centre", "nan"), "--centre: nan is none of the columns, 0 to 63"),
        (("--centre", "64"), "--centre: 64 is none of the columns, 0 to 63"),
        (("--centre", "-0.5"), "--centre: -0.5 is none of the columns"),
        (("--centre", "1", "--angles", "0,354"), "--centre: "),
        *((("--centre", "1000", "--algorithm", name), "--centre: 1000 is none of the columns") for name in ITERATIVE),
        (("--centre", "26", "--angles", "0,0"), "--angles: no view lies in 180 degrees of the half turn"),
        (("--centre", "26", "--angles", "0,0"), "; use sirt, or give --limited-angle\n"),
        (("--out", "a.png"), "--out: a.png has no suffix .tif or .npy"),
        (("--out", "none/a.tif"), "make the folder none"),
        (("--flat", "none.tif"), "none.tif"),
        (("--flat", ""), "--flat: it is empty"),
        (("--dark", ""), "--dark: it is empty"),
        (("--angles", ""), "--angles: it is empty; give FIRST,LAST in degrees, or a file"),
    ],
)
def test_bad_options(here: Path, any_device: gpuopt.Device, words: tuple[str, ...], told: str) -> None:
    Path("three.txt").write_text("0\n60\n120\n")
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


@pytest.mark.parametrize(
    ("options", "out", "told"),
    [
        (("--flat", "flat.tif"), "flat.tif", "--out: flat.tif is, or lies in, the fields of --flat"),
        (("--dark", "flat.tif"), "flat.tif", "--out: flat.tif is, or lies in, the fields of --dark"),
        (("--flat", "flat.tif"), "link.tif", "--out: link.tif is, or lies in, the fields of --flat"),
        (("--flat", "link.tif"), "flat.tif", "--out: flat.tif is, or lies in, the fields of --flat"),
        (("--flat", "flats"), "flats/f1.tif", "--out: flats/f1.tif is, or lies in, the fields of --flat"),
        (("--flat", "flats"), "flats/new.npy", "--out: flats/new.npy is, or lies in, the fields of --flat"),
        (("--dark", "links"), "flat.tif", "--out: flat.tif is, or lies in, the fields of --dark"),
        (("--angles", "ang.npy"), "ang.npy", "--out: ang.npy is, or lies in, the file of --angles"),
        (("--angles", "res.png"), "res.tif", "--out: the picture res.png is, or lies in, the file of --angles"),
        ((), "seen.tif", "--out: the picture seen.png is, or lies in, the scan itself"),
    ],
)
def test_nothing_that_is_read_is_written_over(here: Path, options: tuple[str, ...], out: str, told: str) -> None:
    for name in ("scan.tif", "flat.tif", "flats/f1.tif", "flats/f2.tif"):
        Path(name).parent.mkdir(exist_ok=True)
        exchange.write_pages(Path(name), np.ones((3 if name == "scan.tif" else 1, 2, 9), np.uint16))
    Path("links").mkdir()
    for link, end in (("link.tif", "flat.tif"), ("links/f1.tif", "../flat.tif"), ("seen.png", "scan.tif")):
        Path(link).symlink_to(end)
    for name in ("ang.npy", "res.png"):
        Path(name).write_text("0\n60\n120\n")
    before = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    if "--angles" not in options:
        options = (*options, "--angles", "0,120")
    result = run("scan.tif", *options, "--centre", 4, "--rows", 1, "--out", out)
    assert (result.exit_code, result.stderr.strip()) == (2, f"gpuopt: {told}; name a file elsewhere")
    assert {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()} == before


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("\u00e9", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ("\udcff", {"PYTHONIOENCODING": "utf-8:strict"}),  # as terminals in UTF-8 are but in the locale C
    ],
)
def test_names_that_the_terminal_cannot_show(
    here: Path, any_device: gpuopt.Device, name: str, settings: dict[str, str]
) -> None:
    here.rename(f"{name}.h5")
    for out in ([], ["--out", f"{name}.npy"]):
        words = ["reconstruct", f"{name}.h5", "--rows", "1", "--device", str(any_device.index), *out]
        command = [sys.executable, "-m", "gpuopt", *words]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
    assert {path.name for path in Path().iterdir()} == {
        f"{name}{end}" for end in (".h5", "-fbp.tif", "-fbp.png", ".npy", ".png")
    }


def test_the_algorithms_are_those_of_the_option() -> None:
    (choice,) = (one.type for one in cli.app.commands["reconstruct"].params if one.name == "algorithm")
    assert list(choice.choices) == list(reconstruct_commands.ALGORITHMS)


def test_no_scan(here: Path) -> None:
    here.write_bytes(b"nothing")
    result = run(here)
    assert result.exit_code == 2
    assert "neither HDF5 nor TIFF" in result.stderr
    assert run("none.h5").exit_code == 2
