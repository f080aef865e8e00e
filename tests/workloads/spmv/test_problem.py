"""SpMV problems: the golden image, invariants of the Laplacian, stencils, sizes that shrink."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import dia_array

import gpuopt
from gpuopt import ArrayError, Configuration, ParameterError, host_memory, problems
from gpuopt.workloads.common import memory
from gpuopt.workloads.spmv import affinity
from gpuopt.workloads.spmv import problem as spmv_problem
from gpuopt.workloads.spmv import reference as oracle


def golden_image():
    y, x = np.mgrid[:20, :24]
    disk = (x - 9) ** 2 + (y - 10) ** 2 <= 36
    return disk + 0.02 * ((7 * x + 13 * y) % 11), disk


@pytest.fixture(scope="module")
def golden():
    weights, degrees = affinity.affinity_matrix(golden_image()[0])
    return weights, degrees, affinity.normalised_laplacian(weights, degrees)


def test_golden_affinity(golden):
    weights, degrees, _ = golden
    assert affinity.boundary_strength(golden_image()[0]).sum() == pytest.approx(87.371996, abs=5e-7)
    assert np.count_nonzero(weights.data) == 31_560
    assert weights.nnz == oracle.dia_range_count(weights.offsets, weights.shape) == 34_674
    assert weights.sum() == pytest.approx(3271.57344702, abs=5e-9)
    assert degrees[0] == pytest.approx(4.60953611, abs=5e-9)
    assert degrees[250] == pytest.approx(11.56016301, abs=5e-9)
    row = weights.toarray()[250]
    assert row[250 - 120] == pytest.approx(6.8042e-4, abs=5e-9)
    assert row[[250 - 76, 251, 255]] == pytest.approx([0.13730515, 0.18741770, 0.13730515], abs=5e-9)
    product = weights @ np.cos(np.arange(480))
    assert product.sum() == pytest.approx(-20.8690969, abs=5e-8)
    assert np.linalg.norm(product) == pytest.approx(16.5050198, abs=5e-8)


def test_golden_spectrum_and_cut(golden):
    _, degrees, laplacian = golden
    values, vectors = eigh(laplacian.toarray())
    assert values[:4] == pytest.approx([0, 1.28463915e-3, 1.11282697e-2, 1.11677024e-2], abs=5e-11)
    assert values[-1] == pytest.approx(1.03813736, abs=5e-9)
    inside = (vectors[:, 1] / np.sqrt(degrees) > 0).reshape(20, 24)
    missed = np.count_nonzero(inside != golden_image()[1])
    assert min(missed, 480 - missed) == 9


def test_weights_of_a_crossing():
    np.testing.assert_allclose(affinity.crossing_weight([0, 0.313, 1]), [0.26250, 0.026183, 1.10973e-4], rtol=2e-5)


def test_walks_end_where_they_should():
    for dx, dy in oracle.disk_steps(6).tolist():
        pixels = affinity.walk(dx, dy)
        assert pixels[0] == (0, 0)
        assert pixels[-1] == (dx, dy)
        assert len(pixels) == max(abs(dx), abs(dy)) + 1
    # A half-way step stays on the major axis: the walk back crosses other pixels, and W is the mean of both.
    assert affinity.walk(2, 1) == [(0, 0), (1, 0), (2, 1)]
    assert affinity.walk(-2, -1) == [(0, 0), (-1, 0), (-2, -1)]


def plain_affinity(image, radius):
    """Section by section what the vectorised construction must give: every pair of pixels, one at a time."""
    strength = affinity.boundary_strength(image)
    height, width = strength.shape

    def one_way(x, y, dx, dy):
        crossing = 0.0
        pixels = affinity.walk(dx, dy)
        for (x0, y0), (x1, y1) in pairwise(pixels):
            a, b = x + min(x0, x1), y + min(y0, y1)
            crossed = [(a, b)]
            if x0 != x1 and y0 != y1:
                crossed += [(a + 1, b), (a, b + 1)]
            crossing = max(crossing, *(strength[q, p] for p, q in crossed))
        return float(affinity.crossing_weight(crossing))

    matrix = np.eye(width * height)
    for y in range(height):
        for x in range(width):
            for dx, dy in oracle.disk_steps(radius).tolist():
                if (dx or dy) and 0 <= x + dx < width and 0 <= y + dy < height:
                    weight = (one_way(x, y, dx, dy) + one_way(x + dx, y + dy, -dx, -dy)) / 2
                    matrix[y * width + x, (y + dy) * width + x + dx] = weight
    return matrix


@pytest.mark.parametrize("shape", [(9, 12), (12, 7), (3, 40), (1, 9), (9, 1), (1, 1)])
def test_affinity_is_the_plain_one_even_where_steps_share_a_diagonal(shape):
    image = np.random.default_rng(5).random(shape)
    weights, degrees = affinity.affinity_matrix(image, radius=5)
    np.testing.assert_allclose(weights.toarray(), plain_affinity(image, 5), rtol=1e-14)
    np.testing.assert_allclose(degrees, weights.toarray().sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_invariants(dtype):
    image = np.random.default_rng(6).random((17, 23))
    weights, degrees = affinity.affinity_matrix(image, dtype=dtype)
    laplacian = affinity.normalised_laplacian(weights, degrees)
    for matrix in (weights, laplacian):
        assert matrix.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(matrix.toarray(), matrix.toarray().T)
        assert np.count_nonzero(matrix.toarray()) == oracle.neighbour_count(oracle.disk_steps(5), (23, 17))
    eps = np.finfo(dtype).eps
    assert np.abs(laplacian @ np.sqrt(degrees)).max() < 81 * eps
    values = eigh(laplacian.toarray().astype(np.float64), eigvals_only=True)
    assert -10 * eps < values[0] < 10 * eps
    assert values[-1] < 2
    reused = affinity.normalised_laplacian(weights, degrees, overwrite=True)
    np.testing.assert_array_equal(reused.toarray(), laplacian.toarray())
    assert reused.data is weights.data


def test_a_flat_image_has_no_boundary():
    assert not affinity.boundary_strength(np.full((4, 5), 7)).any()
    weights, _ = affinity.affinity_matrix(np.zeros((4, 5)), radius=1)
    assert weights.toarray()[0, 1] == pytest.approx(0.26250, rel=2e-5)


@pytest.mark.parametrize(
    ("image", "word"),
    [
        (np.zeros((3, 3, 3)), "grey"),
        (np.zeros((0, 3)), "grey"),
        (np.array([[0, np.nan]]), "finite"),
        (1j * np.eye(3), "real"),
    ],
)
def test_bad_images_are_named(image, word):
    with pytest.raises(ArrayError, match=word):
        affinity.affinity_matrix(image)


def check(problem):
    """What every problem promises, whatever its matrix."""
    matrix, x = problem.inputs["A"], problem.inputs["x"]
    sizes = problem.sizes
    assert (sizes["rows"], sizes["cols"]) == matrix.shape
    assert sizes["diags"] == len(matrix.offsets)
    # Older versions of SciPy miscount `nnz` where offsets lie beyond the edge.
    inside = dia_array((np.ones_like(matrix.data), matrix.offsets), shape=matrix.shape).tocoo().nnz
    assert sizes["nnz_range"] == inside
    assert sizes["nnz_true"] == np.count_nonzero(matrix.data) == matrix.tocsr().count_nonzero()
    assert x.dtype == matrix.dtype == problem.dtype
    assert problem.reference.dtype == problem.tolerance.dtype == np.float64
    assert (np.abs(matrix @ x - problem.reference) <= problem.tolerance).all()
    exact = matrix.astype(np.float64) @ x.astype(np.float64)
    np.testing.assert_allclose(problem.reference, exact, rtol=0, atol=1e-12)
    assert (problem.tolerance > 0).all()
    assert problem.workload == "spmv"
    assert problem.footprint_bytes >= inside * problem.dtype.itemsize
    assert problem.notes[0].startswith("memory needed")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_photograph(dtype):
    problem = problems.spmv_image_affinity("camera", dtype=dtype, max_bytes=60_000_000)
    check(problem)
    assert problem.inputs["image"].shape in {(256, 256), (128, 128)}
    assert len(problem.inputs["degrees"]) == problem.sizes["rows"]
    assert any("shrunk from 512 x 512" in note for note in problem.notes)
    assert "camera" in problem.name


def test_photographs_come_from_names_files_and_arrays(tmp_path):
    from PIL import Image

    random = np.random.default_rng(7)
    grey = random.integers(0, 256, (30, 40), dtype=np.uint8)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    coloured = np.repeat(grey[..., np.newaxis], 3, axis=2)
    Image.fromarray(coloured).save(tmp_path / "colour.png")
    by_array = problems.spmv_image_affinity(grey)
    check(by_array)
    for path in (tmp_path / "grey.png", str(tmp_path / "grey.png"), tmp_path / "colour.png"):
        by_file = problems.spmv_image_affinity(path)
        np.testing.assert_allclose(by_file.inputs["A"].data, by_array.inputs["A"].data, atol=1e-6)
    assert by_file.sizes["width"] == 40
    with pytest.raises(ParameterError, match="camera"):
        problems.spmv_image_affinity("no such picture")
    (tmp_path / "torn.png").write_bytes(b"\x89PNG")
    with pytest.raises(ArrayError, match="PNG"):
        problems.spmv_image_affinity(tmp_path / "torn.png")
    for wrong in (coloured, grey * 1j):
        with pytest.raises(ArrayError, match=r"^image: .*give a grey image"):
            problems.spmv_image_affinity(wrong)


@pytest.mark.parametrize(
    ("shape", "points"),
    [((9,), 3), ((8, 5), 5), ((8, 5), 9), ((6, 5, 4), 7), ((6, 5, 4), 27), ((1, 7), 5), ((2, 2, 2), 27), ((2, 9), 9)],
)
@pytest.mark.parametrize("values", ["laplacian", "random"])
def test_stencils(shape, points, values):
    problem = problems.spmv_stencil(shape, points, values=values)
    check(problem)
    matrix = problem.inputs["A"].toarray()
    index = np.arange(np.prod(shape)).reshape(shape[::-1])
    for row, at in enumerate(np.argwhere(index >= 0)):
        distance = np.abs(np.argwhere(index >= 0) - at)
        near = distance.max(axis=1) <= 1 if points == 3 ** len(shape) else distance.sum(axis=1) <= 1
        np.testing.assert_array_equal(matrix[row] != 0, near)
        if values == "laplacian":
            assert matrix[row, row] == points - 1
            assert (matrix[row][near & (np.arange(len(near)) != row)] == -1).all()


def test_hpcg_stencil():
    problem = problems.spmv_stencil((4, 4, 4), 27, values="hpcg")
    matrix = problem.inputs["A"].toarray()
    assert (np.diag(matrix) == 26).all()
    assert set(np.unique(matrix)) == {-1, 0, 26}
    # Rows of inner points sum to zero.
    assert matrix.sum(axis=1)[21] == 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"points": 6}, "points"),
        ({"shape": (3, 3, 3)}, "shape"),
        ({"shape": (3, 0)}, "shape"),
        ({"values": "ones"}, "values"),
        ({"values": "hpcg"}, "values"),
        ({"dtype": "float16"}, "dtype"),
        ({"dtype": "complex64"}, "dtype"),
    ],
)
def test_bad_stencils_are_named(given, word):
    with pytest.raises(ParameterError, match=f"^{word}: "):
        problems.spmv_stencil(**{"shape": (3, 3), "points": 5, **given})


def test_grid_of_the_article():
    problem = problems.spmv_grid(321, 481)
    sizes = problem.sizes
    assert (sizes["rows"], sizes["diags"]) == (154_401, 81)
    assert (sizes["nnz_true"], sizes["nnz_range"]) == (12_367_269, 12_450_597)


def test_grids():
    for width, height, radius in ((30, 20, 5), (7, 20, 5), (40, 2, 3), (1, 1, 2)):
        check(problems.spmv_grid(width, height, radius))
    one, same, other = (problems.spmv_grid(30, 20, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.inputs["A"].data, same.inputs["A"].data)
    np.testing.assert_array_equal(one.inputs["x"], same.inputs["x"])
    assert (one.inputs["x"] != other.inputs["x"]).any()
    assert (one.inputs["A"].data != other.inputs["A"].data).any()
    for radius in (0, 257, 10**18):
        with pytest.raises(ParameterError, match=r"^radius: "):
            problems.spmv_grid(3, 3, radius)
        with pytest.raises(ParameterError, match=r"^radius: "):
            problems.spmv_image_affinity(np.zeros((3, 3)), radius)


def test_shrinking_says_what_it_did(monkeypatch):
    problem = problems.spmv_grid(32, 32, max_bytes=500_000)
    assert problem.sizes["width"] == 32
    assert problem.sizes["height"] < 32
    assert problem.notes[1].startswith(f"shrunk from 32 x 32 to 32 x {problem.sizes['height']} to fit max_bytes")
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 1_000_000)
    with pytest.raises(ParameterError, match=r"shape: 16 x 16 x 64 needs .* \(half of the free memory\)"):
        problems.spmv_stencil((16, 16, 64), 7)
    with pytest.raises(ParameterError, match="shape: even the smallest problem, 999999 x 1, needs"):
        problems.spmv_stencil((999_999, 64), 5)
    monkeypatch.setattr(host_memory, "free_bytes", lambda: None)
    assert len(problems.spmv_stencil((16, 16, 64), 7).notes) == 2
    with pytest.raises(ParameterError, match="max_bytes"):
        problems.spmv_grid(32, 32, max_bytes=10)


class Card:
    """A device as far as memory is concerned."""

    type, unified_memory, global_bytes = "gpu", False, 1000


def test_memory_of_a_device_of_its_own():
    def halve(extents):
        return (max(1, extents[0] // 2),)

    monitored, notes = memory.fit((64,), lambda e: memory.Needs(host=0, device=10 * e[0]), halve, Card())
    assert monitored == (32,)
    assert "on the device" in notes[1]
    # What lies on the card does not count on the host.
    assert memory.fit((9,), lambda e: memory.Needs(host=5, device=300), halve, Card(), max_bytes=300)[0] == (9,)
    with pytest.raises(ParameterError, match="on the host"):
        memory.fit((9,), lambda e: memory.Needs(host=5, device=300), halve, None, max_bytes=300)


def test_a_problem_is_bound_once_a_device(device):
    problem = problems.spmv_grid(30, 20, device=device)
    configuration = gpuopt.DiaMatrix(problem.inputs["A"], device=device).configuration
    bound, again = (problem.prepare(configuration, device) for _ in range(2))
    assert bound.output is not again.output
    assert bound.prepared.source.shares_memory(again.prepared.source)
    bound.output.fill_bytes(0xFF)
    bound.prepared.run()
    assert (np.abs(bound.output.to_numpy() - problem.reference) <= problem.tolerance).all()
    assert bound.output.guards_intact()
    assert bound.work["flops"] == 2 * problem.sizes["nnz_range"]


def test_the_tolerance_follows_the_accuracy():
    problem = problems.spmv_grid(24, 16, radius=2)
    standard, half = Configuration("padded", HALF=0), Configuration("padded", HALF=1)
    assert problem.tolerance_for(standard) is problem.tolerance
    assert problem.tolerance_for(Configuration("basic")) is problem.tolerance
    matrix, x = problem.inputs["A"], problem.inputs["x"]
    dense, magnitude = np.abs(matrix.toarray()).astype(np.float64), np.abs(x).astype(np.float64)
    stored = dia_array((np.ones_like(matrix.data), matrix.offsets), shape=matrix.shape).toarray()
    smallest = 2.0**-39 * 2.0 ** np.floor(np.log2(dense.max()))
    more = 2.0**-11 * dense @ magnitude + smallest * stored @ magnitude
    np.testing.assert_allclose(problem.tolerance_for(half) - problem.tolerance, more, rtol=1e-9)
    assert problem.tolerance_for(half) is problem.tolerance_for(half)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", scale) for scale in (1e-34, 1e-30, 1.0, 1e30)] + [("float64", scale) for scale in (1e-300, 1.0)],
)
def test_rounding_to_16_bits_stays_within_its_tolerance(device: gpuopt.Device, dtype: str, scale: float) -> None:
    """Of rows of small values too, subnormal once the largest is just below 2^15, and not by far."""
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    matrix = problems.spmv_grid(24, 16, radius=2).inputs["A"].astype(np.float64) * scale
    rows = np.arange(matrix.data.shape[1]) - matrix.offsets[:, None]
    matrix.data[rows % 2 == 0] *= 1e-9
    problem = spmv_problem.problem_of("scaled", matrix.astype(dtype), {}, 1, 0, [], {})
    configuration = Configuration("padded", HALF=1)
    bound = problem.prepare(configuration, device)
    bound.prepared.run()
    error = np.abs(bound.output.to_numpy() - problem.reference) / problem.tolerance_for(configuration)
    assert 0.05 < error[1::2].max() <= 1
    assert 0.05 < error[::2].max() <= 1


def test_pictures_of_one_size_are_told_apart(tmp_path):
    picture, other = golden_image()[0], np.flipud(golden_image()[0])
    named = [problems.spmv_image_affinity(given, radius=1) for given in (picture, picture.copy(), other)]
    assert named[0].name == named[2].name
    assert named[0].data == named[1].data != named[2].data
    assert problems.spmv_image_affinity(picture, radius=1, smoothing=2.0).data != named[0].data


def test_pictures_by_name_need_no_more_than_their_name():
    made = problems.spmv_image_affinity("camera", radius=1, max_bytes=200_000)
    assert made.data is None
    assert problems.spmv_image_affinity("camera", radius=1, max_bytes=200_000, smoothing=2.0).data is not None


@pytest.mark.parametrize("name", ["photo", "photo.png"])
def test_picture_files_are_told_apart_by_what_they_hold(tmp_path, monkeypatch, name):
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    found = []
    for seed in (0, 1):
        Image.fromarray(np.random.default_rng(seed).integers(0, 255, (8, 8), np.uint8)).save(name, format="PNG")
        found.append(problems.spmv_image_affinity(name, radius=1).data)
    assert None not in found
    assert found[0] != found[1]
