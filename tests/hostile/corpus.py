"""Good files of every format that is read, small, as bytes: what is damaged afterwards."""

from __future__ import annotations

import io
import json
import struct
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import gpuopt
from gpuopt.lab.device import aa_record
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.device.environment import device_label
from gpuopt.lab.rows.schema import new_row
from gpuopt.lab.rows.store import Store
from gpuopt.unit import unit_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stored_rows import SPEC

_ATOM = "ATOM  {0:5d}  CA  ALA A{0:4d}    {1:8.3f}{2:8.3f}{3:8.3f} {4:7.4f} {5:6.4f}\n"


def _molecule() -> bytes:
    random = np.random.default_rng(1)
    rows = np.column_stack([random.uniform(-9, 9, (12, 3)), random.uniform(-1, 1, 12), random.uniform(1, 2, 12)])
    lines = [_ATOM.format(k, *row) for k, row in enumerate(rows.tolist(), 1)]
    return ("REMARK made up\n" + "".join(lines) + "TER\nEND\n").encode()


_POINTS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]
_NORMALS = [(-1, -1, -1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]
_FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]


def _joined(rows: list[tuple[float, ...]], begin: str = "", end: str = "") -> str:
    return "".join(begin + " ".join(map(str, row)) + end + "\n" for row in rows)


def _ply(order: str) -> bytes:
    header = (
        f"ply\nformat {order} 1.0\ncomment x\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
        "property float nx\nproperty float ny\nproperty double nz\nproperty uchar red\nelement edge 1\n"
        "property list uchar short loop\nproperty int b\nelement face 6\nproperty list uchar int vertex_indices\n"
        "end_header\n"
    ).encode()
    if order == "ascii":
        rows = [(*point, *normal, 7) for point, normal in zip(_POINTS, _NORMALS, strict=True)]
        return header + (_joined(rows) + "2 1 2 9\n" + _joined(_FACES, "3 ")).encode()
    end = "<" if order.endswith("little_endian") else ">"
    body = [struct.pack(f"{end}5fdB", *point, *normal, 7) for point, normal in zip(_POINTS, _NORMALS, strict=True)]
    body += [struct.pack(f"{end}B2hi", 2, 1, 2, 9), *(struct.pack(f"{end}B3i", 3, *face) for face in _FACES)]
    return header + b"".join(body)


def _stl(binary: bool) -> bytes:
    triangles = [[_POINTS[corner] for corner in face] for face in _FACES]
    if binary:
        rows = [struct.pack("<12fH", 0, 0, 0, *(x for point in each for x in point), 0) for each in triangles]
        return b"made up".ljust(80) + struct.pack("<I", len(rows)) + b"".join(rows)
    facets = [
        " facet normal 0 0 0\n  outer loop\n" + _joined(list(each), "   vertex ") + "  endloop\n endfacet\n"
        for each in triangles
    ]
    return ("solid x\n" + "".join(facets) + "endsolid x\n").encode()


def molecules() -> dict[str, bytes]:
    return {"molecule.pqr": _molecule()}


def surfaces() -> dict[str, bytes]:
    vert = "".join(f"{x:9.3f} {y:9.3f} {z:9.3f}  1.0 0.5 0.0  0  1  0\n" for x, y, z in _POINTS)
    face = _joined([(a + 1, b + 1, c + 1, 1, 1) for a, b, c in _FACES])
    obj = _joined(_POINTS, "v ") + _joined(_NORMALS, "vn ")
    obj += "".join("f " + " ".join(f"{k + 1}//{k + 1}" for k in each) + "\n" for each in _FACES) + "f -1 -2 \\\n-3\n"
    rows = [(*point, *normal) for point, normal in zip(_POINTS, _NORMALS, strict=True)]
    return {
        "surface.vert": ("# x\n#vertex #sphere density probe_r\n  5  1  3.0  1.5\n" + vert).encode(),
        "surface.face": ("# x\n#faces\n  6  1  3.0  1.5\n" + face).encode(),
        "surface.obj": obj.encode(),
        "surface.off": ("NOFF\n5 6 0\n" + _joined(rows) + _joined(_FACES, "3 ")).encode(),
        "text.ply": _ply("ascii"),
        "little.ply": _ply("binary_little_endian"),
        "big.ply": _ply("binary_big_endian"),
        "text.stl": _stl(False),
        "binary.stl": _stl(True),
    }


