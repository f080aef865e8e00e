// The model's formulas as written: roots, divisions and exponentials a pair. Region, salt and part may be known when the kernel is
// compiled or only when it runs. Inside, the reaction is computed without Coulomb's term, which is infinite on an atom.
#include "gem/include/gem.cl"

inline REALV literal_term(const REALV dx, const REALV dy, const REALV dz, const REALV charge, const REALV depth, const REAL4 shift,
                          const REAL r, constant REAL *model, const int region, const int salt, const int part) {
    const REALV d = sqrt(NOT_NEARER(dx * dx + dy * dy + dz * dz));
    const REALV coulomb = charge / (model[EPS_IN] * d);
    if (part == COULOMB) return coulomb;
    const REAL alpha = model[ALPHA], beta = model[BETA], kappa = model[KAPPA];
    const REAL share = 1 / (model[EPS_OUT] * (1 + alpha * beta)), rest = alpha * (1 - beta), edge = 1 + kappa * model[SIZE_B];
    REALV away = d;  // d', from the edge of the ion-free layer
    if (salt) {
        const REALV ex = dx + shift.x, ey = dy + shift.y, ez = dz + shift.z;
        away = sqrt(NOT_NEARER(ex * ex + ey * ey + ez * ez));
    }
    REALV total, reaction;
    if (region == 3) {
        total = (1 + alpha) / d - rest / r;
        if (salt)
            total = (1 + alpha) * exp(-kappa * (d - away)) / (d * (1 + kappa * away)) -
                    rest * exp(-kappa * (r - model[SIZE_B])) / (r * edge);
        total *= share * charge;
        reaction = total - coulomb;
    } else if (region == 2) {
        total = (1 + alpha) / d - rest / r;
        if (salt)
            total += rest / model[SIZE_B] * (1 - 1 / edge) + (1 + alpha) * (1 / (away + kappa * away * away) - 1 / away);
        total *= share * charge;
        reaction = total - coulomb;
    } else {
        const REAL a2 = model[SIZE] * model[SIZE];
        const REALV root = sqrt((a2 - depth * depth) * ((model[SIZE] - r) * (model[SIZE] + r)) + a2 * d * d);
        reaction = -charge * ((model[EPS_OUT] - model[EPS_IN]) / (model[EPS_IN] * model[EPS_OUT])) / ((1 + alpha * beta) * model[SIZE]) *
                   (a2 / root + model[IMAGE]);
        if (salt)
            reaction += share * charge *
                        ((1 + alpha) / away * (1 / (1 + kappa * away) - 1) + rest / model[SIZE_B] * (1 - 1 / edge));
        total = coulomb + reaction;
    }
    return part == REACTION ? reaction : total;
}
