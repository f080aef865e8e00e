// The solvent model's numbers: what a kernel is compiled for, and what it is given as constants.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "runtime/dtype.hpp"

namespace gpuopt {

enum class GemPart { total, coulomb, reaction };
enum class GemForm { literal, minimal };

struct GemModel {
    double coulomb = 0;  // K, kcal A / (mol e^2)
    double kappa = 0;    // 1/A
    double epsilon_in = 1, epsilon_out = 80;
    double size = 0;           // A, in A
    double ion_exclusion = 0;  // b, in A
    double alpha = 0;
    GemPart part = GemPart::total;
    bool compat = false;  // without the alpha beta term of region 1

    bool salt() const { return kappa > 0; }
    double beta() const { return epsilon_in / epsilon_out; }
    double share() const { return 1 / (epsilon_out * (1 + alpha * beta())); }  // P
    double outside() const { return alpha * (epsilon_out - epsilon_in) / epsilon_out * share(); }
    // 1 inside, 2 Stern layer, 3 bulk. On the surface the forms of 1 and 2 agree but for the constant that compat adds;
    // 2 is the cheaper, and does not lose digits in a difference.
    int region(double r, GemForm form) const {
        if (r > size + ion_exclusion) return 3;
        return r > size || (r == size && (form == GemForm::minimal || !compat)) ? 2 : 1;
    }
};

// The minimal form of a region: phi = scale sum q term + Q offset.
struct GemKind {
    int number = 0;  // K0..K3
    bool salt = false, direct = true, minus_coulomb = false;
    double scale = 0, with_u = 0, with_g = 0, with_d = 0;

    std::string options() const;
    int slots() const;     // instructions for a pair, without those for the distance, the sum and special functions
    int specials() const;  // results of the special function unit
};
GemKind minimal_kind(const GemModel& model, int region);

// What kernels read as `model`, in the order of the enum in kernels/gem/include/gem.cl, in the kernels' own type.
std::vector<Scalar> constants(const GemModel& model, GemForm form, const GemKind& kind, double charge, double nearest,
                              DType dtype);

}  // namespace gpuopt
