"""Pictures as grey values: what is refused before it is decoded, and how much memory the largest takes."""

from __future__ import annotations

import struct
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from gpuopt import ArrayError, problems
from hostile.corpus import bomb

pytest.importorskip("skimage")

from PIL import Image

from gpuopt.workloads.spmv import photographs


@pytest.mark.parametrize(("width", "height"), [(12_000, 12_000), (40_000_001, 1), (8_000, 5_001), (60_000, 60_000)])
def test_a_picture_is_refused_by_its_header(tmp_path: Path, width: int, height: int) -> None:
    """One row is all that the file holds: whoever decodes it finds it cut off."""
    path = tmp_path / "bomb.png"
    path.write_bytes(bomb(width, height, 0, whole=False))
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    with pytest.raises(ArrayError, match=r"image: .*(pixels|DecompressionBomb).*") as caught:
        problems.spmv_image_affinity(path)
    assert "bomb.png" in str(caught.value)


def test_a_warning_of_pillow_that_is_an_error_is_told_as_ours(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(bomb(12_000, 12_000, 0, whole=False))
    with pytest.raises(ArrayError, match="DecompressionBombWarning"):
        problems.spmv_image_affinity(path)


def test_tiles_larger_than_their_picture_are_refused(tmp_path: Path) -> None:
    """Of a tile of 60,000 x 60,000 pixels 10 x 10 would be shown; a decoder makes room for all of it."""
    entries = [(256, 10), (257, 10), (258, 8), (259, 1), (262, 1), (277, 1), (322, 60_000), (323, 60_000), (324, 200)]
    entries += [(325, 100)]
    folder = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    data = b"II*\0" + struct.pack("<IH", 8, len(entries)) + folder + bytes(4)
    (tmp_path / "tiles.tiff").write_bytes(data.ljust(400, b"\0"))
    with pytest.raises(ArrayError, match="its tiles are 60,000 x 60,000 pixels"):
        problems.spmv_image_affinity(tmp_path / "tiles.tiff")


_MEASURED = """
import pathlib, sys
from gpuopt import problems
made = problems.spmv_image_affinity(sys.argv[1], radius=1, max_bytes=3_000_000)
assert "shrunk from" in " ".join(made.notes), made.notes
words = pathlib.Path("/proc/self/status").read_text().split()  # ru_maxrss would be that of whoever started this
print(int(words[words.index("VmHWM:") + 1]) * 1024)
"""


@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [("tiff", "F", {"compression": "packbits"}), ("png", "RGB", {"compress_level": 1}), ("webp", "RGB", {"method": 0})],
)
def test_the_largest_picture_takes_less_than_a_gigabyte(
    tmp_path: Path, kind: str, mode: str, options: dict[str, object]
) -> None:
    most = photographs._MOST_OF_KIND.get(kind.upper(), photographs.MOST_PIXELS)
    path, side = tmp_path / f"large.{kind}", int(most**0.5)
    picture = Image.new(mode, (side, side), 0 if mode != "RGB" else (0, 9, 0))
    picture.paste(200 if mode != "RGB" else (200, 100, 50), (0, 0, side // 2, side))
    picture.save(path, **options)
    del picture
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, path], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1_000_000_000


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "F"])
def test_rows_read_in_parts_are_those_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    from skimage.color import rgb2gray

    values = np.random.default_rng(4).integers(0, 256, (37, 23), dtype=np.uint8)
    path = tmp_path / "picture.tiff"
    Image.fromarray(values).convert(mode).save(path)
    with Image.open(path) as picture:
        grey = mode in ("1", "L", "I;16", "F")
        wanted = np.asarray(picture, np.float64) if grey else rgb2gray(np.asarray(picture.convert("RGB")))
    monkeypatch.setattr(photographs, "_PIXELS_AT_ONCE", 100)
    name, found = photographs.read(path)
    assert (name, found.dtype) == ("picture", np.float64)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    """Some of Pillow's decoders run other programs; some know no size before they have decoded."""
    (tmp_path / "a.eps").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n")
    with pytest.raises(ArrayError, match="convert it to PNG"):
        problems.spmv_image_affinity(tmp_path / "a.eps")


@pytest.mark.parametrize("order", ["<", ">"])
def test_grey_tiffs_of_16_bits_of_either_byte_order(tmp_path: Path, order: str) -> None:
    grey = (np.arange(64, dtype=np.uint16) * 1000).reshape(8, 8)
    entries = [
        (256, 8),
        (257, 8),
        (258, 16),
        (259, 1),
        (262, 1),
        (273, 8 + 2 + 8 * 12 + 4),
        (278, 8),
        (279, grey.nbytes),
    ]
    folder = b"".join(struct.pack(f"{order}HHII", tag, 4, 1, value) for tag, value in entries)
    head = {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(f"{order}IH", 8, len(entries))
    (tmp_path / "grey.tiff").write_bytes(head + folder + bytes(4) + grey.astype(f"{order}u2").tobytes())
    np.testing.assert_array_equal(photographs.read(tmp_path / "grey.tiff")[1], grey)
