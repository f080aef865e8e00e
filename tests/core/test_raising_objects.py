"""Objects of a caller's own that raise where they are looked at: each is refused by the name of its argument."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import lab
from gpuopt.annotations import test_of as allowed
from hostile.raising import OwnError, raising

SCAN = gt.parallel3d(8, (4, 9))
CALLS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda given: gt.Volume(given, 1.0),
    "voxel": lambda given: gt.Volume((4, 6, 6), given),
    "angles": lambda given: gt.parallel2d(given, 9),
    "view": lambda given: SCAN.project(np.zeros(3), given),
    "points": lambda given: SCAN.project(given, 0),
    "path": lambda given: gt.read_scan(given),
    "projections": lambda given: gt.filter_rows(given),
    "a": lambda given: gpuopt.to_device(given),
    "dtype": lambda given: gpuopt.pinned_empty(3, given),
    "rows": lambda given: lab.Study(given),
    "store": lambda given: lab.Store(given),
    "variant": lambda given: gpuopt.Configuration(given),
    "level": lambda given: gpuopt.Configuration("naive", WG=given),
    "trace": lambda given: gpuopt.trace().save(given),
    "workload": lambda given: gpuopt.variants(given),
    "other": lambda given: gpuopt.to_device(np.zeros(3, np.float32)) * given,
}
OBJECTS = [
    *(("object", name) for name in ("__class__", "__array__", "__array_interface__", "__float__", "__iter__", "shape")),
    *(("list", name) for name in ("__iter__", "__len__", "__getitem__")),
    *(("path", name) for name in ("__fspath__", "__str__", "__getattr__")),
    ("array", "dtype"),
    ("array", "shape"),
    ("tuple", "__class__"),
    ("whole", "__float__"),
    ("whole", "__index__"),
    ("text", "__eq__"),
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the objects is a text, "float32", that names a file."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("kind", "method"), OBJECTS)
def test_its_error_is_one_of_ours(name: str, kind: str, method: str, any_device: gpuopt.Device) -> None:
    with gpuopt.use(any_device):
        try:
            CALLS[name](raising(kind, method))
        except gpuopt.Error:
            pass
        except TypeError:  # Python's own, of an operator that neither side has
            assert name == "other"
        except FileNotFoundError:
            assert name == "path"


def test_the_message_names_the_argument_and_the_method() -> None:
    with pytest.raises(gpuopt.ParameterError, match="voxel: its own __float__ raised OwnError; give") as caught:
        gt.Volume((4, 6, 6), raising("whole", "__float__"))
    assert isinstance(caught.value.__cause__, OwnError)
    with pytest.raises(gpuopt.ParameterError, match="voxel: its own __float__ raised"):
        gt.Volume((4, 6, 6), (1.0, 1.0, raising("whole", "__float__")))


def test_a_sequence_needs_no_slices() -> None:
    class Sizes(Sequence[int]):
        def __len__(self) -> int:
            return 2

        def __getitem__(self, at: Any) -> Any:
            return (6, 6)[operator.index(at)]

    assert allowed(Sequence[int])(Sizes())
    assert not allowed(Sequence[str])(Sizes())


def test_what_a_function_of_the_caller_raises_stays_its_own() -> None:
    def callback(*_: object) -> None:
        raise OwnError("of a callback")

    A = gt.Projector(gt.parallel2d(8, 9), gt.Volume((6, 6), 1.0))
    with pytest.raises(OwnError, match="of a callback"):
        gt.sirt(A, np.ones((8, 9), np.float32), 2, callback=callback)
