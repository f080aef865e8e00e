"""What annotations allow where they are named by the ``type`` statement, as NumPy's NDArray is since 2.5."""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

import gpuopt
from gpuopt import annotations, io, lab

Scalar = TypeVar("Scalar", bound=np.generic)


class Alias:
    """As typing.TypeAliasType of Python 3.12."""

    def __init__(self, value: Any) -> None:
        self.__value__ = value


OF_SCALARS = types.GenericAlias(Alias(np.ndarray[Any, np.dtype[Scalar]]), (np.float64,))  # type: ignore[arg-type]


@pytest.mark.parametrize("hint", [NDArray[np.float64], OF_SCALARS, Alias(Alias(OF_SCALARS))])
def test_arrays_behind_an_alias_are_arrays(hint: Any) -> None:
    test = annotations.test_of(hint)
    assert (test(np.ones(3)), test({}), test(None)) == (True, False, False)
    assert annotations.is_of_arrays(hint)
    assert annotations.words(hint) == annotations.words(NDArray[np.float64])


def test_unions_behind_an_alias_are_unions() -> None:
    hint = Alias(int | None)
    assert annotations.alternatives(hint) == (int, type(None))
    assert annotations.words(hint) == "a whole number or None"
    assert [annotations.test_of(hint)(value) for value in (3, None, "3")] == [True, True, False]


def test_lists_of_anything_are_lists() -> None:
    assert annotations.words(list[Any]) == "a list"


def test_times_are_no_numbers() -> None:
    for value in (np.timedelta64(3, "D"), np.timedelta64(3, "s"), np.timedelta64(3, "ns")):
        assert not any(annotations.test_of(hint)(value) for hint in (int, float, int | None, float | tuple[float, ...]))
        assert not annotations.is_seed(value)
        with pytest.raises(gpuopt.ParameterError, match=r"^sod: it is"):
            gpuopt.tomo.circular(4, sod=value, sdd=9, det=(2, 2), pixel=1)  # type: ignore[arg-type]
        for angles, detector in ((value, 4), (4, value)):
            with pytest.raises(gpuopt.Error, match=r"^(angles|det): "):
                gpuopt.tomo.parallel2d(angles, detector)  # type: ignore[arg-type]


def test_whole_numbers_beyond_64_bits_are_told_what_ends_them() -> None:
    A = np.ones((2, 2), np.float64)
    assert gpuopt.gemm(A, A, alpha=2**64)[0, 0] == 2.0**65
    with pytest.raises(gpuopt.ParameterError, match=r"^alpha: it is more than a float64 holds; give a smaller"):
        gpuopt.gemm(A, A, alpha=10**400)
    with pytest.raises(gpuopt.ParameterError, match=r"^count: it is a whole number of 1329 bits; give one below 2\^63"):
        gpuopt.molecule.fibonacci_sphere(10**400)


TAKES_PATHS: dict[str, Callable[[Any], Any]] = {
    "path": lambda path: gpuopt.tomo.read_scan(path, 3),
    "flat": lambda path: gpuopt.tomo.read_scan("scan.tif", 3, flat=path),
    "vert": io.read_msms,
    "source": lab.Kernel,
    "paths": lab.audit,
    "store": lab.Store,
    "table": lambda path: lab.Study([]).to_csv(path),
    "directory": lambda path: lab.Study([]).save_plots(path),
}


@pytest.mark.parametrize("argument", TAKES_PATHS)
def test_paths_of_bytes_are_no_paths(tmp_path: Path, argument: str) -> None:
    (tmp_path / "a").touch()
    with os.scandir(os.fsencode(tmp_path)) as entries:
        (entry,) = entries
    named = {"store": "path", "table": "path"}.get(argument, argument)
    with pytest.raises(gpuopt.ParameterError, match=rf"^{named}: it is a DirEntry of bytes; give a ") as caught:
        TAKES_PATHS[argument](entry)
    assert isinstance(caught.value, TypeError)
    assert (tmp_path / "a").read_bytes() == b""
