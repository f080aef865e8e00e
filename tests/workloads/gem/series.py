"""The exact potential of a charge in a sphere in salt water, as a series."""

from __future__ import annotations

import numpy as np

from gpuopt.workloads.gem.solvation import Model


def exact_sphere(model: Model, source: np.ndarray, r: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Return the exact potential at distances ``r`` (m,) from the centre of 1 e at distances ``source`` (m,) from it.

    Kirkwood's series of Legendre polynomials of the ``cosine`` between both. In the bulk stand modified spherical
    Bessel functions k_n(x), x = kappa r, of which only s_n = x k_(n-1)(x) / k_n(x) enters: s_0 = x,
    s_(n+1) = x^2 / (s_n + 2n + 1). Solved from the continuity of phi and of epsilon dphi/dr at A and at r'.
    """
    a, r_ions, ei, eo = model.size, model.ion_radius, model.epsilon_in, model.epsilon_out
    # Each region's term is made at a distance of that region, or powers overflow where the term is not taken.
    r_inside, r_stern, r_bulk = np.minimum(r, a), np.clip(r, a, r_ions), np.maximum(r, r_ions)
    phi = np.where(r < a, 1 / (ei * np.sqrt(r**2 + source**2 - 2 * r * source * cosine)), 0.0)
    x, x_ions = model.kappa * r_bulk, model.kappa * r_ions
    s, s_ions = x, x_ions
    decay = np.exp(x_ions - x) * r_ions / r_bulk  # k_n(x) / k_n(x_ions)
    before, legendre = np.zeros_like(r), np.ones_like(r)
    for n in range(200):
        own = (source / a) ** n / (ei * a)  # the charge's term at r = A
        back = s_ions / (s_ions + 2 * n + 1)
        back_a = back * (a / r_ions) ** (2 * n + 1)
        # In the Stern layer the term is outer ((A/r)^(n+1) - back_a (r/A)^n).
        outer = ei * (2 * n + 1) * own / (ei * n * (1 - back_a) + eo * (n + 1 + n * back_a))
        inside = (outer * (1 - back_a) - own) * (r_inside / a) ** n
        stern = outer * ((a / r_stern) ** (n + 1) - back_a * (r_stern / a) ** n)
        bulk = outer * (a / r_ions) ** (n + 1) * (1 - back) * decay
        phi += np.where(r < a, inside, np.where(r > r_ions, bulk, stern)) * legendre
        before, legendre = legendre, ((2 * n + 1) * cosine * legendre - n * before) / (n + 1)
        decay = decay * (r_ions / r_bulk) * (s + 2 * n + 1) / (s_ions + 2 * n + 1)
        s, s_ions = x**2 / (s + 2 * n + 1), x_ions**2 / (s_ions + 2 * n + 1)
    return model.coulomb * phi
