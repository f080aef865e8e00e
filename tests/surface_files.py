"""A tetrahedron in the formats of surfaces."""

from __future__ import annotations

from pathlib import Path

import numpy as np

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
NORMALS = np.array([[-1, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
VERT = "\n".join(f"{x:9.3f} {y:9.3f} {z:9.3f} {-1:9.3f} {0.5:9.3f} {0:9.3f}       0       1  0" for x, y, z in POINTS)
VERT_HEADER = (
    "# MSMS solvent excluded surface vertices for x\n#vertex #sphere density probe_r\n      4       1  3.00  1.50\n"
)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return path


def unit(normals: np.ndarray) -> np.ndarray:
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


PHI = np.array([-2.0, 0.0, 1.0, 4.0], dtype=np.float32)
