"""Scans as TIFFs, a view a page or a view a file, read and written by Pillow."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt._core import Error, ParameterError
from gpuopt.io.text import FormatError, opened, system_errors
from gpuopt.signals import deferring, is_file, is_folder, let_through
from gpuopt.tomo import checks
from gpuopt.tomo.scan_source import Source, check_memory, reading
from gpuopt.tomo.tiff_pages import count_pages

SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
SUFFIXES = (".tif", ".tiff")

# By Pillow's mode and the tags of a pixel's bits and its form: Pillow takes bytes for unsigned, words of 32 bits for
# signed ones.
_UNSIGNED, _SIGNED, _FLOATING = 1, 2, 3
_KINDS = {
    ("L", 8, _UNSIGNED): "uint8",
    ("L", 8, _SIGNED): "int8",
    ("I;16", 12, _UNSIGNED): "uint16",
    ("I;16", 16, _UNSIGNED): "uint16",
    ("I", 16, _SIGNED): "int32",
    ("I", 32, _UNSIGNED): "uint32",
    ("I", 32, _SIGNED): "int32",
    ("F", 32, _FLOATING): "float32",
}
_MOST_PIXELS = 80_000_000  # of a page, which is decoded whole
_BYTES_A_PIXEL = 12  # of a page while it is decoded
_MOST_BYTES = 4_000_000_000  # of a file that is written: offsets have 32 bits
_WITHIN = 0.9  # of the inscribed circle, where the grey values of a picture are chosen
_BITS, _PACKED, _WHITE, _DESCRIPTION, _ORIENTATION, _PLANES = 258, 259, 262, 270, 274, 284  # tags
_TILE, _FORM = (322, 323), 339

_IMAGEJ = re.compile(r"ImageJ=.*\nimages=(\d{1,9})", re.DOTALL)
_LONGEST = 1 << 16  # characters of a description that is looked into


class TiffStack(Source):
    """The pages of a file, or the files of a folder in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_folder = is_folder(path)
        self._files = _files(path) if self._is_folder else [path]
        with _picture(self._files[0]) as first:
            with deferring():
                size, self.dtype = _size(self._files[0], first), _dtype(self._files[0], first)
            pages = self._pages_of(self._files[0], first)
            self.shape = (len(self._files) if self._is_folder else pages, *size)

    def settle(self) -> None:
        super().settle()
        self._files = [file.absolute() for file in self._files]

    def counts(self, rows: slice) -> np.ndarray:
        views, height, columns = self.shape
        count = len(range(*rows.indices(height)))
        held = views * count * columns * self.dtype.itemsize
        check_memory(self.path, checks.counted(count, "row"), held + _BYTES_A_PIXEL * height * columns)
        found = np.empty((views, count, columns), self.dtype)
        for view, page in enumerate(self._pages()):
            found[view] = page[rows]
        return found

    def _pages(self) -> Iterator[np.ndarray]:
        if not self._is_folder:
            with _picture(self.path) as picture:
                if self._pages_of(self.path, picture) != self.shape[0]:
                    raise FormatError(self.path, None, "it was changed while it was read; read it again")
                for page in range(self.shape[0]):
                    with deferring():
                        picture.seek(page)
                    yield self._page(self.path, picture)
            return
        for file in self._files:
            with _picture(file) as picture:
                self._pages_of(file, picture)
                yield self._page(file, picture)

    def _page(self, file: Path, picture: Any) -> np.ndarray:
        expected = (*self.shape[1:], self.dtype)
        with deferring():  # Pillow takes a handler's OSError, such as TimeoutError, for a fault of the file
            found = (*_size(file, picture), _dtype(file, picture))
        if found != expected:
            raise FormatError(file, None, f"a view is {found}, the first is {expected}; give views of one kind")
        with deferring():
            page = _decoded(file, picture)
        return page.view(self.dtype) if page.dtype.isnative else page

    def _pages_of(self, file: Path, picture: Any) -> int:
        """How many there are. Raises FormatError where one is damaged, and where a file of a folder holds more than a
        view, or a page does."""
        pages = count_pages(file, picture.fp)
        with deferring():
            frames = getattr(picture, "n_frames", 1)
        if frames != pages:
            raise FormatError(file, None, "its pages cannot be told apart; copy the file again")
        if self._is_folder and pages > 1:
            raise FormatError(file, None, f"it has {pages} pages; give it by itself, or a file a view")
        views = _views_of_a_page(str(picture.tag_v2.get(_DESCRIPTION, "")))
        if pages == 1 and views > 1:
            raise FormatError(file, None, f"its {views} views are one page; save them as an image sequence")
        with deferring():
            picture.seek(0)
        return pages


