"""What ASTRA's samples for slices do, step by step on gpuopt.tomo, through an adapter that has the names they use.

The samples are scripts with pictures at their end, licensed otherwise than gpuopt: what each of them asks for is told
here in a few lines, on a smaller head, and the image is held against the head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt

N, COLUMNS, VIEWS = 64, 96, 48
HALF_TURN = np.linspace(0, np.pi, VIEWS, endpoint=False)
METHODS = {"SIRT": gt.sirt, "SART": gt.sart, "CGLS": gt.cgls}

NOT_RUN = {
    "the matrix of a projector, which is never stored": ("s009_projection_matrix",),
    "which GPU computes is an argument of a projector": ("s008_gpu_selection",),
    "facts of identifiers, which gpuopt does not have": ("s011_object_info",),
    "plug-ins and memory of ASTRA's own": ("s018_plugin", "s021_pygpu"),
    "filters as data: gt.filter_rows takes taps": ("s023_FBP_filters",),
    "volumes (test_conventions and test_geometry have ASTRA's scans in space)": (
        *("s005_3d_geometry", "s006_3d_data", "s007_3d_reconstruction", "s007_3d_reconstruction_mpi"),
        *("s018_experimental_multires", "s019_experimental_multires", "s020_3d_multiGPU"),
    ),
    "gradients of another library": ("s022_differentiableFP",),
    "pictures of a scan": ("s024_plot_geometry",),
}


# ---------------------------------------------------------------- the adapter


@dataclass
class Data:
    """What an identifier of ASTRA's stands for."""

    geometry: Any
    array: np.ndarray


def adapter(device: gpuopt.Device) -> SimpleNamespace:
    def scan(geometry: Any) -> gt.Geometry:
        return gt.from_astra(geometry) if isinstance(geometry, dict) else geometry

    def create(kind: str, geometry: Any, value: Any = 0.0) -> Data:
        shape = geometry.shape if kind == "-vol" else scan(geometry).shape
        return Data(geometry, np.array(np.broadcast_to(value, shape), np.float32))

    def create_sino(image: np.ndarray, A: gt.Projector) -> tuple[Data, np.ndarray]:
        found = Data(A.geometry, A(np.asarray(image, np.float32)))
        return found, found.array

    def run(given: dict[str, Any], iterations: int = 1) -> None:
        kind, how, data = given["type"].removesuffix("_CUDA"), given.get("option", {}), given["ProjectionDataId"]
        image = given["VolumeDataId" if kind == "FP" else "ReconstructionDataId"]
        A: Any = gt.Projector(scan(data.geometry), image.geometry, device=device)
        A = gt.Supersampled(A, how["DetectorSuperSampling"]) if "DetectorSuperSampling" in how else A
        if kind == "FP":
            data.array[...] = A(image.array)
        elif kind == "FBP":
            image.array[...] = gt.fbp(A, data.array, window=how.get("FilterType", "ram-lak").lower())
        else:
            mask = how["ReconstructionMaskId"].array if "ReconstructionMaskId" in how else None
            bounds = {} if kind == "CGLS" else {"bounds": (how.get("MinConstraint"), how.get("MaxConstraint"))}
            image.array[...] = METHODS[kind](A, data.array, iterations, x0=image.array, mask=mask, **bounds).image
            given["norm"] = float(np.linalg.norm(A(image.array) - data.array))

    names = {"create_sino": create_sino, "astra_dict": lambda name: {"type": name}, "create_vol_geom": volume}
    names["create_projector"] = lambda kind, geometry, grid: gt.Projector(scan(geometry), grid, device=device)
    names["OpTomo"] = lambda A: A.linear_operator()
    data2d = SimpleNamespace(create=create, get=lambda data: data.array.copy(), change_geometry=moved)
    algorithm = SimpleNamespace(create=lambda given: given, run=run, get_res_norm=lambda given: given["norm"])
    return SimpleNamespace(**names, data2d=data2d, algorithm=algorithm)


def volume(rows: int, columns: int) -> gt.Volume:
    return gt.Volume((rows, columns))


def moved(data: Data, geometry: Any) -> None:
    data.geometry = geometry


# ---------------------------------------------------------------- the samples


