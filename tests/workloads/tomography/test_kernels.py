"""What the harness does not ask of back projectors: adding to a volume, strips, declared work, and what is refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, Configuration, ParameterError, UnsupportedError, _core, problems
from gpuopt import tomo as gt
from gpuopt.configuration import complete
from gpuopt.lab.run.wanted import fitting_variants
from gpuopt.lab.timing import verification
from gpuopt.problem import TooLargeError
from gpuopt.tomo.on_device import kernel_geometry, prepare_back_projection
from gpuopt.workloads.tomography import problem as made
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from workloads.tomography.cases import BACK, FLAT, PAPER, RAYS, SCANS, SLICE, VOLUME, back_problem


@pytest.mark.parametrize("variant", sorted(BACK))
def test_adding_to_what_is_there(device: gpuopt.Device, variant: str) -> None:
    geometry, volume = SCANS["helix-arc"]()
    p = np.random.default_rng(3).random(geometry.shape, dtype=np.float32)
    before = np.random.default_rng(4).random(volume.shape, dtype=np.float32)
    out = gpuopt.to_device(before, device)
    configuration = complete("tomography", Configuration(variant))
    projections = gpuopt.to_device(p, device)
    try:
        plan = prepare_back_projection(geometry, volume, projections, out, "none", configuration, accumulate=True)
    except UnsupportedError as reason:
        pytest.skip(str(reason))
    plan.run()
    once = oracle.back_project(*reference_inputs(geometry, volume), p, "none")
    np.testing.assert_allclose(out.to_numpy(), before + once, rtol=0, atol=0.02 * geometry.views)
    plan.run()
    np.testing.assert_allclose(out.to_numpy(), before + 2 * once, rtol=0, atol=0.04 * geometry.views)
    assert plan.work["bytes"]["dram"] == 4 * (p.size + 2 * before.size)


@pytest.mark.parametrize("angle", [0.1, 1.5])  # beams along y, and along x
def test_strips_are_the_whole(any_device: gpuopt.Device, angle: float) -> None:
    """Strips that end within a row of groups, the last narrower, add up the same."""
    geometry = gt.circular(np.array([angle, angle + 3.1, angle + 0.2]), 400, 700, (7, 60), (1.6, 9.0))
    volume = gt.Volume((2, 300, 330))
    p = np.random.default_rng(6).random(geometry.shape, dtype=np.float32)
    data, found = gpuopt.to_device(p, any_device), {}
    for strip in (0, 128, 256):
        out = _core.empty(volume.shape, np.dtype(np.float32), any_device, True)
        out.fill_bytes(0xFF)
        configuration = complete("tomography", Configuration("image", STRIP=strip, Z=2))
        prepare_back_projection(geometry, volume, data, out, "none", configuration).run()
        assert out.guards_intact()
        found[strip] = out.to_numpy()
    once = oracle.back_project(*reference_inputs(geometry, volume), p, "none")
    np.testing.assert_allclose(found[0], once, rtol=0, atol=0.02 * geometry.views)
    for strip in (128, 256):
        np.testing.assert_array_equal(found[strip], found[0])


def test_the_reference_at_some_points_is_the_whole_one() -> None:
    geometry, volume = SCANS["circle"]()
    same = reference_inputs(geometry, volume)
    p = np.random.default_rng(5).random(geometry.shape)
    whole = oracle.back_project(*same, p, "adjoint")
    some = oracle.back_project_at(*same, p, volume.points()[2, 3], "adjoint")
    np.testing.assert_allclose(some, whole[2, 3], rtol=1e-14)


def test_what_kernels_are_told_of_a_scan() -> None:
    def told(scan: str) -> tuple[bool, bool]:
        found = kernel_geometry(*SCANS[scan]())
        return found.upright, found.equiangular

    assert told("circle") == told("helix") == told("parallel") == told("helix-radius") == (True, False)
    assert told("helix-arc") == told("fan-arc") == (True, True)
    assert told("tilted") == told("tilted-arc") == (False, False)


def test_the_exact_adjoints_scans_are_upright() -> None:
    for scan in ("tall", "low", "falling"):
        assert _core.joseph_properties(kernel_geometry(*RAYS[scan])) == {"upright": True, "planar": False}


def test_work(any_device: gpuopt.Device) -> None:
    given = back_problem("circle", "none")
    size = VOLUME.size * 13
    works = {}
    for name in ("image", "buffer"):
        try:
            works[name] = given.prepare(complete("tomography", Configuration(name)), any_device).work
        except UnsupportedError as error:
            pytest.skip(str(error))
    assert given.counted == {"update": size}
    assert works["image"]["special"] == {"fetch.linear": size}
    assert works["buffer"]["bytes"]["requested"] == 16 * size
    assert {work["bytes"]["dram"] for work in works.values()} == {4 * (13 * 11 * 16 + VOLUME.size)}
    assert works["buffer"]["flops"] > works["image"]["flops"]


def test_more_views_than_an_image_has_layers(device: gpuopt.Device) -> None:
    if not device.image_support:
        pytest.skip(f"{device.name} has no images")
    geometry = gt.parallel2d(np.arange(2100) * 1e-3, 5)
    given = made.of_scan("many-views", geometry, gt.Volume((3, 4), 1.0))
    for variant in ("image", "buffer"):
        configuration = complete("tomography", Configuration(variant, VIEWS=128))
        verification.verify(given.prepare(configuration, device), given, configuration)


@pytest.mark.parametrize("variant", ["buffer", "columns"])
def test_more_views_than_a_launch_has_groups(device: gpuopt.Device, variant: str) -> None:
    """They are copied in two blocks."""
    geometry = gt.parallel2d(np.arange(65_600) * 1e-4, 3)
    given = made.of_scan("groups-of-views", geometry, gt.Volume((3, 4), 1.0))
    configuration = complete("tomography", Configuration(variant, VIEWS=128))
    plan = given.prepare(configuration, device)
    if isinstance(plan, str):
        pytest.skip(plan)
    verification.verify(plan, given, configuration)


# ---------------------------------------------------------------- what is refused


def arrays(device: gpuopt.Device, views: int = 13) -> tuple[gpuopt.DeviceArray, gpuopt.DeviceArray]:
    single = np.dtype(np.float32)
    return _core.empty((views, 11, 16), single, device), _core.empty(VOLUME.shape, single, device)


def test_arrays_that_do_not_fit(any_device: gpuopt.Device) -> None:
    geometry = gt.circular(13, **FLAT)
    p, out = arrays(any_device)
    with pytest.raises(ArrayError, match=r"projections: its shape is \(12, 11, 16\)"):
        prepare_back_projection(geometry, VOLUME, arrays(any_device, 12)[0], out)
    with pytest.raises(ArrayError, match=r"volume: its shape is \(13, 11, 16\)"):
        prepare_back_projection(geometry, VOLUME, p, p)
    doubles = _core.empty(VOLUME.shape, np.dtype(np.float64), any_device)
    with pytest.raises(ArrayError, match="volume: its dtype is float64"):
        prepare_back_projection(geometry, VOLUME, p, doubles)


def test_weights_and_scans_that_are_none(any_device: gpuopt.Device) -> None:
    p, out = arrays(any_device)
    with pytest.raises(ParameterError, match="weight: 'some' is not known; give one of 'adjoint', 'none', 'fdk'"):
        prepare_back_projection(gt.circular(13, **FLAT), VOLUME, p, out, "some")
    with pytest.raises(ParameterError, match="the source of view 0"):
        prepare_back_projection(gt.circular(13, **(FLAT | {"sod": 3})), VOLUME, p, out)
    with pytest.raises(ParameterError, match="it has 2 axes, the geometry 3"):
        prepare_back_projection(gt.circular(13, **FLAT), SLICE, p, out)


@pytest.mark.parametrize("variant", sorted(PAPER))
def test_the_papers_kernels_are_for_its_geometry(any_device: gpuopt.Device, variant: str) -> None:
    p, out = arrays(any_device)
    with pytest.raises(UnsupportedError, match="an arc of detectors about a source") as caught:
        prepare_back_projection(gt.circular(13, **FLAT), VOLUME, p, out, variant=variant)
    assert caught.value.because == "constraint"


@pytest.mark.parametrize("variant", sorted(PAPER))
def test_views_that_no_image_holds_are_refused(any_device: gpuopt.Device, variant: str) -> None:
    """Beyond the layers of an image array; in buffers they are projected."""
    if not any_device.image_support:
        pytest.skip(f"{any_device.name} has no images")
    views, volume = 1 << 16, gt.Volume((2, 3), 1.0)
    geometry = gt.fan(views, 60, 95, 9, 1.2, curved=True)
    p = gpuopt.to_device(np.ones(geometry.shape, np.float32), any_device)
    out = _core.empty(volume.shape, np.dtype(np.float32), any_device)
    with pytest.raises(UnsupportedError, match=f"images of 9 x 1 x {views}; .* allows") as caught:
        prepare_back_projection(geometry, volume, p, out, "none", Configuration(variant, TEXTURE=1))
    assert caught.value.because == "device"
    prepare_back_projection(geometry, volume, p, out, "none", variant).run()
    np.testing.assert_allclose(out.to_numpy()[0, 1], views, rtol=1e-4)


def test_a_tables_sines_are_those_of_the_device(any_device: gpuopt.Device) -> None:
    """The step of the paper and the one whose table is made on the host differ by rounding alone."""
    geometry, volume = SCANS["helix-arc"]()
    p = gpuopt.to_device(np.random.default_rng(8).random(geometry.shape, dtype=np.float32), any_device)
    found = []
    for table in (0, 1):
        out = _core.empty(volume.shape, np.dtype(np.float32), any_device)
        plan = prepare_back_projection(geometry, volume, p, out, "none", Configuration("alu", TABLE=table))
        plan.run()
        assert f"-DTABLE={table}" in plan.kernels[plan.main_step]["options"]
        found.append(out.to_numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-3 * geometry.views)


def test_configurations_that_are_none(any_device: gpuopt.Device) -> None:
    p, out = arrays(any_device)
    wrong = [("voxels", "none called 'voxels'"), (Configuration("buffer", Z=3), "3 is not one of its")]
    wrong.append(("joseph", "it is no back projector"))
    for variant, word in wrong:
        with pytest.raises(ParameterError, match=word):
            prepare_back_projection(gt.circular(13, **FLAT), VOLUME, p, out, variant=variant)


def test_memory_that_does_not_fit_is_told_in_bytes(device: gpuopt.Device) -> None:
    """Of arrays that nobody touches no page is taken, but they count."""
    if device.type != "cpu":
        pytest.skip("a GPU takes the memory itself")
    gc.collect()  # what other tests left would come free meanwhile
    single, columns, room = np.dtype(np.float32), 1 << 22, 48 << 20
    p, out = _core.empty((1, columns), single, device), _core.empty((2, 2), single, device)
    held = []
    while (left := device.global_bytes - device.allocated_bytes - room) > 0:
        held.append(_core.empty((max(1, min(left, 1 << 30) // 4),), single, device))
    with pytest.raises(gpuopt.DeviceMemoryError, match=r"the padded projections needs .* \(67108912 bytes\)"):
        prepare_back_projection(gt.parallel2d(1, columns), gt.Volume((2, 2), 1.0), p, out, variant="buffer")
    assert held


# ---------------------------------------------------------------- problems


def test_problems_of_the_paper() -> None:
    heart, slices = (case.scan() for case in (made.HEART, made.SLICES))
    assert heart[1].size * heart[0].views == pytest.approx(0.499e9, rel=1e-3)
    assert slices[1].size * slices[0].views == pytest.approx(0.235e9, rel=2e-3)
    for geometry, volume in (heart, slices):
        assert kernel_geometry(geometry, volume).equiangular


def test_a_sweep_takes_the_variants_that_answer_the_problem() -> None:
    ours = {"image", "buffer", "buffer_vectors"}
    assert set(fitting_variants(back_problem("tilted"))) == ours
    assert set(fitting_variants(back_problem("circle"))) == ours | {"columns"}
    assert set(fitting_variants(back_problem("helix-arc"))) == ours | {"columns"} | PAPER == BACK
    assert set(fitting_variants(back_problem("fan-arc"))) == ours | PAPER


def test_cases_by_name(any_device: gpuopt.Device) -> None:
    found = problems.back_projection("4x5x6x7", device=any_device)
    assert (found.sizes["z"], found.sizes["views"], found.sizes["rows"], found.sizes["columns"]) == (4, 5, 6, 7)
    assert found.family == made.FAMILY
    fitted = problems.back_projection("16x16x16x16", max_bytes=60_000, device=any_device)
    assert fitted.sizes["views"] == 8
    assert any("shrunk" in note for note in fitted.notes)
    for whole in ("I1:2", "slice"):
        with pytest.raises(TooLargeError, match=f"case: {whole} needs .* \\(max_bytes\\)"):
            problems.back_projection(whole, max_bytes=1000, device=any_device)
    for wrong in ("heart", "3x4", "0x1x1x1", "9" * 5000, "I1:" + "9" * 5000):
        with pytest.raises(ParameterError, match="case:"):
            problems.back_projection(wrong)
    with pytest.raises(ParameterError, match="weight:"):
        problems.back_projection("4x5x6x7", weight="some")


def test_fewer_of_the_papers_views(any_device: gpuopt.Device) -> None:
    found = problems.back_projection("I2:6", device=any_device)
    assert (found.name, found.sizes["views"], found.counted["update"]) == ("I2_6views", 6, 6 * 3 * 260 * 260)
    assert any("6 of the paper's 1160 views" in note for note in found.notes)
    assert any("the paper prints no geometry" in note for note in found.notes)


def test_whole_calls_of_the_papers_steps(any_device: gpuopt.Device) -> None:
    given = back_problem("helix-arc", "none")
    assert list(given.calls) == [f"back_project(p, variant='{name}')" for name in made.CALLS]
    for call in given.calls.values():
        verification.compare(given.seen(call(any_device)()), given.reference, given.tolerance)
    assert not back_problem("circle", "none").calls


def test_peers_compute_the_same(any_device: gpuopt.Device) -> None:
    found = {peer.name: peer for peer in back_problem("helix-arc").peers(any_device, [])}
    if "C++ loop, OpenMP" not in found:
        pytest.skip("there is no C++ compiler")
    for weight in oracle.WEIGHTS:
        given = back_problem("helix-arc", weight)
        for name in ("C++ loop, 1 thread", "C++ loop, OpenMP"):
            peer = found[name]
            verification.compare(
                given.seen(peer.fetch(peer.run(peer.prepare(given)))), given.reference, given.tolerance
            )
        with pytest.raises(UnsupportedError, match="an arc of detectors"):
            found["C++ loop, OpenMP"].prepare(back_problem("circle", weight))