def _views_of_a_page(description: str) -> int:
    """How many the only page of a file has behind one another, as ImageJ, and tifffile with ``truncate``, describe it;
    1 where nothing is told."""
    if not description.startswith("{"):
        found = _IMAGEJ.search(description)
        return int(found[1]) if found else 1
    try:
        told = json.loads(description) if len(description) <= _LONGEST else {}
    except (ValueError, RecursionError) as error:
        let_through(error)
        return 1
    shape = told.get("shape")
    if told.get("truncated") is not True or not isinstance(shape, list) or not all(type(n) is int for n in shape):
        return 1
    return min(math.prod(shape[:-2]), 10**9)


def _files(path: Path) -> list[Path]:
    """Those of a folder, in order."""
    with system_errors(path, "read", "copy it to another disk"):
        found = [one for one in path.iterdir() if one.suffix.lower() in SUFFIXES and not is_folder(one)]
    for one in found:
        if not is_file(one):  # left out, it would give its place to the view after it
            raise FormatError(one, None, "it is no regular file, or a link that leads to none; fetch it, or remove it")
    if not found:
        raise FormatError(path, None, f"it holds no file {' or '.join(SUFFIXES)}; name a folder of views")
    return sorted(found, key=_natural)


def _natural(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """view_10 comes after view_9, View_3.TIF after view_2.tif, and view_1.tif after view.tif."""
    parts = re.findall(r"\d+|\D+", path.stem.casefold(), re.ASCII)
    key = [(0, int(part[:4000]), part) if part[0].isascii() and part[0].isdigit() else (1, 0, part) for part in parts]
    return key, path.name


def _size(path: Path, picture: Any) -> tuple[int, int]:
    """Rows and columns, by the header. Raises FormatError for what is too large."""
    width, height = picture.size
    tile = [int(picture.tag_v2.get(tag, 1)) for tag in _TILE]
    for across, along in ((width, height), tile):
        if across * along > _MOST_PIXELS:
            raise FormatError(
                path, None, f"a page is {across:,} x {along:,} pixels, at most {_MOST_PIXELS:,} are read; cut it"
            )
    return height, width


def _dtype(path: Path, picture: Any) -> np.dtype[Any]:
    """Of the pixels, by the header. Raises FormatError for what is no grey picture as it is stored."""
    bits, form = (picture.tag_v2.get(tag, (default,)) for tag, default in ((_BITS, 1), (_FORM, _UNSIGNED)))
    mode = "I;16" if picture.mode.startswith("I;16") else picture.mode
    kind = _KINDS.get((mode, bits[0], form[0])) if len(bits) == 1 else None
    if kind is None:
        raise FormatError(
            path,
            None,
            f"its pixels are {mode} of {' + '.join(map(str, bits))} bits; write grey ones of 8, 16 or 32 bits, or "
            "float32",
        )
    # Pillow turns bytes where white is 0, also where the file does not say, but not longer words.
    if picture.tag_v2.get(_WHITE, 0 if mode == "L" else 1) == 0:
        raise FormatError(path, None, "its PhotometricInterpretation is WhiteIsZero; write it as BlackIsZero")
    # Pillow 13 turns the bytes of such words once more than it should.
    if (
        picture.tag_v2.prefix == b"MM"
        and picture.tag_v2.get(_PACKED, 1) != 1
        and kind not in ("uint8", "int8", "uint16")
    ):
        raise FormatError(path, None, f"its {kind} words are big-endian and compressed; write it uncompressed")
    if picture.tag_v2.get(_PLANES, 1) != 1:  # Pillow takes bytes and bits of such pixels as they lie
        raise FormatError(path, None, "its PlanarConfiguration is 2; write it as 1")
    turned = picture.tag_v2.get(_ORIENTATION, picture.getexif().get(_ORIENTATION, 1))  # which XMP may say too
    if turned != 1:
        raise FormatError(
            path, None, f"its Orientation is {turned}; write it as 1, rows from the top and columns from the left"
        )
    return np.dtype(kind)


def _decoded(path: Path, picture: Any) -> np.ndarray:
    """The page that ``picture`` is at. Where libtiff cannot read a compressed page, Pillow may leave the pixels as they
    were without a word: a page that is like what was there is decoded again, over something else."""
    if picture.info.get("compression") == "raw":
        return np.asarray(picture)
    strips = picture.tile  # which Pillow takes away when they are decoded
    for before in (1, 0):  # black pages are the commoner ones
        picture.im = pillow().new(picture.mode, picture.size, before).im
        picture.tile = strips
        page = np.asarray(picture)
        if (page != before).any():
            return page
    raise FormatError(path, None, f"its page {picture.tell() + 1} cannot be decoded; copy the file again")


@contextmanager
def _picture(path: Path) -> Iterator[Any]:
    """The open file, which stays open when its page is decoded. Whatever Pillow raises in the block becomes a
    FormatError."""
    Image = pillow()
    with opened(path) as file, reading(path, "TIFF"), ExitStack() as held:
        with deferring():
            picture = held.enter_context(Image.open(file, formats=("TIFF",)))
        yield picture


def pillow() -> Any:
    """Its module for images. Raises Error where it is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise Error(
            "pictures are read and written by Pillow, which is not installed: pip install 'gpuopt[io]'"
        ) from error
    return Image


def check_size(shape: tuple[int, int, int]) -> None:
    """Raises ParameterError for float32 images (page, y, x) that 32-bit offsets do not reach."""
    if (taken := 4 * math.prod(shape)) > _MOST_BYTES:
        raise ParameterError(f"out: {taken:,} bytes are too many for a TIFF; name a file .npy, or fewer rows")


def tiff(images: np.ndarray) -> bytes:
    """A TIFF file of float32 images (page, y, x). Raises ParameterError as :func:`check_size`."""
    Image = pillow()
    check_size(images.shape)
    first, *others = (Image.fromarray(np.ascontiguousarray(image, dtype=np.float32)) for image in images)
    file = BytesIO()
    first.save(file, format="TIFF", save_all=True, append_images=others)
    return file.getvalue()


def grey_range(image: np.ndarray) -> tuple[float, float]:
    """The values of black and white: the percentiles 0.5 and 99.5 within 0.9 of the inscribed circle (y, x). Further
    out, truncated projections leave a rim many times as bright as the object. Of all pixels, where none is within."""
    y, x = (np.linspace(-1, 1, n) for n in image.shape)
    inner = np.hypot(y[:, np.newaxis], x) <= _WITHIN
    low, high = np.percentile(image[inner] if inner.any() else image, [0.5, 99.5])
    return float(low), float(high)


def png(image: np.ndarray, low: float, high: float) -> bytes:
    """A grey picture (y, x) as a PNG file, black at ``low`` and white at ``high``."""
    Image = pillow()
    grey = np.clip((image - low) / max(high - low, 1e-30), 0, 1)
    file = BytesIO()
    Image.fromarray(np.round(255 * grey).astype(np.uint8)).save(file, format="PNG")
    return file.getvalue()
