"""Damaged files, the short form."""

from __future__ import annotations

import random

import pytest

import gpuopt
from hostile import files, mutations

pytest.importorskip("skimage")
pytest.importorskip("trimesh")
pytest.importorskip("click")


def test_damaged_files_are_read_or_refused(any_device: gpuopt.Device) -> None:
    found = files.attack(str(any_device.index), 8.0, seed=7)
    assert not found.total, found.told()
    assert found.counts["tried"] > 20
    assert found.counts["answered"] > 5 < found.counts["refused_typed"]


def test_damage_is_drawn_by_seed_and_changes_files() -> None:
    good, others = b'{"a": [1, 2.5, "x"], "b": {"c": null}}', [b"solid", bytes(range(256))]

    def drawn(seed: int) -> list[bytes]:
        draw = random.Random(seed)
        return [mutations.mutated(draw, good, others, is_json=seed % 2 == 0) for _ in range(200)]

    for seed in (1, 2):
        assert drawn(seed) == drawn(seed)
        assert len(set(drawn(seed))) > 120
    assert not set(drawn(1)) <= set(drawn(3))
