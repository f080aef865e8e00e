"""Scans in files: Data Exchange and TIFFs, their rows, flat fields and dead pixels; and what is refused."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exchange
import gpuopt
import gpuopt.tomo as gt
from exchange import COLUMNS, DEAD, ROWS, VIEWS
from gpuopt import ArrayError, ParameterError
from gpuopt.io import FormatError
from gpuopt.tomo.scan_files import count_views, read_angles

Image = pytest.importorskip("PIL.Image")
SHAPE = (VIEWS, ROWS, COLUMNS)


@pytest.fixture(scope="module")
def made() -> exchange.Counts:
    return exchange.counts()


@pytest.fixture
def h5(tmp_path: Path, made: exchange.Counts) -> Path:
    pytest.importorskip("h5py")
    return exchange.write_exchange(tmp_path / "scan.h5", made)


@pytest.fixture
def tiff(tmp_path: Path, made: exchange.Counts) -> Path:
    for name, fields in (("white", made.white), ("dark", made.dark)):
        exchange.write_pages(tmp_path / f"{name}.tif", fields)
    return exchange.write_pages(tmp_path / "scan.tif", made.data)


def by_hand(made: exchange.Counts) -> np.ndarray:
    white, dark = made.white.mean(axis=0), made.dark.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.log((made.data - dark) / (white - dark))


def test_data_exchange(h5: Path, made: exchange.Counts) -> None:
    scan = gt.read_scan(h5)
    assert scan.shape == SHAPE
    assert count_views(h5) == VIEWS
    np.testing.assert_allclose(scan.angles, np.arange(VIEWS) * np.pi / VIEWS, atol=1e-12)
    assert "60 views from 0 to 177 degrees, 4 rows x 64 columns of uint16 counts" in repr(scan)
    one = exchange.write_pages(h5.with_name("one.tif"), np.ones((1, 1, 1), np.uint16))
    assert repr(gt.read_scan(one, [-0.0])) == (
        "<ScanFile: one.tif, 1 view from 0 to 0 degrees, 1 row x 1 column of uint16 counts>"
    )
    np.testing.assert_array_equal(scan.counts(), made.data)
    np.testing.assert_array_equal(scan.counts(slice(1, 4, 2)), made.data[:, 1:4:2])
    np.testing.assert_array_equal(scan.counts(2), made.data[:, 2:3])
    p = scan.projections()
    assert p.dtype == np.float32
    alive = ~scan.dead()
    assert sorted(map(tuple, np.argwhere(~alive).tolist())) == sorted(DEAD)
    np.testing.assert_allclose(p[:, alive], by_hand(made)[:, alive], atol=1e-5)
    np.testing.assert_array_equal(scan.projections(slice(2, 4)), p[:, 2:])
    assert np.abs(p - made.integrals).mean() < 0.02
    np.testing.assert_allclose(p[:, 1, 20], (p[:, 1, 19] + p[:, 1, 21]) / 2, atol=1e-6)
    np.testing.assert_allclose(p[:, 2, 33], (2 * p[:, 2, 32] + p[:, 2, 35]) / 3, atol=1e-6)
    np.testing.assert_array_equal(p[:, 3, 0], p[:, 3, 1])


@pytest.mark.parametrize("name", ["scan.tif", "scan.h5", "scan"])
def test_a_scan_stays_what_was_opened_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: exchange.Counts, name: str
) -> None:
    others = dataclasses.replace(made, data=made.data + 1, white=made.white + 1)
    for place, counts in (("here", made), ("there", others)):
        folder = tmp_path / place
        (folder / "scan").mkdir(parents=True)
        if name.endswith("h5"):
            pytest.importorskip("h5py")
            exchange.write_exchange(folder / name, counts)
        for view, data in enumerate(counts.data):
            exchange.write_pages(folder / "scan" / f"{view}.tif", data[np.newaxis])
        exchange.write_pages(folder / "scan.tif", counts.data)
        exchange.write_pages(folder / "white.tif", counts.white)
    monkeypatch.chdir(tmp_path / "here")
    scan = gt.read_scan(name, VIEWS, flat="white.tif", dark=0)
    before = scan.projections()
    assert repr(scan).startswith(f"<ScanFile: {name},")
    monkeypatch.chdir(tmp_path / "there")
    np.testing.assert_array_equal(scan.counts(), made.data)
    np.testing.assert_array_equal(scan.projections(), before)


def test_the_axis_and_the_head_of_a_file(h5: Path, made: exchange.Counts) -> None:
    scan = gt.read_scan(h5)
    p = scan.projections(slice(1, 3))
    offset = gt.find_centre(p, scan.angles)
    assert offset == pytest.approx(exchange.OFFSET, abs=0.1)
    geometry = gt.parallel3d(scan.angles, p.shape[1:], 1.0, (0.0, offset))
    volume = gt.Volume((2, 48, 48), 1.0)
    true = gt.parallel3d(scan.angles, p.shape[1:], 1.0, (0.0, exchange.OFFSET))
    image, expected = (
        gt.fbp(gt.NumpyProjector(one, volume), data, window="hann")
        for one, data in ((geometry, p), (true, made.integrals[:, 1:3]))
    )
    assert np.linalg.norm(image - expected) < 0.15 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("units", "factor"), [("degrees", 1.0), (b"deg", 1.0), ("rad", np.pi / 180), (["Radian"], np.pi / 180)]
)
def test_units_of_angles(tmp_path: Path, made: exchange.Counts, units: Any, factor: float) -> None:
    pytest.importorskip("h5py")
    other = exchange.Counts(made.data, made.white, made.dark, made.theta * factor, made.integrals)
    scan = gt.read_scan(exchange.write_exchange(tmp_path / "a.h5", other, units))
    np.testing.assert_allclose(scan.angles, np.deg2rad(made.theta), atol=1e-12)


def test_stored_in_chunks_and_compressed(tmp_path: Path, made: exchange.Counts) -> None:
    pytest.importorskip("h5py")
    options: dict[str, Any] = {"chunks": (1, ROWS, COLUMNS), "compression": "gzip"}
    scan = gt.read_scan(exchange.write_exchange(tmp_path / "a.h5", made, **options))
    np.testing.assert_array_equal(scan.counts(slice(1, 3)), made.data[:, 1:3])


def test_a_tiff_is_the_same_scan(h5: Path, tiff: Path, made: exchange.Counts) -> None:
    angles = np.deg2rad(made.theta)
    scan = gt.read_scan(tiff, angles, flat=tiff.with_name("white.tif"), dark=str(tiff.with_name("dark.tif")))
    assert scan.shape == SHAPE
    np.testing.assert_array_equal(scan.counts(slice(1, 3)), made.data[:, 1:3])
    np.testing.assert_array_equal(scan.projections(), gt.read_scan(h5).projections())


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float32"])
@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate"])
def test_kinds_of_tiff(tmp_path: Path, dtype: str, compression: str | None) -> None:
    pages = np.random.default_rng(1).integers(0, 200, (5, 3, 8)).astype(dtype)
    path = exchange.write_pages(tmp_path / "a.tiff", pages, compression=compression)
    scan = gt.read_scan(path, 5, integrals=True)
    np.testing.assert_array_equal(scan.counts(), pages)
    assert scan.counts().dtype == dtype
    np.testing.assert_array_equal(scan.projections(slice(0, 2)), pages[:, :2].astype(np.float32))
    for name in ("flat", "dark"):
        with pytest.raises(ParameterError, match=f"^{name}: line integrals are corrected already"):
            gt.read_scan(path, 5, integrals=True, **{name: 1.0})
    constant = gt.read_scan(path, 5, flat=300, dark=-1.0).projections()
    np.testing.assert_allclose(constant, -np.log((pages + 1.0) / 301), atol=1e-5)


def test_a_folder_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    pages = np.arange(12 * 2 * 9, dtype=np.uint16).reshape(12, 2, 9)
    for number, page in enumerate(pages):
        Image.fromarray(page).save(tmp_path / f"view_{number}.tif")
    (tmp_path / "notes.txt").write_text("no view")
    scan = gt.read_scan(tmp_path, 12, flat=1e4)
    np.testing.assert_array_equal(scan.counts(), pages)
    Image.fromarray(pages[0, :, :8]).save(tmp_path / "view_7.tif")
    with pytest.raises(FormatError, match=r"view_7.tif: a view is \(2, 8, .* the first is \(2, 9"):
        scan.counts()
    exchange.write_pages(tmp_path / "view_0.tif", pages[:2])
    with pytest.raises(FormatError, match=r"view_0.tif: it has 2 pages"):
        gt.read_scan(tmp_path, 12, flat=1e4)


def test_angles_of_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "angles.txt"
    path.write_text("# degrees\n0\n90 # a quarter\n\n180\n")
    np.testing.assert_allclose(read_angles(path), [0, np.pi / 2, np.pi])
    for text, words in (
        ("1\nx\n", "line 2: 'x' is no angle"),
        ("1 2\n", "line 1"),
        ("nan\n", "not finite"),
        ("#\n", "none|no angles"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=words):
            read_angles(path)


def test_only_the_wanted_rows_take_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: exchange.Counts
) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "large.h5"
    with h5py.File(path, "w") as file:
        file["exchange/data_white"] = np.full((ROWS, COLUMNS), 9, np.uint16)
        file["exchange/theta"] = np.arange(4.0)
        file.create_dataset("exchange/data", (4, 1 << 20, 1 << 20), "u2", chunks=(1, 1, 1 << 14))
    with pytest.raises(FormatError, match="beside views"):
        gt.read_scan(path)
    with h5py.File(path, "a") as file:
        del file["exchange/data_white"]
    scan = gt.read_scan(path)
    monkeypatch.setattr("gpuopt.host_memory.free_bytes", lambda: 200 << 20)
    assert scan.counts(slice(7, 9)).shape == (4, 2, 1 << 20)
    with pytest.raises(ParameterError, match=r"rows: 1048576 rows of .*large.h5 take 8,796,093 MB, where 105 MB"):
        scan.counts()
    with pytest.raises(ParameterError, match="rows: "):
        gt.read_scan(path, integrals=True).projections()


def broken(tmp_path: Path, change: Callable[[Any], None]) -> Path:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "broken.h5"
    with h5py.File(path, "w") as file:
        file["exchange/data"] = np.ones((3, 2, 9), np.uint16)
        file["exchange/data_white"] = np.full((1, 2, 9), 5, np.uint16)
        file["exchange/theta"] = np.arange(3.0)
        change(file)
    return path


def swap(name: str, **made: Any) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        del file[name]
        file.create_dataset(name, **made)

    return change


def link(kind: str) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        import h5py

        del file["exchange/data"]
        file["exchange/data"] = h5py.SoftLink("/exchange/theta") if kind == "soft" else h5py.ExternalLink("b.h5", "/a")

    return change


def in_other_files(file: Any) -> None:
    import h5py

    del file["exchange/data"]
    layout = h5py.VirtualLayout((3, 2, 9), "u2")
    layout[0] = h5py.VirtualSource("b.h5", "a", (2, 9), "u2")
    file.create_virtual_dataset("exchange/data", layout)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.__delitem__("exchange/data"), "it has no /exchange/data"),
        (lambda file: file.__delitem__("exchange"), "it has no /exchange/data"),
        (swap("exchange/data", data=np.ones((2, 9))), r"/exchange/data is \(2, 9\)"),
        (swap("exchange/data", data=np.ones((0, 2, 9))), r"/exchange/data is \(0, 2, 9\)"),
        (swap("exchange/data", shape=(1 << 40, 2, 9), dtype="u1", chunks=(1, 2, 9)), "claims to be"),
        (swap("exchange/data", data=[["a"]]), "is no array of real numbers"),
        (swap("exchange/data", data=np.ones((3, 2, 9), complex)), "is no array of real numbers"),
        (swap("exchange/data", shape=(3, 2, 9), dtype="u2", external=[("b.raw", 0, 108)]), "stored in other files"),
        (in_other_files, "stored in other files"),
        (link("soft"), "is a link to elsewhere"),
        (link("external"), "is a link to elsewhere"),
        (swap("exchange/data_white", data=np.ones((1, 9, 2))), "data_white is"),
        (swap("exchange/theta", data=np.ones(4)), r"theta is \(4,\) of 3 views"),
        (swap("exchange/theta", data=[0, np.nan, 1]), "theta holds NaN"),
        (lambda file: file["exchange/theta"].attrs.update(units="turns"), "theta is in 'turns'"),
        (lambda file: file["exchange/theta"].attrs.update(units=np.zeros(0)), "theta is in ''"),
    ],
)
def test_broken_data_exchange(tmp_path: Path, change: Callable[[Any], None], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        gt.read_scan(broken(tmp_path, change))


@pytest.mark.parametrize("theta", [np.ones(4), [0, np.nan, 1], [["a"]]])
def test_theta_is_not_read_where_angles_are_given(tmp_path: Path, theta: Any) -> None:
    path = broken(tmp_path, swap("exchange/theta", data=theta))
    assert gt.read_scan(path, 3).shape == (3, 2, 9)
    assert count_views(path) == 3


def test_damaged_files(h5: Path, tiff: Path) -> None:
    """Cut and changed anywhere: read, or refused by a typed error."""
    random = np.random.default_rng(2)
    for path in (h5, tiff):
        whole = path.read_bytes()
        for number in range(40):
            data = bytearray(whole[: random.integers(1, len(whole))] if number % 3 == 0 else whole)
            for place in random.integers(0, min(len(data), 4096), 6) if number % 3 else ():
                data[place] = random.integers(256)
            path.write_bytes(data)
            try:
                scan = gt.read_scan(path, VIEWS, flat=30000.0, dark=0.0)
                assert scan.projections(slice(1, 3)).shape[1] == 2
            except gpuopt.Error:
                pass
    h5.write_bytes(b"no scan at all")
    with pytest.raises(FormatError, match="neither HDF5 nor TIFF"):
        gt.read_scan(h5)


def test_pages_that_are_none(tmp_path: Path) -> None:
    colour = tmp_path / "colour.tif"
    Image.fromarray(np.zeros((4, 9, 3), np.uint8)).save(colour)
    with pytest.raises(FormatError, match="its pixels are RGB"):
        gt.read_scan(colour, 1)
    stack = exchange.write_pages(
        tmp_path / "stack.tif", np.zeros((1, 4, 9), np.uint8), description="ImageJ=1.53t\nimages=70\n"
    )
    with pytest.raises(FormatError, match="its 70 views are one page"):
        gt.read_scan(stack, 70)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"holds no file \.tif"):
        gt.read_scan(tmp_path / "empty", 1)


def test_what_is_missing(h5: Path, tiff: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"angles: .*scan.tif does not say them"):
        gt.read_scan(tiff)
    with pytest.raises(ParameterError, match="angles: there are 59 of 60 views"):
        gt.read_scan(tiff, 59)
    with pytest.raises(FormatError, match="it holds no flat fields; give flat"):
        gt.read_scan(tiff, VIEWS).projections()
    with pytest.raises(ParameterError, match="flat: it is a list; give a number"):
        gt.read_scan(tiff, VIEWS, flat=[1])  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        gt.read_scan(tmp_path / "none.h5")
    with pytest.raises(FormatError, match="no pixel of detector row 1 lives"):
        gt.read_scan(tiff, VIEWS, flat=0.0).projections(slice(1, 2))
    scan = gt.read_scan(h5)
    for rows, words in ((9, "rows: "), ([0, 2, 3], "not evenly spaced"), (slice(2, 2), "rows: give a list")):
        with pytest.raises(ParameterError, match=words):
            scan.projections(rows)
    with pytest.raises(ParameterError, match="path: it is empty"):
        gt.read_scan("")
    small = exchange.write_pages(tmp_path / "small.tif", np.ones((2, 3, 8), np.uint16))
    with pytest.raises(ParameterError, match=r"flat: .* is \(3, 8\) pixels, a view \(4, 64\)"):
        gt.read_scan(tiff, VIEWS, flat=small)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(gpuopt.Error, match=r"h5py, which is not installed: pip install 'gpuopt\[io\]'"):
        gt.read_scan(h5)


@pytest.mark.parametrize("level", ["flat", "dark"])
def test_fields_of_a_name_that_is_too_long(tiff: Path, level: str) -> None:
    with pytest.raises(FormatError, match=r"^x+: it cannot be opened \(File name too long\); name a file"):
        gt.read_scan(tiff, VIEWS, **{level: "x" * 300})


def test_nan_counts_are_named(tmp_path: Path) -> None:
    pages = np.ones((3, 2, 8), np.float32)
    pages[1, 1, 3] = np.nan
    path = exchange.write_pages(tmp_path / "nan.tif", pages)
    for scan in (gt.read_scan(path, 3, flat=2.0), gt.read_scan(path, 3, integrals=True)):
        for rows in (None, 1, slice(1, 2)):  # by the row in the file, whichever rows are read
            with pytest.raises(ArrayError, match=r"nan.tif: view 1, v 1, u 3 holds NaN or infinity; repair"):
                scan.projections(rows)
        assert np.isfinite(scan.projections(0)).all()


def test_infinite_counts_are_no_line_integrals() -> None:
    raw = np.ones((2, 3))
    raw[1, 2] = np.inf
    with pytest.raises(ArrayError, match="raw: view 1, u 2 holds NaN or infinity"):
        gt.normalise(raw, 2.0)
    flats = ([2.0, 0.0, 2.0], 0.0, "flat"), ([2.0, np.inf, 2.0], 0.0, "flat")
    for flat, dark, name in (*flats, (2.0, [0.0, np.nan, 0.0], "dark")):
        with pytest.raises(ArrayError, match=rf"{name}: 1 of 3 values .* the first at \[1\]; mend"):
            gt.normalise(np.ones((2, 3)), flat, dark)


def test_angles_of_many_turns(tmp_path: Path, made: exchange.Counts) -> None:
    """A file says that its angles are degrees; others say it by units."""
    pytest.importorskip("h5py")
    theta = made.theta * 12
    other = exchange.Counts(made.data, made.white, made.dark, theta, made.integrals)
    path = exchange.write_exchange(tmp_path / "turns.h5", other)
    np.testing.assert_allclose(gt.read_scan(path).angles, np.deg2rad(theta))
    np.testing.assert_allclose(gt.read_scan(path, theta, units="deg").angles, np.deg2rad(theta))
    with pytest.raises(ParameterError, match="units: 'grad' is not known"):
        gt.read_scan(path, units="grad")
    np.testing.assert_allclose(gt.read_scan(path, units="rad").angles, np.deg2rad(theta))
    with pytest.raises(ParameterError, match='units="deg"'):
        gt.read_scan(path, theta)
    p, radians = made.integrals[:, 0], np.deg2rad(made.theta) + 20 * np.pi
    twice = np.concatenate([p, p])
    angles = np.concatenate([np.deg2rad(made.theta), radians])
    with pytest.raises(ParameterError, match=r'geometry: .* units="deg"'):
        gt.find_centre(twice, angles)
    found = gt.find_centre(p, np.deg2rad(made.theta))
    assert gt.find_centre(p, made.theta, units="deg") == pytest.approx(found)
    assert gt.find_centre(p, radians, units="rad") == pytest.approx(found)


def test_a_scan_of_a_half_made_source_is_refused() -> None:
    source = object.__new__(gt.scan_files.TiffStack)  # its headers were never read
    with pytest.raises(ParameterError, match=r"^source: it does not say"):
        gt.ScanFile(source=source, angles=np.zeros(3))
    with pytest.raises(ArrayError, match=r"^angles: it is a VoidDType"):
        gt.ScanFile(source=source, angles=np.dtype("V8"))
