"""Files of molecules and surfaces: PQR, MSMS, OBJ, OFF, PLY and STL in; OpenDX, PLY and VTK out.

Lengths are in A. Readers return arrays of ``dtype``, float32 or float64; beside FormatError they raise ParameterError
for another one, and what opening the file does, such as FileNotFoundError.
"""

from gpuopt.io.dx import write_dx
from gpuopt.io.msms import read_msms
from gpuopt.io.obj import read_obj
from gpuopt.io.off import read_off
from gpuopt.io.ply import read_ply
from gpuopt.io.ply_writer import write_ply
from gpuopt.io.pqr import read_pqr
from gpuopt.io.stl import read_stl
from gpuopt.io.suffixes import read_surface
from gpuopt.io.text import FormatError
from gpuopt.io.vtk import write_vtk

__all__ = [
    "FormatError",
    "read_msms",
    "read_obj",
    "read_off",
    "read_ply",
    "read_pqr",
    "read_stl",
    "read_surface",
    "write_dx",
    "write_ply",
    "write_vtk",
]
