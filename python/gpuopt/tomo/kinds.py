"""Types of what callers give, by the names that signatures have for them.

They are for type checkers. At run time each allows anything but masked arrays: the functions look at what is given
themselves, and their messages say the axis, the shape and the fix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gpuopt._core import DeviceArray

Given = TypeVar("Given", bound=np.ndarray | DeviceArray)
"""An array of the caller's, where the kind that is given is the kind that is returned."""

if TYPE_CHECKING:
    from gpuopt.tomo.scan_source import Source

    AnyArray: TypeAlias = np.ndarray | DeviceArray
    Angles: TypeAlias = ArrayLike  # (views,), or how many
    Numbers: TypeAlias = ArrayLike
    Shape: TypeAlias = Sequence[int] | np.ndarray
    Counts: TypeAlias = int | Sequence[int] | np.ndarray  # one for each axis, or one for all
    Lengths: TypeAlias = float | Sequence[float] | np.ndarray  # one for each axis, or one for all
    Indices: TypeAlias = slice | ArrayLike  # whole numbers, a slice, or a mask
    Level: TypeAlias = float | Source  # what is counted without an object: a number, or a file
    Subsets: TypeAlias = int | Sequence[Sequence[int] | np.ndarray] | np.ndarray
else:
    AnyArray = Angles = Numbers = Shape = Counts = Lengths = Indices = Level = Subsets = Any