def parallel(angles: np.ndarray = HALF_TURN, width: float = 1.0, columns: int = COLUMNS) -> dict[str, Any]:
    return {"type": "parallel", "DetectorWidth": width, "DetectorCount": columns, "ProjectionAngles": angles}


HEAD = gt.shepp_logan(2, field=float(N)).sample(gt.Volume((N, N)), 3)


def wrong(image: np.ndarray) -> float:
    """The part of the head that an image is off by."""
    return float(np.linalg.norm(image - HEAD) / np.linalg.norm(HEAD))


def reconstructed(astra: Any, kind: str, iterations: int = 1, geometry: Any = None, **option: Any) -> np.ndarray:
    grid, geometry = astra.create_vol_geom(N, N), geometry or parallel()
    sinogram, _ = astra.create_sino(HEAD, astra.create_projector("linear", geometry, grid))
    given = {**astra.astra_dict(kind), "ProjectionDataId": sinogram, "option": option}
    given["ReconstructionDataId"] = astra.data2d.create("-vol", grid)
    astra.algorithm.run(astra.algorithm.create(given), iterations)
    return np.asarray(astra.data2d.get(given["ReconstructionDataId"]))


def sinogram_par2d(astra: Any) -> None:
    """Lines through the head: all of its mass in each view."""
    A = astra.create_projector("linear", parallel(), astra.create_vol_geom(N, N))
    _, sinogram = astra.create_sino(HEAD, A)
    assert sinogram.shape == (VIEWS, COLUMNS)
    np.testing.assert_allclose(sinogram.sum(axis=1), HEAD.sum(), rtol=5e-3)


def data2d(astra: Any) -> None:
    """Images and sinograms that are zero, one number, or an array."""
    grid = astra.create_vol_geom(N, N)
    zero, three, held = (astra.data2d.create("-vol", grid, *value) for value in ((), (3.0,), (HEAD,)))
    assert (astra.data2d.get(zero) == 0).all()
    assert (astra.data2d.get(three) == 3).all()
    np.testing.assert_array_equal(astra.data2d.get(held), HEAD.astype(np.float32))
    assert astra.data2d.create("-sino", parallel()).array.shape == (VIEWS, COLUMNS)


def gpu_reconstruction(astra: Any) -> None:
    assert wrong(reconstructed(astra, "SIRT_CUDA", 150)) < 0.22


def cpu_reconstruction(astra: Any) -> None:
    """SIRT, and the algorithms that the sample names besides."""
    assert wrong(reconstructed(astra, "SIRT", 20)) < 0.42
    assert wrong(reconstructed(astra, "CGLS", 20)) < 0.22
    assert wrong(reconstructed(astra, "SART", 5)) < 0.25
    assert wrong(reconstructed(astra, "FBP")) < 0.35


def supersampling(astra: Any) -> None:
    """Wide pixels take the mean of three rays, in the projection and in the reconstruction."""
    grid, geometry = astra.create_vol_geom(N, N), parallel(width=3.0, columns=32)
    head, sinogram = astra.data2d.create("-vol", grid, HEAD), astra.data2d.create("-sino", geometry)
    option = {"DetectorSuperSampling": 3}
    given = {**astra.astra_dict("FP_CUDA"), "VolumeDataId": head, "ProjectionDataId": sinogram, "option": option}
    astra.algorithm.run(given)
    fine = gt.NumpyProjector(gt.from_astra(parallel(width=1.0, columns=96)), grid)(HEAD)
    means = fine.reshape(VIEWS, 32, 3).mean(axis=2)
    np.testing.assert_allclose(sinogram.array, means, atol=1e-4 * means.max())
    given = {**astra.astra_dict("SIRT_CUDA"), "ProjectionDataId": sinogram, "option": option}
    given["ReconstructionDataId"] = image = astra.data2d.create("-vol", grid)
    astra.algorithm.run(given, 150)
    assert wrong(image.array) < 0.55


def masks(astra: Any) -> None:
    y, x = np.mgrid[:N, :N] - (N - 1) / 2
    circle = np.hypot(x, y) < (N - 1) / 2
    mask = astra.data2d.create("-vol", astra.create_vol_geom(N, N), circle)
    image = reconstructed(astra, "SIRT_CUDA", 150, ReconstructionMaskId=mask)
    assert (image[~circle] == 0).all()
    assert wrong(image) < 0.22