def pictures() -> dict[str, bytes]:
    """Every kind that is read, in several modes; and headers that declare much more than the file holds."""
    from PIL import Image

    random = np.random.default_rng(2)
    grey = Image.fromarray(random.integers(0, 256, (24, 31), dtype=np.uint8))
    made: dict[str, bytes] = {}
    for name, kind, mode, options in (
        ("grey.png", "PNG", "L", {}),
        ("colour.png", "PNG", "RGB", {}),
        ("palette.png", "PNG", "P", {}),
        ("bits.png", "PNG", "1", {}),
        ("deep.png", "PNG", "I;16", {}),
        ("clear.png", "PNG", "RGBA", {}),
        ("a.jpg", "JPEG", "RGB", {}),
        ("progressive.jpg", "JPEG", "L", {"progressive": True}),
        ("ink.jpg", "JPEG", "CMYK", {}),
        ("a.gif", "GIF", "P", {}),
        ("a.bmp", "BMP", "RGB", {}),
        ("a.ppm", "PPM", "RGB", {}),
        ("a.pgm", "PPM", "L", {}),
        ("plain.tiff", "TIFF", "L", {}),
        ("float.tiff", "TIFF", "F", {}),
        ("packed.tiff", "TIFF", "RGB", {"compression": "tiff_deflate"}),
        ("a.webp", "WEBP", "RGB", {}),
    ):
        held = io.BytesIO()
        grey.convert(mode).save(held, kind, **options)
        made[name] = held.getvalue()
    return made | {"bomb-grey.png": bomb(12_000, 12_000, 0), "bomb-colour.png": bomb(6_300, 6_300, 2)}


def bomb(width: int, height: int, colour: int, whole: bool = True) -> bytes:
    """A PNG of zeros, grey (0) or in colour (2): in the file a thousandth of what it takes when it is decoded. Without
    ``whole`` there is its first row alone."""
    row = bytes(1 + width * {0: 1, 2: 3}[colour])
    packer = zlib.compressobj(1)
    data = b"".join([*(packer.compress(row) for _ in range(height if whole else 1)), packer.flush()])

    def chunk(name: bytes, held: bytes) -> bytes:
        return struct.pack(">I", len(held)) + name + held + struct.pack(">I", zlib.crc32(name + held))

    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def rows(stored: Path) -> dict[str, bytes]:
    """Raw rows, and those of a file that is stored in the tree, raw and compact."""
    fields = {**SPEC, "sizes": {"rows": 4096}, "params": {"ITEMS": 64}, "protocol": "quick"}
    fields |= {"configuration": "basic", "role": "variant"}
    raw = []
    for block in range(6):
        time_ms = 1 + 0.01 * block
        given = {**fields, "block": block, "median_ms": time_ms, "samples_ms": [time_ms] * 5, "ratio": 1.0}
        raw.append(new_row(kind="block", status="ok", **given))
    lines = stored.read_bytes().splitlines(keepends=True)
    told = [row for row in Store(stored).rows() if row["kind"] != "block"] + Store(stored).rows()[:9]
    return {
        "raw.jsonl": b"".join(map(_line, raw)),
        "told.jsonl": b"".join(map(_line, told)),
        "compact.jsonl": b"".join(lines[:40]),
        "whole.jsonl": b"".join(lines),
    }


def _line(row: Mapping[str, object]) -> bytes:
    there = {name: value for name, value in row.items() if value is not None}
    return json.dumps(there).encode() + b"\n"


def profile(device: gpuopt.Device, stored: Path) -> bytes:
    """A profile that passes for one of this device."""
    from dataclasses import replace

    held = profiles.Profile.from_json(stored.read_text())
    mine = {"device": device_label(device), "driver": device.driver, "unit": unit_of(device)}
    return _saved(replace(held, rows=held.rows[:12], sittings=(), **mine), profiles.save, stored)


def comparisons(device: gpuopt.Device, stored: Path) -> bytes:
    """A record of identical kernels compared."""
    shown = (
        aa_record.Shown("event", "long", 1.5, 40, 1, 37, 2, 0.013),
        aa_record.Shown("batch", "short", 0.1, 9, 0, 9, 0, None),
    )
    made = aa_record.AA(
        device_label(device),
        device.driver,
        device.platform,
        "2026-11-22T10:00:00.000Z",
        gpuopt.__version__,
        60.0,
        shown,
    )
    return _saved(made, aa_record.save, stored)


def scans() -> dict[str, bytes]:
    """Six views of 3 rows and 12 columns, as pages and, with h5py, as Data Exchange."""
    from PIL import Image

    data = np.random.default_rng(4).integers(100, 60000, (6, 3, 12)).astype(np.uint16)
    found = {}
    for name, compression in (("plain.tif", None), ("lzw.tif", "tiff_lzw"), ("deflate.tif", "tiff_adobe_deflate")):
        file = io.BytesIO()
        first, *others = map(Image.fromarray, data)
        first.save(file, format="TIFF", save_all=True, append_images=others, compression=compression)
        found[name] = file.getvalue()
    try:
        import h5py
    except ImportError:
        return found
    for name, options in (("plain.h5", {}), ("gzip.h5", {"chunks": (1, 3, 12), "compression": "gzip"})):
        file = io.BytesIO()
        with h5py.File(file, "w") as exchange:
            exchange.create_dataset("exchange/data", data=data, **options)
            exchange["exchange/data_white"] = np.full((2, 3, 12), 60000, np.uint16)
            exchange["exchange/theta"] = np.arange(6.0)
        found[name] = file.getvalue()
    return found


def _saved(made: object, save: object, stored: Path) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        save(made, Path(folder) / "made.json")  # type: ignore[operator]
        return (Path(folder) / "made.json").read_bytes()
