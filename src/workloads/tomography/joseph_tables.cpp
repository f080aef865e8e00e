// Rays of a scan, from its free vectors.
#include <algorithm>
#include <cmath>

#include "workloads/tomography/joseph.hpp"

namespace gpuopt {
namespace {

using Vector = std::array<double, 3>;

constexpr double most_rows_of_a_voxel = 4096;  // beyond it rows coincide in fp32
constexpr double in_plane = 1e-9;              // of a voxel or a direction: less is rounding

// Of `count` cells, how many lie before the middle one, n / 2.
double before_middle(std::int64_t count) {
    const auto cells = count / 2;
    return double(cells);
}

Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double length(const Vector& a) { return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }
Vector scaled(double factor, const Vector& a) { return {factor * a[0], factor * a[1], factor * a[2]}; }
Vector sum(const Vector& a, const Vector& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

// A line through space: any of its points is place + length * direction, and place x direction is its moment.
struct Ray {
    Vector direction, moment;
};

// The rays of one view, in voxels from the volume's middle one.
class View {
public:
    View(const TomographyGeometry& geometry, std::int64_t view) : geometry_(geometry) {
        const auto row = geometry.vector(view, 3);
        column_ = geometry.vector(view, 2);
        step_ = voxels(row);
        const auto above = before_middle(geometry.rows) - 0.5 * double(geometry.rows - 1);
        centre_ = sum(geometry.vector(view, 1), scaled(above, row));
        if (geometry.radius > 0) {
            pitch_ = length(column_);
            const auto normal = cross(column_, row);
            inwards_ = scaled(1 / length(normal), normal);
        }
        const auto source = geometry.vector(view, 0);
        from_ = geometry.parallel ? scaled(-1 / length(source), voxels(source)) : place(source);
    }

    Ray of(std::int64_t column) const {
        const auto at = place(sum(centre_, along(double(column) - 0.5 * double(geometry_.columns - 1))));
        if (geometry_.parallel) return {from_, cross(at, from_)};
        const auto direction = sum(at, scaled(-1, from_));
        return {direction, cross(from_, direction)};
    }

    // What one more row adds.
    Ray step() const {
        if (geometry_.parallel) return {{0, 0, 0}, cross(step_, from_)};
        return {step_, cross(from_, step_)};
    }

    bool upright() const { return std::hypot(step_[0], step_[1]) <= in_plane * length(step_); }

private:
    Vector along(double columns) const {
        if (geometry_.radius <= 0) return scaled(columns, column_);
        const auto angle = columns * pitch_ / geometry_.radius, half = std::sin(angle / 2);
        return sum(scaled(geometry_.radius * std::sin(angle) / pitch_, column_),
                   scaled(2 * geometry_.radius * half * half, inwards_));
    }
    Vector voxels(const Vector& mm) const {
        return {mm[0] / geometry_.voxel[0], mm[1] / geometry_.voxel[1], mm[2] / geometry_.voxel[2]};
    }
    Vector place(const Vector& mm) const {
        auto from = mm;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const auto beyond = geometry_.count[axis] % 2 == 0 ? 0.5 : 0.0;
            from[axis] -= geometry_.middle[axis] + beyond * geometry_.voxel[axis];
        }
        return voxels(from);
    }

    const TomographyGeometry& geometry_;
    Vector column_{}, step_{}, centre_{}, inwards_{}, from_{};
    double pitch_ = 0;
};

double rows_above(const TomographyGeometry& geometry) {
    return double(geometry.rows - 1) - before_middle(geometry.rows);
}

// The least and the largest |direction| of a column's rays along an axis.
std::array<double, 2> reach(const TomographyGeometry& geometry, const Ray& ray, const Ray& step, std::size_t axis) {
    const auto low = ray.direction[axis] - before_middle(geometry.rows) * step.direction[axis];
    const auto high = ray.direction[axis] + rows_above(geometry) * step.direction[axis];
    const auto least = low * high <= 0 ? 0 : std::min(std::abs(low), std::abs(high));
    return {least, std::max(std::abs(low), std::abs(high))};
}

std::size_t upright_main(const Ray& ray) {
    return std::abs(ray.direction[0]) >= (1 - joseph_equal) * std::abs(ray.direction[1]) ? 0 : 1;
}

// Of scans whose rows are parallel to z, and of those in a plane.
class Sorted {
public:
    explicit Sorted(const TomographyGeometry& geometry) : geometry_(geometry), planar_(geometry.dimensions == 2) {
        tables_.form = planar_ ? JosephTables::Form::planar : JosephTables::Form::upright;
        tables_.lines.reserve(static_cast<std::size_t>(8 * geometry.views * geometry.columns));
    }

    bool add(std::int64_t view) {
        const View rays(geometry_, view);
        if (!planar_ && !rays.upright()) return false;
        const auto step = rays.step();
        std::vector<Ray> columns;
        for (std::int64_t column = 0; column < geometry_.columns; ++column) {
            columns.push_back(rays.of(column));
            const auto& ray = columns.back();
            const auto wide = std::max(std::abs(ray.direction[0]), std::abs(ray.direction[1]));
            if (!planar_ && reach(geometry_, ray, step, 2)[1] >= (1 - 2 * joseph_equal) * wide) return false;
        }
        const auto same = [&](const Ray& a, const Ray& b) {
            const auto main = upright_main(a);
            return main == upright_main(b) && a.direction[main] * b.direction[main] > 0;
        };
        for (std::size_t first = 0, last; first < columns.size(); first = last) {
            for (last = first + 1; last < columns.size() && same(columns[first], columns[last]);) ++last;
            if (!add_run(view, columns, step, first, last)) return false;
        }
        return true;
    }