def constraints(astra: Any) -> None:
    few = parallel(np.linspace(0, np.pi, 20, endpoint=False))
    free = reconstructed(astra, "SIRT_CUDA", 150, few)
    image = reconstructed(astra, "SIRT_CUDA", 150, few, MinConstraint=0, MaxConstraint=1)
    assert (image.min(), image.max()) == (0, 1)
    assert wrong(image) < 0.8 * wrong(free)


def filtered(astra: Any) -> None:
    assert wrong(reconstructed(astra, "FBP_CUDA", FilterType="Ram-Lak")) < 0.35


def solvers(astra: Any) -> None:
    """SciPy's lsqr on the projector, with its transpose."""
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = astra.create_projector("linear", parallel(), astra.create_vol_geom(N, N))
    W = astra.OpTomo(A)
    sinogram = (W @ HEAD.ravel().astype(np.float32)).reshape(VIEWS, COLUMNS)
    np.testing.assert_allclose(sinogram, astra.create_sino(HEAD, A)[1], atol=1e-4 * sinogram.max())
    found = linalg.lsqr(W, sinogram.ravel(), atol=1e-4, btol=1e-4, iter_lim=25)[0]
    assert wrong(found.reshape(N, N)) < 0.22


def plots(astra: Any) -> None:
    """One iteration at a time: the norm that is left falls, and the error too."""
    grid = astra.create_vol_geom(N, N)
    sinogram, _ = astra.create_sino(HEAD, astra.create_projector("linear", parallel(), grid))
    image = astra.data2d.create("-vol", grid)
    given = {**astra.astra_dict("SIRT_CUDA"), "ProjectionDataId": sinogram, "ReconstructionDataId": image}
    left, errors = [], []
    for _ in range(12):
        astra.algorithm.run(given, 1)
        left.append(astra.algorithm.get_res_norm(given))
        errors.append(wrong(astra.data2d.get(image)))
    assert (np.diff(left) < 0).all()
    assert (np.diff(errors) < 0).all()


def fbp_cor(astra: Any) -> None:
    """Another axis of rotation: wrong with the plain scan, right with the one that is shifted."""
    grid, plain = astra.create_vol_geom(N, N), parallel(columns=N)
    shifted = gt.from_astra(plain).shifted(0, 3.6 * N / 256)
    sinogram, _ = astra.create_sino(HEAD, astra.create_projector("linear", shifted, grid))
    errors = []
    for geometry in (plain, shifted):
        astra.data2d.change_geometry(sinogram, geometry)
        given = {**astra.astra_dict("FBP_CUDA"), "ProjectionDataId": sinogram}
        given["ReconstructionDataId"] = image = astra.data2d.create("-vol", grid)
        astra.algorithm.run(given)
        errors.append(wrong(image.array))
    assert errors[1] < 0.6 * errors[0]


SAMPLES: dict[str, Callable[[Any], None]] = {
    "s001_sinogram_par2d": sinogram_par2d,
    "s002_data2d": data2d,
    "s003_gpu_reconstruction": gpu_reconstruction,
    "s004_cpu_reconstruction": cpu_reconstruction,
    "s010_supersampling": supersampling,
    "s012_masks": masks,
    "s013_constraints": constraints,
    "s014_FBP": filtered,
    "s015_fp_bp": solvers,
    "s016_plots": plots,
    "s017_OpTomo": solvers,
    "s022_fbp_cor": fbp_cor,
}


@pytest.mark.filterwarnings("ignore::gpuopt.tomo.CentreWarning", "ignore::gpuopt.tomo.TruncationWarning")
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample(name: str, device: gpuopt.Device) -> None:
    SAMPLES[name](adapter(device))


def test_each_sample_is_run_or_left_out_for_a_reason() -> None:
    """The 27 scripts that ASTRA has had: 12 run, 15 not."""
    left_out = [name for group in NOT_RUN.values() for name in group]
    assert not set(left_out) & set(SAMPLES)
    assert (len(SAMPLES), len(left_out)) == (12, 15)
