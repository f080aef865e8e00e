#include "workloads/gem/model.hpp"

#include <algorithm>
#include <iterator>

namespace gpuopt {

GemKind minimal_kind(const GemModel& model, int region) {
    const double coulomb = 1 / model.epsilon_in, c1 = (1 + model.alpha) * model.share();
    const bool reaction = model.part == GemPart::reaction;
    GemKind kind;
    if (model.part == GemPart::coulomb) {
        kind.scale = coulomb;
        return kind;
    }
    kind.salt = model.salt();
    kind.number = region == 1 ? 3 : !kind.salt ? 0 : region == 2 ? 1 : 2;
    // The coefficients of 1/d and of the other terms; the first is taken out of the sum where there is one.
    // 1/epsilon_in - 1/epsilon_out without its rounding where they are near to each other; what is left of c1 without
    // Coulomb's coefficient is its negative.
    const double inside = (model.epsilon_out - model.epsilon_in) / (model.epsilon_in * model.epsilon_out) /
                          (1 + model.alpha * model.beta());
    double of_d = kind.number == 3 ? coulomb : c1;
    if (kind.number == 2) {
        kind.minus_coulomb = reaction;
        kind.with_d = coulomb / c1;
    } else if (reaction) {
        of_d = kind.number == 3 ? 0 : -inside;
    }
    kind.direct = kind.number == 0 || of_d != 0;
    kind.scale = kind.direct ? of_d : 1;
    if (kind.number == 0 || kind.number == 2) return kind;
    kind.with_u = c1 * model.kappa / kind.scale;
    kind.with_g = inside / kind.scale;
    return kind;
}

std::string GemKind::options() const {
    return " -DKIND=" + std::to_string(number) + " -DSALT=" + (salt ? "1" : "0") + " -DDIRECT=" + (direct ? "1" : "0") +
           " -DMINUS_COULOMB=" + (minus_coulomb ? "1" : "0");
}

int GemKind::slots() const {
    // d', u, d2 u, d2 u^2, then 1/u and its part of the term; without 1/d u^2 alone, and 1/u's part
    const int layer = direct ? 4 + 3 : 3 + 1;
    switch (number) {
        case 0: return 0;
        case 1: return layer;
        case 2: return 4 + 3 + (minus_coulomb ? 2 : 0);
        default: return 2 + (salt ? layer : 0);
    }
}

int GemKind::specials() const {
    switch (number) {
        case 0: return 1;
        case 1: return 2;
        case 2: return 3;
        default: return 1 + (salt ? 2 : direct ? 1 : 0);
    }
}

std::vector<Scalar> constants(const GemModel& model, GemForm form, const GemKind& kind, double charge, double nearest,
                              DType dtype) {
    constexpr double log2_e = 1.4426950408889634;
    const double image = form == GemForm::literal
                             ? (model.compat ? 0 : model.alpha * model.beta())
                             : (model.compat && model.part != GemPart::coulomb ? model.outside() / model.size : 0);
    const double values[] = {model.alpha,
                             model.beta(),
                             model.epsilon_in,
                             model.epsilon_out,
                             model.kappa,
                             model.size,
                             model.size + model.ion_exclusion,
                             image,
                             nearest * nearest,
                             charge,
                             model.part == GemPart::coulomb ? 0 : model.outside(),
                             kind.scale,
                             kind.with_u,
                             kind.with_g,
                             kind.with_d,
                             model.kappa * log2_e};
    std::vector<Scalar> made;
    std::transform(std::begin(values), std::end(values), std::back_inserter(made),
                   [dtype](double value) { return real_scalar(dtype, value); });
    return made;
}

}  // namespace gpuopt
