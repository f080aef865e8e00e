"""scikit-image's own tests of ``radon`` and ``iradon``, on gpuopt.tomo's parallel beams and fbp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from foreign.suites import calls, cases, installed

MODULE = installed("skimage.transform.tests.test_radon_transform")

RUN = (
    *("test_radon_center", "test_radon_center_rectangular", "test_radon_iradon", "test_radon_iradon_circle"),
    *("test_iradon_angles", "test_iradon_bias_circular_phantom", "test_radon_iradon_minimal"),
    *("test_sinogram_circle_to_square", "test_iradon_rampfilter_bias_circular_phantom"),
    "test_reconstruct_with_wrong_angles",
)

NOT_RUN = {
    "zeros are held to 1e-8, which float32 does not keep": ("test_iradon_center",),
    "a warning about the image's corners": ("test_radon_circle",),
    "an order of views is sart's own affair": ("test_order_angles_golden_ratio",),
    "shifts of single views are no argument of sart": ("test_iradon_sart",),
    "dtypes of scikit-image's arguments": ("test_radon_dtype", "test_iradon_dtype", "test_iradon_sart_dtype"),
    "the text of a refusal": ("test_iradon_sart_wrong_dtype",),
}
WINDOWS = {"ramp": "ram-lak"}
DTYPES = (np.float32, np.float64)


class NotOffered(Exception):
    """The suite asks for what gpuopt.tomo does not have."""


def scan(size: int, columns: int, theta: Any, device: gpuopt.Device, shape: Any = None) -> gt.Projector:
    """scikit-image's scan: the axis goes through the middle pixel of image and detector, and rows count downwards."""

    def middle(count: int) -> float:
        return (count - 1) / 2 - count // 2

    shape = (size, size) if shape is None else shape
    volume = gt.Volume(shape, 1.0, tuple(middle(length) for length in shape))
    geometry = gt.parallel2d(-np.deg2rad(np.asarray(theta, float)), columns, 1.0, offset=middle(columns))
    return gt.Projector(geometry, volume, device=device)


def functions(device: gpuopt.Device) -> tuple[Any, Any]:
    """``radon`` and ``iradon``."""

    def radon(image: Any, theta: Any = None, circle: bool = True, *, preserve_range: bool = False) -> np.ndarray:
        theta = np.arange(180) if theta is None else theta
        columns = min(image.shape) if circle else math.ceil(math.sqrt(2) * max(image.shape))
        A = scan(0, columns, theta, device, image.shape)
        made = A(np.ascontiguousarray(image, dtype=np.float32)).T
        return made.astype(image.dtype if image.dtype in DTYPES else np.float64)

    def iradon(
        sinogram: Any,
        theta: Any = None,
        output_size: int | None = None,
        filter_name: str = "ramp",
        interpolation: str = "linear",
        circle: bool = True,
    ) -> np.ndarray:
        if interpolation != "linear":
            raise NotOffered(interpolation)
        columns, views = sinogram.shape
        theta = np.linspace(0, 180, views, endpoint=False) if theta is None else theta
        size = output_size or (columns if circle else int(math.sqrt(columns**2 / 2)))
        A = scan(size, columns, theta, device)
        views_first = np.ascontiguousarray(sinogram.T, dtype=np.float32)
        how = {"window": WINDOWS.get(filter_name, filter_name)}
        try:
            made = gt.fbp(A, views_first, **how)
        except gpuopt.ParameterError:  # one view, or three within two degrees
            made = gt.fbp(A, views_first, **how, limited_angle=True)
        made = made.astype(np.float64)
        if circle:
            place = np.arange(size) - size // 2
            made[np.add.outer(place**2, place**2) > (size // 2) ** 2] = 0
        return made

    return radon, iradon


def applies(arguments: dict[str, Any]) -> bool:
    """Whether a case is of floats and linear interpolation; test_radon_iradon and others have more."""
    asked = [arguments.get("interpolation", "linear"), arguments.get("interpolation_type", "linear")]
    return asked == ["linear", "linear"] and arguments.get("dtype", np.float64) in DTYPES


FOUND = [name for name in vars(MODULE) if name.startswith("test_") and name != "test_parallel"] if MODULE else []


# Views of the suite cut its picture off, and three of them are taken for all.
@pytest.mark.filterwarnings("ignore::gpuopt.tomo.TruncationWarning", "ignore::gpuopt.tomo.LimitedAngleWarning")
@pytest.mark.parametrize("name", cases(RUN, FOUND, NOT_RUN, "scikit-image"))
def test_scikit_images_case(any_device: gpuopt.Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in functions(any_device):
        monkeypatch.setattr(MODULE, function.__name__, function)
    case = getattr(MODULE, name)
    for arguments in filter(applies, calls(case)):
        case(**arguments)
