"""Scans and volumes of ``gpuopt.tomo`` as the oracle takes them: by the numbers their makers were given, from which the
oracle works out for itself where sources and pixels lie."""

from __future__ import annotations

from gpuopt.tomo import Geometry, Volume
from gpuopt.tomo.scans import Cone, Parallel
from gpuopt.workloads.tomography.reference_scans import Grid, Scan, astra_scan, cone_scan, parallel_scan


def reference_inputs(geometry: Geometry, volume: Volume) -> tuple[Scan, Grid]:
    """The scan and the grid. Raises ParameterError as :func:`reference_scan`."""
    return reference_scan(geometry), Grid(volume.shape, volume.voxel, volume.centre)


def reference_scan(geometry: Geometry) -> Scan:
    """The scan: of :mod:`gpuopt.tomo.scans` by angles, distances, pitch, and the detector's counts, pixels, offsets and
    radius; any other by its rows of vectors for ASTRA. Raises ParameterError for others in 2D, which have no rows."""
    detector, plane = geometry.detector, geometry.dimensions == 2
    det = (detector.rows, detector.columns)
    pixel, offset = (detector.dv, detector.du), (detector.v_offset, detector.u_offset)
    if isinstance(geometry, Parallel):
        return parallel_scan(geometry.angles, det, pixel, offset, plane=plane)
    if isinstance(geometry, Cone):
        return cone_scan(
            geometry.angles,
            geometry.sod,
            geometry.sdd,
            det,
            pixel,
            offset,
            z0=geometry.z0,
            pitch=geometry.pitch,
            t_ref=geometry.t_ref,
            radius=geometry.radius,
            plane=plane,
        )
    astra = geometry.to_astra()
    return astra_scan(astra["type"], astra["Vectors"], det)
