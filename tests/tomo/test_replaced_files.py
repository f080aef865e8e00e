"""Files that are replaced while a scan of them is open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import exchange
import gpuopt.tomo as gt
from gpuopt.io import FormatError

pytest.importorskip("h5py")


@pytest.mark.parametrize("level", ["white", "dark"])
@pytest.mark.parametrize(
    "shape",
    [(8, 4, 32), (8, 4, 1), (8, 1, 64), (4, 1), (2, 8, 4, 64), (64,)],
    ids=lambda shape: "x".join(map(str, shape)),
)
def test_fields_of_other_pixels(tmp_path: Path, level: str, shape: tuple[int, ...]) -> None:
    made = exchange.counts()
    scan = gt.read_scan(exchange.write_exchange(tmp_path / "a.h5", made))
    exchange.write_exchange(tmp_path / "a.h5", replace(made, **{level: np.full(shape, 900, np.uint16)}))
    with pytest.raises(FormatError, match="it was changed while it was read; read it again"):
        scan.projections(slice(0, 1))


def test_fields_of_other_counts_are_taken(tmp_path: Path) -> None:
    made = exchange.counts(dead=False)
    scan = gt.read_scan(exchange.write_exchange(tmp_path / "a.h5", made))
    exchange.write_exchange(tmp_path / "a.h5", replace(made, white=made.white.mean(axis=0), dark=made.dark[:2]))
    assert np.isfinite(scan.projections()).all()
