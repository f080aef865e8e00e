// How many samples Joseph's method takes: planes that rays meet inside the volume, not those that they miss.
#include <algorithm>
#include <cmath>

#include "workloads/tomography/joseph.hpp"

namespace gpuopt {
namespace {

constexpr double most_rays = 1 << 20;  // of each main axis that are looked at; of more, evenly spread ones

struct Place {
    double at, slope;
};
struct Planes {
    double from, to;
};

// Those of `planes` where low <= at + k slope <= high.
Planes within(const Planes& planes, const Place& place, double low, double high) {
    if (place.slope == 0) return place.at >= low && place.at <= high ? planes : Planes{1, -1};
    const auto one = (low - place.at) / place.slope, other = (high - place.at) / place.slope;
    return {std::max(planes.from, std::min(one, other)), std::min(planes.to, std::max(one, other))};
}

std::size_t main_axis(const std::array<double, 3>& direction, bool planar) {
    const auto x = std::abs(direction[0]), y = std::abs(direction[1]), z = planar ? 0 : std::abs(direction[2]);
    return x >= 0.99999 * std::max(y, z) ? 0 : y >= 0.99999 * z ? 1 : 2;
}

// Where the ray of a line lies along the other two axes; false where its main axis is another.
bool places_of(const JosephTables& tables, const JosephRun& run, std::size_t line, double row, std::size_t main,
               bool planar, Place& b, Place& c) {
    const auto* const values = &tables.lines[8 * line];
    if (tables.sorted()) {
        b = {values[0], values[1]};
        c = {values[2] + row * values[4], values[3] + row * values[5]};
        return true;
    }
    const auto* const step = &tables.steps[8 * static_cast<std::size_t>(run.view)];
    std::array<double, 3> direction{}, moment{};
    for (std::size_t i = 0; i < 3; ++i) {
        direction[i] = values[i] + row * step[i];
        moment[i] = values[4 + i] + row * step[4 + i];
    }
    if (main_axis(direction, planar) != main) return false;
    const auto r = 1 / direction[main];
    const std::size_t first = main == 0 ? 1 : 0, second = main == 2 ? 1 : 2;
    // In a right-handed order of the axes the first of the others lies at -, the second at + its moment; y turns that.
    const auto sign = main == 1 ? -1.0 : 1.0;
    b = {-sign * moment[second] * r, direction[first] * r};
    c = {sign * moment[first] * r, direction[second] * r};
    return true;
}

}  // namespace

double joseph_samples(const TomographyGeometry& geometry, const JosephTables& tables) {
    const bool planar = geometry.dimensions == 2;
    double samples = 0;
    for (std::size_t main = 0; main < 3; ++main) {
        double lines = 0, found = 0, looked_at = 0;
        for (const auto& run : tables.runs[main]) lines += std::abs(double(run.count));
        const auto rows = geometry.rows;
        const auto apart = [](double many, double most) {
            return std::max<std::int64_t>(1, std::int64_t(many / most));
        };
        const auto row_step = apart(double(rows), 64), looked_rows = rows / row_step, middle_row = rows / 2,
                   step = apart(lines * double(looked_rows), most_rays);
        const auto na = geometry.count[main], nb = geometry.count[main == 0 ? 1 : 0],
                   nc = geometry.count[main == 2 ? 1 : 2], half_a = na / 2, half_b = nb / 2, half_c = nc / 2;
        std::int64_t next = step / 2, before = 0;
        for (const auto& run : tables.runs[main]) {
            const auto count = std::abs(std::int64_t(run.count));
            for (; next < before + count; next += step)
                for (auto row = row_step / 2; row < rows; row += row_step) {
                    ++looked_at;
                    Place b{}, c{};
                    const auto line = static_cast<std::size_t>(run.line + next - before);
                    if (!places_of(tables, run, line, double(row - middle_row), main, planar, b, c)) continue;
                    Planes met{-double(half_a), double(na - 1 - half_a)};
                    met = within(met, b, -double(half_b) - 1, double(nb - half_b));
                    if (!planar) met = within(met, c, -double(half_c) - 1, double(nc - half_c));
                    found += std::max(0.0, std::floor(met.to) - std::ceil(met.from) + 1);
                }
            before += count;
        }
        if (looked_at > 0) samples += found * lines * double(rows) / looked_at;
    }
    return samples;
}

}  // namespace gpuopt