    JosephTables take() { return std::move(tables_); }

private:
    bool add_run(std::int64_t view, const std::vector<Ray>& columns, const Ray& step, std::size_t first,
                 std::size_t last) {
        const auto main = upright_main(columns[first]);
        const auto nearest = -before_middle(geometry_.count[main]);
        const std::array<double, 2> ends = {nearest, nearest + double(geometry_.count[main] - 1)};
        std::vector<std::array<double, 6>> lines;
        for (auto column = first; column < last; ++column) {
            lines.push_back(line(columns[column], step, main));
            const auto& now = lines.back();
            const auto near = now[4] + ends[0] * now[5], far = now[4] + ends[1] * now[5];
            const auto least = std::min(std::abs(near), std::abs(far));
            if (!planar_ && (near * far <= 0 || 2 / least > most_rows_of_a_voxel)) return false;
        }
        // Where the rays fan out to one side on both of the volume's faces, they do between.
        int rise = 0;
        for (std::size_t i = 1; i < lines.size(); ++i)
            for (const auto plane : ends) {
                const auto more = lines[i][0] + plane * lines[i][1] - lines[i - 1][0] - plane * lines[i - 1][1];
                const auto sign = more > 0 ? 1 : more < 0 ? -1 : 0;
                if (sign == 0 || (rise != 0 && rise != sign)) return false;
                rise = sign;
            }
        const auto count = static_cast<std::int32_t>(lines.size());
        if (rise < 0) std::reverse(lines.begin(), lines.end());
        tables_.runs[main].push_back({static_cast<std::int32_t>(view),
                                      static_cast<std::int32_t>(rise < 0 ? last - 1 : first), rise < 0 ? -count : count,
                                      static_cast<std::int32_t>(tables_.lines.size() / 8)});
        for (const auto& values : lines) {
            for (const auto value : values) tables_.lines.push_back(static_cast<float>(value));
            tables_.lines.resize(tables_.lines.size() + 2);
        }
        return true;
    }

    std::array<double, 6> line(const Ray& ray, const Ray& step, std::size_t main) const {
        const auto other = 1 - main;
        const auto sign = main == 0 ? 1.0 : -1.0, along = ray.direction[main];
        if (planar_) return {-sign * ray.moment[2] / along, ray.direction[other] / along};
        return {-sign * ray.moment[2] / along, ray.direction[other] / along,      sign * ray.moment[other] / along,
                ray.direction[2] / along,      sign * step.moment[other] / along, step.direction[2] / along};
    }

    const TomographyGeometry& geometry_;
    const bool planar_;
    JosephTables tables_;
};

// Whether a ray of the column may have this main axis.
bool may_be_main(const TomographyGeometry& geometry, const Ray& ray, const Ray& step, std::size_t axis) {
    const auto most = reach(geometry, ray, step, axis)[1];
    if (most == 0 || (axis == 2 && geometry.dimensions == 2)) return false;
    for (std::size_t other = 0; other < 3; ++other)
        if (other != axis && most < (1 - 2 * joseph_equal) * reach(geometry, ray, step, other)[0]) return false;
    return true;
}

JosephTables any_tables(const TomographyGeometry& geometry) {
    JosephTables tables;
    const auto put = [](std::vector<float>& to, const Ray& ray) {
        for (const auto* vector : {&ray.direction, &ray.moment}) {
            for (const auto value : *vector) to.push_back(static_cast<float>(value));
            to.push_back(0);
        }
    };
    for (std::int64_t view = 0; view < geometry.views; ++view) {
        const View rays(geometry, view);
        const auto step = rays.step();
        put(tables.steps, step);
        std::array<bool, 3> mains{};
        for (std::int64_t column = 0; column < geometry.columns; ++column) {
            const auto ray = rays.of(column);
            put(tables.lines, ray);
            for (std::size_t axis = 0; axis < 3; ++axis)
                mains[axis] = mains[axis] || may_be_main(geometry, ray, step, axis);
        }
        for (std::size_t axis = 0; axis < 3; ++axis)
            if (mains[axis])
                tables.runs[axis].push_back({static_cast<std::int32_t>(view), 0,
                                             static_cast<std::int32_t>(geometry.columns),
                                             static_cast<std::int32_t>(view * geometry.columns)});
    }
    return tables;
}

}  // namespace

JosephTables joseph_tables(const TomographyGeometry& geometry, bool any) {
    if (!any) {
        Sorted sorted(geometry);
        bool all = true;
        for (std::int64_t view = 0; all && view < geometry.views; ++view) all = sorted.add(view);
        if (all) return sorted.take();
    }
    return any_tables(geometry);
}

TomographyGeometry flattened(const TomographyGeometry& geometry) {
    if (geometry.dimensions == 2 || geometry.count[2] > 1 || geometry.rows > 1) return geometry;
    const auto off = [&](double z) { return std::abs(z) > in_plane * geometry.voxel[2]; };
    for (std::int64_t view = 0; view < geometry.views; ++view) {
        const auto source = geometry.vector(view, 0), centre = geometry.vector(view, 1),
                   column = geometry.vector(view, 2), row = geometry.vector(view, 3);
        const auto along = std::hypot(row[0], row[1]), level = geometry.middle[2];
        if (off(centre[2] - level) || off(column[2] * double(geometry.columns)) || along > in_plane * length(row) ||
            (geometry.parallel ? std::abs(source[2]) > in_plane * length(source) : off(source[2] - level)))
            return geometry;
    }
    auto flat = geometry;
    flat.dimensions = 2;
    return flat;
}

}  // namespace gpuopt
