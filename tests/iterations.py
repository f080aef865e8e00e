"""A small system of equations, and what tests of iterations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gpuopt.tomo as gt
from gpuopt.tomo.numpy_projector import NumpyBackend


class Frugal(NumpyBackend):
    """Keeps no weights of blocks."""

    cache_bytes = 0


class MatrixOperator(gt.Operator):
    """A matrix whose rows are the views: all that the iterations ask for."""

    backend = NumpyBackend()
    exact = True

    def __init__(self, matrix: np.ndarray) -> None:
        """``matrix`` (views, image) or (views, pixels, image)."""
        self.matrix = matrix
        self.image_shape, self.data_shape = matrix.shape[-1:], matrix.shape[:-1]
        self.calls = 0
        self.stop_at = -1

    def forward(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        found = self.matrix @ x
        if out is None:
            return found
        out[...] = found
        return out

    def back(self, p: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        found = np.tensordot(p, self.matrix, p.ndim)
        if out is None:
            return found
        out[...] = found
        return out

    def subset(self, views: np.ndarray) -> MatrixOperator:
        parent = self

        class Part(MatrixOperator):
            def forward(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
                parent.calls += 1
                if parent.calls == parent.stop_at:
                    raise KeyboardInterrupt
                return super().forward(x, out)

        return Part(self.matrix[views])


TABLE = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
B = np.array([1.0, 3.0, 2.0])


def trail(algorithm: Callable[..., gt.Reconstruction], *arguments: Any, **options: Any) -> list[list[float]]:
    """The images after each iteration."""
    images: list[list[float]] = []
    result = algorithm(*arguments, **options, callback=lambda state: images.append(state.image.tolist()))
    assert result.image.tolist() == images[-1]
    return images
