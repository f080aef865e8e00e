"""Points so near to atoms that their float32 coordinates hardly tell how near."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np

from gpuopt.workloads.gem.pairs import Scene

DOUBT = 0.01  # of an atom's part of the potential, above which rounded coordinates are warned of
_AXIS_BITS = 20  # of a cell's number along an axis: there are fewer than 2^18 (see _close)
_AT_ONCE = 1 << 20  # points whose cells are held at the same time


class PrecisionWarning(UserWarning):
    """float32 makes this result less accurate than others; the message says by how much, and what to do."""


def warn_of_contacts(scene: Scene, nearest: float | None, stacklevel: int) -> None:
    """Warn of points inside the molecule at which the rounding of float32 coordinates may change the potential of an
    atom near by more than DOUBT. ``stacklevel`` counts from the caller of this function.

    Kernels subtract coordinates as they are given, which is exact for near places. But a coordinate stands for all
    numbers that are rounded to it: half a unit in its last place either way, for point and atom together the distance
    e. At the distance d > e a potential 1/d is therefore known to e/(d - e). Potentials of the reaction change little
    over such distances.
    """
    if scene.xyz.dtype != np.float32 or scene.model.phi_type == "reaction":
        return
    rows = np.flatnonzero(scene.r < scene.model.size)
    if not len(rows):
        return
    worst, doubtful = (0.0, 0, 0, 0.0), 0
    charged = np.flatnonzero(scene.charge)
    for points, atoms in _close(scene.points[rows], scene.xyz[charged]):
        point, atom = rows[points], charged[atoms]
        p, x = scene.points[point], scene.xyz[atom]
        apart = np.maximum(np.linalg.norm(p.astype(np.float64) - x, axis=1), nearest or 0.0)
        share = np.linalg.norm(np.spacing(np.abs(p)) + np.spacing(np.abs(x)), axis=1) / 2 / apart
        known = share > DOUBT
        doubtful += len(np.unique(point[known]))
        if known.any() and share.max() > worst[0]:
            at = int(share.argmax())
            worst = float(share[at]), int(point[at]), int(atom[at]), float(apart[at])
    if doubtful:
        share, of_point, of_atom, distance = worst
        much = f"by {100 * share / (1 - share):.2g} %" if share < 0.5 else "without limit"
        lie = "1 point lies" if doubtful == 1 else f"{doubtful:,} points lie"
        warnings.warn(
            f"surface: {lie} so near to atoms that the rounding of float32 coordinates changes potentials by more than "
            f"{100 * DOUBT:g} %, {much} at point {of_point}, {distance:.2g} A from atom {of_atom}; give coordinates in "
            "float64, or nearest=, the distance in A at which closer atoms are computed",
            PrecisionWarning,
            stacklevel + 1,
        )


def _close(points: np.ndarray, xyz: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield indices of points and of atoms, pair by pair, among them all pairs so near that their coordinates' rounding
    matters. Cells are twice as wide as that is far, so that what is near an atom lies in eight of them."""
    if not len(xyz):
        return
    top = float(max(np.abs(points).max(), np.abs(xyz).max()))
    reach = 3**0.5 * float(np.spacing(np.float32(top))) / DOUBT  # top / reach < 2^24 DOUBT / 3^0.5 < 2^17
    corners = [xyz + (top + reach * np.array(side)) for side in itertools.product((-1.0, 1.0), repeat=3)]
    keys = np.concatenate([_cells(corner, reach) for corner in corners])
    order = np.argsort(keys)
    keys = keys[order]
    for start in range(0, len(points), _AT_ONCE):
        own = _cells(points[start : start + _AT_ONCE].astype(np.float64) + top, reach)
        first = np.searchsorted(keys, own)
        hit = np.flatnonzero(keys[np.minimum(first, len(keys) - 1)] == own)
        if not len(hit):
            continue
        count = np.searchsorted(keys, own[hit], "right") - first[hit]
        turn = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        yield start + np.repeat(hit, count), order[np.repeat(first[hit], count) + turn] % len(xyz)


def _cells(places: np.ndarray, reach: float) -> np.ndarray:
    """The numbers (n,) of the cells in which places (n, 3) lie."""
    along = np.floor(places / (2 * reach)).astype(np.int64) + 1
    key: np.ndarray = (along[:, 0] << 2 * _AXIS_BITS) + (along[:, 1] << _AXIS_BITS) + along[:, 2]
    return key
