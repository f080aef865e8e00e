"""A molecule of four atoms and its potentials to six digits.

By the legacy constants: K = 332 kcal A / (mol e^2), dielectric constants 1 and 80, kappa = 0.316 sqrt(salt) 1/A.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SIZE = 10.0
XYZ = np.array([(0, 0, 0), (3, 4, 0), (-6, 0, 2), (0, -5, -5)], dtype=float)
CHARGE = np.array([1, -0.5, 0.75, 0.25])
NORMALS = np.array([(1, 0, 0), (0, 0.6, 0.8), (-0.48, -0.6, 0.64)])

# Projection in A (inside; surface; Stern layer; bulk), salt in mol/l, keywords, kcal/(mol e) at the ends of NORMALS.
GOLDEN: list[tuple[float, float, dict[str, Any], tuple[float, float, float]]] = [
    (-4, 0, {}, (12.325762, 20.009542, 39.225162)),
    (0, 0, {}, (0.330525, 0.492150, 0.845651)),
    (1, 0, {}, (0.317117, 0.459001, 0.763170)),
    (3, 0, {}, (0.292783, 0.403765, 0.632651)),
    (-4, 0.1, {}, (12.112722, 19.755487, 38.892803)),
    (0, 0.1, {}, (0.117484, 0.238095, 0.513293)),
    (1, 0.1, {}, (0.104077, 0.204947, 0.430811)),
    (3, 0.1, {}, (0.080224, 0.150418, 0.301550)),
    (0, 0, {"phi_type": "coulomb"}, (34.829480, 43.116508, 61.241695)),
    (0, 0.1, {"phi_type": "coulomb"}, (34.829480, 43.116508, 61.241695)),
    (0, 0, {"compat": "opendwarfs"}, (0.679291, 0.840916, 1.194418)),
]
