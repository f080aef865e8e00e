"""TIFFs tag by tag: pixels of every form come as they are stored, or the file is refused by what it says."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exchange
import gpuopt.tomo as gt
from gpuopt.io import FormatError

Image = pytest.importorskip("PIL.Image")

WIDTH, HEIGHT, BITS, COMPRESSION, WHITE, DESCRIPTION, STRIPS, ORIENTATION = 256, 257, 258, 259, 262, 270, 273, 274
SAMPLES, ROWS, BYTES, PLANES, EXTRA, FORM, XMP = 277, 278, 279, 284, 338, 339, 700


def write_tiff(path: Path, pages: np.ndarray, order: str = "<", **tags: Any) -> Path:
    """A TIFF whose tags are those of ``pages`` (page, y, x), but for ``tags``; None leaves one out."""
    names = {"bits": BITS, "white": WHITE, "orientation": ORIENTATION, "form": FORM, "xmp": XMP, "extra": EXTRA}
    names |= {"samples": SAMPLES, "width": WIDTH, "description": DESCRIPTION, "planes": PLANES}
    written = bytearray({"<": b"II*\0", ">": b"MM\0*"}[order] + bytes(4))
    link = 4
    for page in pages:
        start = len(written)
        written += page.astype(page.dtype.newbyteorder(order)).tobytes() + bytes(page.nbytes % 2)
        height, width = page.shape
        entries: dict[int, Any] = {WIDTH: width, HEIGHT: height, BITS: 8 * page.itemsize, COMPRESSION: 1, WHITE: 1}
        entries |= {STRIPS: start, SAMPLES: 1, ROWS: height, BYTES: page.nbytes, FORM: "uif".index(page.dtype.kind) + 1}
        entries |= {names[name]: value for name, value in tags.items()}
        entries = {tag: value for tag, value in entries.items() if value is not None}
        kept = {}
        for tag, value in entries.items():
            if isinstance(value, bytes):
                kept[tag] = struct.pack(order + "HHII", tag, 1 if tag == XMP else 2, len(value), len(written))
                written += value + bytes(len(value) % 2)
            elif isinstance(value, tuple):
                kept[tag] = struct.pack(order + "HHIHH", tag, 3, 2, *value)
            else:
                kept[tag] = struct.pack(order + "HHII", tag, 4, 1, value)
        struct.pack_into(order + "I", written, link, len(written))
        written += struct.pack(order + "H", len(kept)) + b"".join(kept[tag] for tag in sorted(kept))
        link = len(written)
        written += bytes(4)
    path.write_bytes(written)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "int32", "float32"])
def test_pixels_in_planes_are_refused(dtype: str, order: str, tmp_path: Path) -> None:
    """One sample a pixel is one plane, but Pillow does not turn its bytes, and took two words for one."""
    pages = np.arange(54).reshape(3, 2, 9).astype(dtype)
    apart = write_tiff(tmp_path / "apart.tif", pages, order, planes=2)
    with pytest.raises(
        FormatError, match=r"apart\.tif: (its PlanarConfiguration is 2; write it as 1|it cannot be read)"
    ):
        gt.read_scan(apart, angles=3, flat=1e6).counts()
    if order == "<" or dtype in ("uint8", "uint16"):
        together = write_tiff(tmp_path / "together.tif", pages, order, planes=1)
        np.testing.assert_array_equal(gt.read_scan(together, angles=3, flat=1e6).counts(), pages)


def drawn(dtype: str, shape: tuple[int, ...] = (3, 2, 9)) -> np.ndarray:
    """Numbers over the whole range of a dtype."""
    random = np.random.default_rng(4)
    if dtype == "float32":
        return random.uniform(1, 2, shape).astype(dtype)
    ends = np.iinfo(dtype)
    return random.integers(ends.min, ends.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32"])
def test_counts_come_as_they_are_stored(tmp_path: Path, dtype: str, order: str) -> None:
    pages = drawn(dtype)
    path = write_tiff(tmp_path / "a.tif", pages, order)
    if (dtype, order) == ("uint32", ">"):
        with pytest.raises(FormatError, match="it cannot be read as TIFF"):  # Pillow knows no such pixels
            gt.read_scan(path, 3)
        return
    counts = gt.read_scan(path, 3).counts()
    assert counts.dtype == ("int32" if dtype == "int16" else dtype)
    np.testing.assert_array_equal(counts, pages)
    np.testing.assert_array_equal(gt.read_scan(path, 3, integrals=True).projections(1), pages[:, 1:2].astype("f4"))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "int32", "float32"])
def test_compressed_words_come_as_they_are_stored_or_are_refused(tmp_path: Path, dtype: str, order: str) -> None:
    tifffile = pytest.importorskip("tifffile")
    pages, path = drawn(dtype), tmp_path / "a.tif"
    tifffile.imwrite(path, pages, byteorder=order, compression="zlib", photometric="minisblack")
    if order == ">" and dtype not in ("uint8", "uint16"):
        with pytest.raises(FormatError, match=r"words are big-endian and compressed; write it uncompressed"):
            gt.read_scan(path, 3)
        return
    np.testing.assert_array_equal(gt.read_scan(path, 3).counts(), pages)


def test_large_counts(tmp_path: Path) -> None:
    """Of 32 bits without a sign, beyond those with one."""
    pages = np.array([[[3_000_000_000, 2_147_483_648], [4_294_967_295, 1_500_000_000]]] * 2, np.uint32)
    path = write_tiff(tmp_path / "a.tif", pages)
    scan = gt.read_scan(path, 2, flat=4e9, dark=1e9)
    assert scan.counts().min() == 1_500_000_000
    assert "uint32 counts" in repr(scan)
    np.testing.assert_allclose(scan.projections(), -np.log((pages - 1e9) / 3e9), atol=1e-6)
    flat = gt.read_scan(path, 2, flat=path).projections()
    np.testing.assert_allclose(flat, 0, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("turned", [0, 2, 3, 4, 5, 6, 7, 8])
def test_turned_pages_are_refused(tmp_path: Path, dtype: str, turned: int) -> None:
    path = write_tiff(tmp_path / "a.tif", drawn(dtype), orientation=turned)
    with pytest.raises(FormatError, match=f"a.tif: its Orientation is {turned}; write it as 1"):
        gt.read_scan(path, 3, flat=1.0)
    upright = write_tiff(tmp_path / "b.tif", drawn(dtype), orientation=1)
    np.testing.assert_array_equal(gt.read_scan(upright, 3).counts(), drawn(dtype))


def test_a_turned_page_among_others(tmp_path: Path) -> None:
    """Of a file, and of a folder; and where XMP alone says so."""
    square = drawn("uint16", (1, 5, 5))
    for number in range(3):
        write_tiff(tmp_path / f"{number}.tif", square, orientation=3 if number == 2 else None)
    with pytest.raises(FormatError, match=r"2.tif: its Orientation is 3"):
        gt.read_scan(tmp_path, 3).counts()
    xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:Description tiff:Orientation=\"6\"/></x:xmpmeta>"
    with pytest.raises(FormatError, match="its Orientation is 6"):
        gt.read_scan(write_tiff(tmp_path / "2.tif", square, xmp=xmp), 1)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_white_is_not_zero(tmp_path: Path, dtype: str) -> None:
    path = write_tiff(tmp_path / "a.tif", drawn(dtype), white=0)
    with pytest.raises(FormatError, match=r"a\.tif: its PhotometricInterpretation is WhiteIsZero; write it as Black"):
        gt.read_scan(path, 3)


def test_bytes_that_do_not_say_what_white_is(tmp_path: Path) -> None:
    """Pillow would turn them."""
    with pytest.raises(FormatError, match="WhiteIsZero"):
        gt.read_scan(write_tiff(tmp_path / "a.tif", drawn("uint8"), white=None), 3)


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"bits": 1}, "its pixels are 1 of 1 bits"),
        ({"bits": 2}, "its pixels are L of 2 bits; write grey ones of 8, 16 or 32 bits"),
        ({"bits": 4}, "its pixels are L of 4 bits"),
        (
            {"bits": (8, 8), "samples": 2, "extra": 0, "form": (1, 1), "width": 4},
            r"its pixels are L of 8 \+ 8 bits|cannot identify image",
        ),
    ],
)
def test_pixels_that_pillow_scales_or_drops_are_refused(tmp_path: Path, tags: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        gt.read_scan(write_tiff(tmp_path / "a.tif", drawn("uint8"), **tags), 3)


def test_each_file_of_a_folder_is_a_view(tmp_path: Path) -> None:
    """Pages after the first were left out."""
    pages = drawn("uint16")
    for name in ("views", "flats"):
        (tmp_path / name).mkdir()
        for number in range(3):
            exchange.write_pages(tmp_path / name / f"{number}.tif", pages[:1])
    scan = gt.read_scan(tmp_path / "views", 3, flat=tmp_path / "flats")
    np.testing.assert_array_equal(scan.counts(), pages[[0, 0, 0]])
    exchange.write_pages(tmp_path / "flats" / "1.tif", pages)
    with pytest.raises(FormatError, match=r"flats/1.tif: it has 3 pages; give it by itself, or a file a view"):
        scan.projections()
    exchange.write_pages(tmp_path / "views" / "2.tif", pages[:2])
    with pytest.raises(FormatError, match=r"views/2.tif: it has 2 pages"):
        scan.counts()
    for words in ONE_PAGE:
        exchange.write_pages(tmp_path / "views" / "2.tif", pages[:1], description=words)
        with pytest.raises(FormatError, match=r"views/2.tif: its 70 views are one page"):
            scan.counts()


ONE_PAGE = (
    "ImageJ=1.53t\nimages=70\n",
    '{"shape": [70, 9, 11], "truncated": true}',
    '{"shape": [70, 9, 11], "axes": "ZYX", "truncated": true}',
    '{"shape": [7, 10, 9, 11], "axes": "TZYX", "spacing": 0.5, "truncated": true}',
)


@pytest.mark.parametrize(
    "words",
    [
        '{"shape": [9, 11], "truncated": true}',
        '{"shape": [1, 9, 11], "truncated": true}',
        '{"shape": [70, 9, 11], "truncated": false}',
        '{"shape": [70, 9, 11]}',
        '{"shape": [70, 9, "11"], "truncated": true}',
        '{"shape": [true, 9, 11], "truncated": true}',
        '{"shape": {"70": 9}, "truncated": true}',
        '{"shape": 70, "truncated": true}',
        '{"shape": [70, 9, 11], "truncated": true',
        '{"shape": ' + "[" * 60000,
        '{"shape": [70, 9, 11], "notes": "' + 70000 * "a" + '", "truncated": true}',
        "{}",
        "{",
        "ImageJ=1.53t\nimages=1\n",
        "ImageJ=1.53t\nimages=\n",
    ],
    ids=range(15),
)
def test_descriptions_that_tell_nothing(words: str, tmp_path: Path) -> None:
    page = drawn("uint16")[:1]
    scan = gt.read_scan(exchange.write_pages(tmp_path / "one.tif", page, description=words), 1, flat=9e4)
    np.testing.assert_array_equal(scan.counts(), page)


def test_more_views_in_a_page_than_can_be(tmp_path: Path) -> None:
    words = '{"shape": [' + ", ".join(["7" * 4000] * 3) + ', 9, 11], "truncated": true}'
    path = exchange.write_pages(tmp_path / "one.tif", drawn("uint16")[:1], description=words)
    with pytest.raises(FormatError, match="its 1000000000 views are one page"):
        gt.read_scan(path, 1)


def test_a_view_that_leads_nowhere_is_not_left_out(tmp_path: Path) -> None:
    """Those behind it would have had the angles before theirs."""
    for name in ("0.tif", "2.tif"):
        exchange.write_pages(tmp_path / name, drawn("uint16")[:1])
    (tmp_path / "3.tif").mkdir()
    assert gt.read_scan(tmp_path, 2).shape[0] == 2
    (tmp_path / "1.tif").symlink_to(tmp_path / "fetched later.tif")
    with pytest.raises(FormatError, match=r"1\.tif: it is no regular file, or a link that leads to none"):
        gt.read_scan(tmp_path, 2)


def test_views_of_a_folder_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Numbers count as such, capitals as small letters, and a name comes before those that go on from it."""
    pages = drawn("uint16")
    names = ["x2.tif", "X3.TIF", "x10.tiff", "x1.TIFF", "X.tif"]
    for number, name in zip((2, 3, 4, 1, 0), names, strict=True):
        exchange.write_pages(tmp_path / name, pages[:1] + np.uint16(number))
    counts = gt.read_scan(tmp_path, 5, flat=9e4).counts()
    np.testing.assert_array_equal(counts - counts[:1], np.arange(5)[:, np.newaxis, np.newaxis] + 0 * counts)


def test_a_file_of_other_pages_than_when_it_was_opened_is_refused(tmp_path: Path) -> None:
    """The first pages of the new one were taken for the scan."""
    pages = np.arange(6 * 8, dtype=np.uint16).reshape(6, 2, 4)
    scan = gt.read_scan(write_tiff(tmp_path / "scan.tif", pages[:4]), angles=4, flat=1000.0)
    np.testing.assert_array_equal(scan.counts(), pages[:4])
    for changed in (pages, pages[:3]):
        write_tiff(tmp_path / "scan.tif", changed)
        with pytest.raises(FormatError, match="it was changed while it was read"):
            scan.counts()
