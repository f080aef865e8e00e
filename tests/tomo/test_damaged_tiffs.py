"""TIFFs that are cut off or changed, byte by byte: read as they were, or refused by what is wrong."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exchange
import gpuopt
import gpuopt.tomo as gt
from gpuopt.io import FormatError
from gpuopt.tomo import tiff_stacks

Image = pytest.importorskip("PIL.Image")

VIEWS = 6
KINDS = ["raw", "packbits", "tiff_lzw", "tiff_adobe_deflate"]


@pytest.fixture
def pages() -> np.ndarray:
    return np.random.default_rng(0).poisson(150, (VIEWS, 16, 32)).astype(np.uint16)


def stack(path: Path, pages: np.ndarray, compression: str, **options: Any) -> bytes:
    return exchange.write_pages(path, pages, compression=compression, **options).read_bytes()


def is_refused(path: Path, pages: np.ndarray) -> bool:
    """Whether it is; what is read is asserted to be right."""
    try:
        counts = gt.read_scan(path, VIEWS, flat=200.0).counts()
    except gpuopt.Error:
        return True
    np.testing.assert_array_equal(counts, pages)
    return False


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's, of what it leaves out
@pytest.mark.parametrize(
    ("options", "step"),
    [({}, 1), ({"big_tiff": True}, 7), ({"strip_size": 256}, 7)],
    ids=["classic", "big", "strips"],
)
@pytest.mark.parametrize("compression", KINDS)
def test_cut_off(tmp_path: Path, pages: np.ndarray, compression: str, options: dict[str, Any], step: int) -> None:
    """The last page was the one before it."""
    path = tmp_path / "cut.tif"
    whole = stack(path, pages, compression, **options)
    assert not is_refused(path, pages)
    refused = []
    for cut in range(1, 151, step):
        path.write_bytes(whole[:-cut])
        refused.append(is_refused(path, pages))
    assert np.mean(refused) > 0.8  # the last bytes may be padding


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("compression", KINDS)
def test_a_changed_bit_in_a_directory(tmp_path: Path, pages: np.ndarray, compression: str) -> None:
    path = tmp_path / "changed.tif"
    whole = stack(path, pages, compression)
    random = np.random.default_rng(3)
    for number in range(120):
        begin, size = random.choice([(0, 8), *directories(whole)])
        changed = bytearray(whole)
        changed[begin + random.integers(size)] ^= 1 << random.integers(8)
        path.write_bytes(changed)
        try:
            is_refused(path, pages)
        except AssertionError as error:
            raise AssertionError(f"change {number}") from error


def directories(data: bytes) -> list[tuple[int, int]]:
    """Where they begin in a little-endian file, and their bytes."""
    found = []
    (place,) = struct.unpack_from("<I", data, 4)
    while place:
        size = 2 + 12 * struct.unpack_from("<H", data, place)[0] + 4
        found.append((place, size))
        (place,) = struct.unpack_from("<I", data, place + size - 4)
    return found


def changed_entry(data: bytes, page: int, tag: int, value: int) -> bytes:
    """With a number of 32 bits in place of a tag's; of tag 0, the link to the next directory."""
    begin, size = directories(data)[page - 1]
    places = [begin + size - 4] if not tag else range(begin + 10, begin + size - 4, 12)
    (place,) = [at for at in places if not tag or struct.unpack_from("<H", data, at - 8)[0] == tag]
    written = bytearray(data)
    struct.pack_into("<I", written, place, value)
    return bytes(written)


@pytest.mark.parametrize(
    ("page", "tag", "value", "words"),
    [
        (4, 273, 1 << 20, "its page 4 is cut off or damaged: some of its pixels are not in the file; copy"),
        (4, 273, 0, "its page 4 is damaged: its pixels lie on its directory"),
        (4, 273, 200, "its pages 1 and 4 lie on the same bytes; one of them is damaged; copy"),
        (4, 279, 1023, "its page 4 is cut off or damaged: its strips or tiles have other numbers of bytes"),
        (4, 278, 8, "its page 4 is stored otherwise than the pages before; one of them is damaged; copy"),
        (4, 259, 5, "its page 4 is stored otherwise"),
        (4, 256, 0, "its page 4 is cut off or damaged: it does not say its size"),
        (4, 257, 1 << 20, "its page 4 is cut off or damaged: its pixels are not in 65,536 strips or tiles"),
        (3, 0, 1 << 20, "its page 4 is cut off or damaged: it goes on to byte"),
        (6, 0, 8, "its page 7 is cut off or damaged: it is one of those before it"),
        (6, 0, 1000, "its page 7 is cut off or damaged: its tag 166 is out of order"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, pages: np.ndarray, page: int, tag: int, value: int, words: str) -> None:
    path = tmp_path / "a.tif"
    path.write_bytes(changed_entry(stack(path, pages, "raw"), page, tag, value))
    with pytest.raises(FormatError, match=f"a.tif: {words}"):
        gt.read_scan(path, VIEWS, flat=200.0)


def test_a_flat_field_that_is_cut_off(tmp_path: Path, pages: np.ndarray) -> None:
    path, flat = tmp_path / "a.tif", tmp_path / "flat.tif"
    stack(path, pages, "tiff_lzw")
    flat.write_bytes(stack(flat, pages, "tiff_lzw")[:-40])
    with pytest.raises(FormatError, match=r"flat.tif: its page 6 is cut off or damaged: .*; copy the file again"):
        gt.read_scan(path, VIEWS, flat=flat).projections()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("compression", KINDS[1:])
def test_a_page_that_is_not_decoded(
    tmp_path: Path, pages: np.ndarray, compression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By libtiff, of a directory that nobody looked at before."""
    path = tmp_path / "a.tif"
    path.write_bytes(stack(path, pages, compression)[:-40])
    monkeypatch.setattr(tiff_stacks, "count_pages", lambda path, file: VIEWS)
    with pytest.raises(FormatError, match=r"a.tif: its page 6 cannot be decoded; copy"):
        gt.read_scan(path, VIEWS, flat=200.0).counts()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "float32"])
@pytest.mark.parametrize("views", [1, 3])
@pytest.mark.parametrize("compression", KINDS)
def test_pages_of_one_value(tmp_path: Path, compression: str, views: int, dtype: str) -> None:
    """Black ones are what the memory is before it is decoded."""
    path = tmp_path / "a.tif"
    for value in (0, 1):
        pages = np.full((views, 3, 5), value, dtype)
        exchange.write_pages(path, pages, compression=compression)
        np.testing.assert_array_equal(gt.read_scan(path, views, flat=200.0).counts(), pages)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize(
    "options", [{"tile": (16, 16)}, {"rowsperstrip": 3}, {"rowsperstrip": 5, "compression": "zlib"}]
)
def test_whole_files_of_another_writer(
    tmp_path: Path, pages: np.ndarray, options: dict[str, Any], big: bool, order: str
) -> None:
    tifffile = pytest.importorskip("tifffile")
    if big and order == ">":
        pytest.skip("Pillow does not read them")
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path, bigtiff=big, byteorder=order) as file:
        for page in pages:
            file.write(page, photometric="minisblack", contiguous=False, **options)
    assert not is_refused(path, pages)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="its page 6 is cut off or damaged"):
        gt.read_scan(path, VIEWS)
