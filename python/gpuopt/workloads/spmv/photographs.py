"""Photographs as grey images: names of scikit-image's own and picture files, whose size is looked at before they are
decoded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.signals import deferring, is_file, let_through

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 40_000_000  # less than 1 GB at the worst moment
_MOST_OF_KIND = {"WEBP": 25_000_000}  # its decoder holds some canvases of its own
# Pillow reads forty more kinds, some by other programs, and some that do not declare their size in a header.
KINDS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "PPM", "WEBP")
_GREY_MODES = ("1", "L", "I", "I;16", "I;16L", "I;16B", "F")
_PIXELS_AT_ONCE = 1 << 20
_TIFF_TILES = (322, 323)  # tags of their width and length


def read(image: str | Path) -> tuple[str, np.ndarray]:
    """The name and the grey values (height, width), float64, of a picture: one of scikit-image's own by name, or a file
    of one of ``KINDS``.

    Raises ParameterError where there is none, ArrayError for one that cannot be read and, before it is decoded, for one
    of more than ``MOST_PIXELS``.
    """
    from PIL import Image

    path = path_of(image)
    try:
        with deferring(), Image.open(path, formats=KINDS) as picture:
            _check_size(path, picture)
            return path.stem, _grey(picture)
    except ArrayError:
        raise
    except Exception as error:  # what a broken file raises in a decoder is anybody's guess
        let_through(error)
        raise ArrayError(
            f"image: {path} cannot be read as a picture ({type(error).__name__}: {str(error)[:200]}); convert it to PNG"
        ) from error


def path_of(image: str | Path) -> Path:
    """The file of a picture: one of scikit-image's own by name, or another. Raises ParameterError for none."""
    own = _own()
    path = own.get(str(image), Path(image))
    if not is_file(path):
        raise ParameterError(f"image: {str(image)!r} is not a file; give one, or one of {', '.join(own)}")
    return path


def is_own(image: object) -> bool:
    """Whether it is the name of one of scikit-image's own."""
    return isinstance(image, (str, Path)) and str(image) in _own()


def _own() -> dict[str, Path]:
    """Names and files; read as files, since functions of skimage.data may download a picture that is missing."""
    import skimage.data

    folder = Path(skimage.data.__file__).parent
    return {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in (".png", ".jpg")}


def _check_size(path: Path, picture: Image) -> None:
    """By the header: a picture that compresses well takes a thousand times its file when it is decoded."""
    tags = getattr(picture, "tag_v2", {})
    tile = [int(tags.get(tag, 1)) for tag in _TIFF_TILES]  # decoded whole, also where they reach beyond the picture
    most = _MOST_OF_KIND.get(str(picture.format), MOST_PIXELS)
    for what, (width, height) in (("it is", picture.size), ("its tiles are", tile)):
        if width * height > most:
            raise ArrayError(
                f"image: {what} {width:,} x {height:,} pixels ({path}), {most:,} at most are read; scale it down"
            )


def _grey(picture: Image) -> np.ndarray:
    """Grey values in float64, made a few rows at a time: of the whole, only they and Pillow's own copy are held."""
    from skimage.color import rgb2gray

    width, height = picture.size
    grey = np.empty((height, width))
    rows = max(1, _PIXELS_AT_ONCE // max(1, width))
    for top in range(0, height, rows):
        part = picture.crop((0, top, width, min(top + rows, height)))
        values = np.asarray(part) if part.mode in _GREY_MODES else rgb2gray(np.asarray(part.convert("RGB")))
        grey[top : top + rows] = values
    return grey


def digest(image: np.ndarray, smoothing: float) -> str:
    """A short hash of a grey image and of how it is smoothed."""
    return hashlib.sha256(repr((image.shape, image.dtype.str, smoothing)).encode() + image.tobytes()).hexdigest()[:16]


def halved(image: np.ndarray) -> np.ndarray:
    """Return the means of 2 x 2 pixels. The last row or column of an odd number is left out; an axis of one pixel
    stays."""
    for axis in (0, 1):
        pairs = image.shape[axis] // 2 * 2
        if pairs:
            first, second = (slice(k, pairs, 2) if axis == 0 else (slice(None), slice(k, pairs, 2)) for k in (0, 1))
            image = image[first] + image[second]
            image /= 2  # in place: a photograph of the largest size takes gigabytes else
    return image
