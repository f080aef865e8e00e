"""Tomography: scans, phantoms, projectors and reconstruction; ``import gpuopt.tomo as gt``.

Lengths are in mm, or in another unit if all of them are; angles are in radians. Images are (z, y, x) or (y, x), in
1/mm; projections are line integrals (view, v, u) or (view, u), without a unit. A :class:`Projector` takes and returns
float32, a :class:`NumpyProjector` float32 or float64. Errors are of :class:`gpuopt.Error`, and name the argument and
the fix.
"""

from gpuopt.tomo.analytic import fbp, fdk
from gpuopt.tomo.bodies import Blob, Body, Ellipsoid
from gpuopt.tomo.centre import find_centre
from gpuopt.tomo.conventions import from_skimage
from gpuopt.tomo.detector import Detector, Frames
from gpuopt.tomo.filters import filter_rows, ramp
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.iterative import cgls, mlem, os_em, os_sart, sart, sirt
from gpuopt.tomo.limits import CentreWarning, LimitedAngleWarning, TruncationWarning
from gpuopt.tomo.numpy_projector import NumpyProjector
from gpuopt.tomo.on_device import back_project
from gpuopt.tomo.operators import Backend, GeometricOperator, Operator
from gpuopt.tomo.phantoms import Phantom, blob, shepp_logan, sphere
from gpuopt.tomo.projector import Projector
from gpuopt.tomo.rawdata import normalise, poisson_noise
from gpuopt.tomo.reconstruction import Reconstruction, State
from gpuopt.tomo.rings import remove_rings
from gpuopt.tomo.scan_files import ScanFile, read_scan
from gpuopt.tomo.scans import circular, fan, helical, parallel2d, parallel3d
from gpuopt.tomo.supersampling import Supersampled
from gpuopt.tomo.tigre import from_tigre
from gpuopt.tomo.vectors import from_astra, from_vectors
from gpuopt.tomo.volume import Volume

__all__ = [
    "Backend",
    "Blob",
    "Body",
    "CentreWarning",
    "Detector",
    "Ellipsoid",
    "Frames",
    "GeometricOperator",
    "Geometry",
    "LimitedAngleWarning",
    "NumpyProjector",
    "Operator",
    "Phantom",
    "Projector",
    "Reconstruction",
    "ScanFile",
    "State",
    "Supersampled",
    "TruncationWarning",
    "Volume",
    "back_project",
    "blob",
    "cgls",
    "circular",
    "fan",
    "fbp",
    "fdk",
    "filter_rows",
    "find_centre",
    "from_astra",
    "from_skimage",
    "from_tigre",
    "from_vectors",
    "helical",
    "mlem",
    "normalise",
    "os_em",
    "os_sart",
    "parallel2d",
    "parallel3d",
    "poisson_noise",
    "ramp",
    "read_scan",
    "remove_rings",
    "sart",
    "shepp_logan",
    "sirt",
    "sphere",
]


def __dir__() -> list[str]:
    return sorted(__all__)
