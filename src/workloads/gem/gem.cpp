#include "workloads/gem/gem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "runtime/image.hpp"
#include "runtime/trace.hpp"
#include "workloads/gem/packing.hpp"
#include "workloads/kept_plans.hpp"
#include "workloads/plan_builder.hpp"

namespace gpuopt {
namespace {

using gem::along_a_curve, gem::Box, gem::Packed, gem::Point, gem::Reals;

constexpr std::size_t most_model_bytes = 1024;
constexpr std::int64_t most = std::int64_t(1) << 28;  // kernels index four scalars each by int

// Builds the plan: points are sorted by region, and each region has launches of its own form, each short enough for
// drivers that end long kernels.
class Planner : PlanBuilder {
public:
    Planner(const GemArguments& arguments, const GemVariant& variant, const Parameters& parameters)
        : PlanBuilder(arguments.phi->session(), gem_workload(), variant, arguments.dtype,
                      {{"atoms", arguments.atoms}, {"count", arguments.points}, {"parts", 1}}, parameters),
          dtype_(arguments.dtype),
          input_(arguments),
          model_(arguments.model),
          phi_(arguments.phi),
          variant_(variant),
          xyz_(arguments.xyz, dtype_),
          place_(arguments.place, dtype_),
          box_(xyz_, arguments.atoms) {}

    // Lays everything out that a plan uploads.
    void pack() {
        const Traced span("plan");
        check();
        // From here on every size, option and launch is of the work-group that it becomes.
        if (variant_.group) parameters_["LOCAL"] = variant_.group(case_);
        sizes_["atoms"] = round_up(input_.atoms, variant_.step(case_));
        form_ = variant_.form(case_);
        arena_.emplace(session_, arena_bytes(), 10);
        pack_atoms();
        sort_points();
        pack_points();
        for (const auto& [region, range] : regions_) pack_model(region);
        if (!order_.empty())
            index_ = arena_->add(order_.data(), order_.size() * sizeof(order_[0]), "the points' order");
    }

    // What a plan that another call packed for has to be of, to serve this one: all but the contents of what is packed.
    PlanKey key() const {
        auto text = "gem " + row_.name;
        for (const auto& model : models_) text += '\0' + model.kind.options();
        PlanKey key(text, parameters_);
        key.add(dtype_).add(input_.atoms).add(input_.points).add(form_).add(model_.part).add(model_.compat);
        key.add(input_.shift != nullptr).add(input_.nearest > 0).add(order_.empty());
        for (const auto& [region, range] : regions_) key.add(region).add(range.first).add(range.second);
        return key;
    }
    // Whether its plans can be kept: all that differs from call to call is in one buffer.
    bool keeps() const { return arena_->gathers() && !in_image_; }
    void write_to(Buffer& arena) const { arena_->write_to(arena); }

    std::shared_ptr<Prepared> plan() {
        const Traced span("plan");
        target_ = order_.empty() ? phi_ : scratch(input_.points, "potentials by region");
        arena_->upload();
        if (in_image_) make_image();
        plan_->work.bytes["dram"] = double(facts(dtype_).bytes) *
                                    (4.0 * double(input_.atoms) + double(input_.shift ? 8 : 5) * double(input_.points));
        for (std::size_t i = 0; i < regions_.size(); ++i)
            add_region(regions_[i].first, models_[i], regions_[i].second.first, regions_[i].second.second);
        if (!order_.empty()) scatter();
        plan_->keep(arena_->held());
        plan_->keep_arrays({phi_});
        plan_->contents = arena_->whole();
        if (plan_->contents) plan_->scratch_bytes += plan_->contents->bytes();
        return plan_;
    }

private:
    // Of atoms (their places, depths, squares and tiles' centres), points, their shifts and order, and three models.
    std::size_t arena_bytes() const {
        const auto atoms = static_cast<std::size_t>(sizes_.at("atoms")), points = std::size_t(input_.points);
        return facts(dtype_).bytes * (10 * atoms + 8 * points + 8) + 4 * points + 3 * most_model_bytes;
    }

    std::size_t placed(const Packed& packed, const std::string& what) {
        return arena_->add(packed.bytes().data(), packed.bytes().size(), what);
    }

    // Atoms added as padding lie where the last one does and have no charge: what is finite of it is zero of them. Far
    // outside, their screening would not be finite for points that lie far away themselves.
    void pack_atoms() {
        const auto padded = sizes_.at("atoms");
        const bool expanded = case_.parameter_or("DISTANCE", 0) > 0, tiles = case_.parameter_or("DISTANCE", 0) == 2,
                   by_component = variant_.by_component && variant_.by_component(case_);
        const auto tile = case_.parameter_or("TILE", 1);
        const Reals charge(input_.charge, dtype_);
        std::vector<std::int32_t> order;
        if (tiles) order = along_a_curve(xyz_, input_.atoms, box_);
        const auto origin = this->origin();

        // An image of two dimensions has whole rows; what fills the last one up is never read.
        const auto source = case_.parameter_or("ATOMS", 0);
        const auto width = std::int64_t(1) << gem::log_width(padded);
        const auto held = source >= 4 ? round_up(padded, width) : padded;
        Packed atoms(4 * held, dtype_), depth(padded, dtype_), squares(expanded ? padded : 1, dtype_),
            centres(4 * (tiles ? padded / tile : 1), dtype_);
        Point middle{0, 0, 0};
        for (std::int64_t i = 0; i < padded; ++i) {
            const bool real = i < input_.atoms;
            const auto place = std::min(i, input_.atoms - 1);
            const auto from = tiles ? std::int64_t(order[static_cast<std::size_t>(place)]) : place;
            Point p{};
            for (std::size_t axis = 0; axis < 3; ++axis) p[axis] = xyz_.point(from)[axis] - origin[axis];
            if (tiles && i % tile == 0) {
                middle = tile_centre(order, origin, i, std::min(i + tile, input_.atoms));
                centres.set4(i / tile, middle, 0);
                for (std::size_t axis = 0; axis < 3; ++axis)  // rounded as the kernel reads it
                    middle[axis] = centres.get(4 * (i / tile) + static_cast<std::int64_t>(axis));
            }
            for (std::size_t axis = 0; axis < 3; ++axis) p[axis] -= middle[axis];
            const double q = real ? model_.coulomb * charge[from] : 0;
            if (real) total_ += q;
            const double size = model_.size, inner_r = input_.inner ? input_.inner[from] : 0;
            depth.set(i, form_ == GemForm::literal ? inner_r : ((size - inner_r) / size) * ((size + inner_r) / size));
            if (by_component) {
                for (std::int64_t axis = 0; axis < 3; ++axis)
                    atoms.set(axis * padded + i, p[static_cast<std::size_t>(axis)]);
                atoms.set(3 * padded + i, q);
                continue;
            }
            atoms.set4(i, p, q);
            if (!expanded) continue;
            double square = 0;  // of the rounded coordinates, which are stored times -2
            for (std::int64_t axis = 0; axis < 3; ++axis) {
                const double x = atoms.get(4 * i + axis);
                square += x * x;
                atoms.set(4 * i + axis, -2 * x);
            }
            squares.set(i, square);
        }
        depth_ = placed(depth, "atoms' depths");
        squares_ = placed(squares, "atoms' squares");
        centres_ = placed(centres, "tiles' centres");
        if (source < 2) atoms_ = placed(atoms, "atoms");
        else in_image_ = std::move(atoms);
    }

    void make_image() {
        const auto buffer = gem::upload(session_, *in_image_, "atoms");
        const auto padded = sizes_.at("atoms");
        if (case_.parameter_or("ATOMS", 0) >= 4) {
            const auto width = std::int64_t(1) << gem::log_width(padded);
            image2d_ =
                std::make_shared<Image2D>(session_, static_cast<std::size_t>(width),
                                          static_cast<std::size_t>(round_up(padded, width) / width), "the atoms");
            image2d_->fill_from(*buffer);
            plan_->keep(image2d_);
        } else {
            image_ = std::make_shared<ImageBuffer>(buffer, padded);
            plan_->keep(image_);
        }
    }

    // Expanded squares are accurate about a centre alone. Differences are so anywhere, of near places even exact, but
    // only of coordinates as they are given: an origin subtracted before would round them.
    Point origin() const { return case_.parameter_or("DISTANCE", 0) > 0 ? box_.centre() : Point{0, 0, 0}; }

    Point tile_centre(const std::vector<std::int32_t>& order, const Point& origin, std::int64_t from,
                      std::int64_t to) const {
        if (to <= from) return {0, 0, 0};
        Point low = xyz_.point(order[static_cast<std::size_t>(from)]), high = low;
        for (auto i = from + 1; i < to; ++i) {
            const auto p = xyz_.point(order[static_cast<std::size_t>(i)]);
            for (std::size_t axis = 0; axis < 3; ++axis) {
                low[axis] = std::min(low[axis], p[axis]);
                high[axis] = std::max(high[axis], p[axis]);
            }
        }
        return {(low[0] + high[0]) / 2 - origin[0], (low[1] + high[1]) / 2 - origin[1],
                (low[2] + high[2]) / 2 - origin[2]};
    }

    int region_of(std::int64_t point) const {
        return model_.part == GemPart::coulomb ? 2 : model_.region(input_.r[point], form_);  // one form serves all
    }

    // Where all points lie in one region they keep the caller's order.
    void sort_points() {
        std::array<std::int64_t, 4> counts{};
        for (std::int64_t i = 0; i < input_.points; ++i) ++counts[static_cast<std::size_t>(region_of(i))];
        std::array<std::int64_t, 4> from{};
        for (int region = 1; region <= 3; ++region) {
            const auto at = static_cast<std::size_t>(region);
            from[at] = from[at - 1] + counts[at - 1];
            if (counts[at] > 0) regions_.push_back({region, {from[at], counts[at]}});
        }
        if (regions_.size() < 2) return;
        order_.resize(static_cast<std::size_t>(input_.points));
        for (std::int64_t i = 0; i < input_.points; ++i)
            order_[static_cast<std::size_t>(from[static_cast<std::size_t>(region_of(i))]++)] =
                static_cast<std::int32_t>(i);
    }

    void pack_points() {
        const auto origin = this->origin();
        const Reals shift(input_.shift, dtype_);
        Packed points(4 * input_.points, dtype_), shifts(shift ? 4 * input_.points : 4, dtype_);
        for (std::int64_t i = 0; i < input_.points; ++i) {
            const auto from = order_.empty() ? i : order_[static_cast<std::size_t>(i)];
            auto p = place_.point(from);
            for (std::size_t axis = 0; axis < 3; ++axis) p[axis] -= origin[axis];
            const double r = input_.r[from], size = model_.size;
            points.set4(i, p, form_ == GemForm::minimal && region_of(from) == 1 ? (size - r) * (size + r) : r);
            if (shift) shifts.set4(i, shift.point(from), 0);
        }
        points_ = placed(points, "points");
        shifts_ = placed(shifts, "shifts");
    }

    // A launch takes a fraction of a second on a device that computes one pair a clock in each compute unit: a display
    // that shares the GPU, and a person who presses Ctrl-C, must not wait longer.
    std::int64_t points_a_launch(std::int64_t atoms) const {
        const auto& device = session_->device();
        const double clock_mhz = device.clock_mhz > 0 ? device.clock_mhz : 1000;
        const double pairs = 0.5 * clock_mhz * 1e6 * device.compute_units * (form_ == GemForm::literal ? 0.2 : 1);
        const auto group = variant_.vertices_a_group(case_);
        return std::max<std::int64_t>(1, std::int64_t(pairs / double(atoms) / double(group))) * group;
    }

    // Parts of the atoms: so many that the last wave of work-groups, which may be nearly empty, takes a small share.
    std::int64_t parts(std::int64_t points) const {
        const auto asked = case_.parameter_or("PARTS", 1), tiles = sizes_.at("atoms") / case_.parameter_or("TILE", 1);
        if (asked > 0) return std::min(asked, tiles);
        constexpr std::int64_t groups_a_unit = 512;
        const auto group = variant_.vertices_a_group(case_), groups = quotient_up(points, group);
        const auto wanted = quotient_up(groups_a_unit * session_->device().compute_units, groups);
        const auto room = (std::int64_t(64) << 20) / (points * std::int64_t(facts(dtype_).bytes));  // bytes of sums
        return std::max<std::int64_t>(1, std::min({wanted, tiles, room, std::int64_t(128)}));
    }

    // The model of a region: what kernels are compiled for, and where their constants lie.
    struct RegionModel {
        GemKind kind;
        std::size_t constants;
    };
    void pack_model(int region) {
        const auto kind = minimal_kind(model_, region);
        const auto values = constants(model_, form_, kind, total_, input_.nearest, dtype_);
        std::vector<unsigned char> bytes;
        for (const auto& value : values) bytes.insert(bytes.end(), value.bytes, value.bytes + value.size);
        if (bytes.size() > most_model_bytes) throw Error("a model of " + std::to_string(bytes.size()) + " bytes");
        models_.push_back({kind, arena_->add(bytes.data(), bytes.size(), "the model")});
    }

    void add_region(int region, const RegionModel& packed, std::int64_t from, std::int64_t count) {
        const auto& kind = packed.kind;
        const auto& model = arena_->at(packed.constants);
        const auto part = std::to_string(static_cast<int>(model_.part));
        auto levels = parameters_;
        if (levels.count("PARTS"))
            levels["PARTS"] = case_.parameter_or("PARTS", 1) == 1;  // one program for all ways to split
        auto text = options(levels) + (input_.nearest > 0 ? " -DCLAMP=1" : "");
        const bool minimal = form_ == GemForm::minimal;
        if (image2d_) text += " -DLOG_WIDTH=" + std::to_string(gem::log_width(sizes_.at("atoms")));
        if (minimal) text += kind.options();
        if (case_.parameter_or("SPECIALIZED", 0) == 1) {
            text += " -DREGION=" + std::to_string(region) + " -DPART=" + part;
            if (!minimal) text += std::string(" -DSALT=") + (input_.shift ? "1" : "0");
        }
        const auto kernel = program(text);
        const auto slice = std::min(points_a_launch(sizes_.at("atoms")), count);
        const auto split = variant_.parts ? parts(slice) : 1;
        sizes_["parts"] = split;
        const bool summed = variant_.parts && case_.parameter_or("PARTS", 1) != 1;
        const auto sums = variant_.parts ? scratch(summed ? split * slice : 1, "sums of parts") : nullptr;
        const auto tiles = sizes_.at("atoms") / case_.parameter_or("TILE", 1);
        for (std::int64_t first = from; first < from + count; first += slice) {
            sizes_["count"] = std::min(slice, from + count - first);
            add_variant(kernel, variant_.launch(case_), false);
            if (image2d_) plan_->arg(image2d_);
            else if (image_) plan_->arg(image_);
            else plan_->arg(arena_->at(atoms_));
            plan_->arg(arena_->at(depth_))
                .arg(cl_int(sizes_.at("atoms")))
                .arg(arena_->at(points_))
                .arg(arena_->at(shifts_))
                .arg(cl_int(first))
                .arg(cl_int(sizes_.at("count")))
                .arg(model)
                .arg(cl_int(region))
                .arg(cl_int(input_.shift != nullptr))
                .arg(cl_int(static_cast<int>(model_.part)))
                .arg(target_);
            if (!variant_.parts) continue;
            plan_->arg(arena_->at(squares_)).arg(arena_->at(centres_)).arg(cl_int(quotient_up(tiles, split))).arg(sums);
            if (!summed) continue;
            add_pass("finish", options() + kind.options(), launch_1d(sizes_.at("count"), 64));
            plan_->arg(sums)
                .arg(cl_int(split))
                .arg(cl_int(first))
                .arg(cl_int(sizes_.at("count")))
                .arg(arena_->at(points_))
                .arg(model)
                .arg(target_);
        }
        count_work(kind, count);
    }

    void scatter() {
        add_pass("scatter", options(), launch_1d(input_.points, 64));
        plan_->arg(target_).arg(arena_->at(index_)).arg(cl_int(input_.points)).arg(phi_);
    }

    // The least that any kernel of this form must do: instructions, and results of the special function unit. The
    // literal formulas need at least the distance, a root and a division.
    void count_work(const GemKind& kind, std::int64_t points) {
        const double pairs = double(points) * double(input_.atoms);
        const bool expanded = case_.parameter_or("DISTANCE", 0) > 0, with_t = kind.salt && kind.number != 0;
        double slots = (expanded ? 4 : 6) + (input_.nearest > 0 ? 1 : 0) + (with_t ? 4 : 0) + 1;
        double specials = 1;
        if (form_ == GemForm::minimal) {
            slots += kind.slots();
            specials = kind.specials();
        }
        const bool estimate = case_.parameter_or("RSQRT", 0) == 3 ||
                              case_.parameter_or("RSQRT", 0) == 5;  // plus at least one Newton step
        plan_->work.special["issue"] += pairs * (slots + specials * (estimate ? 5 : 1));
        if (case_.parameter_or("RSQRT", 0) == 4 && kind.number == 0)
            specials -= 1 / (4.0 * double(case_.parameter_or("VERTICES", 1)));
        if (!estimate && dtype_ == DType::f32) plan_->work.special["native_rsqrt"] += pairs * specials;
        // On a CPU one fetch serves all lanes of a vector.
        const auto source = case_.parameter_or("ATOMS", 0);
        if ((source == 2 || source == 4) && !on_cpu()) plan_->work.special["fetch"] += pairs;
    }

    DType dtype_;
    const GemArguments& input_;
    const GemModel& model_;
    std::shared_ptr<Buffer> phi_;
    const GemVariant& variant_;
    Reals xyz_, place_;
    Box box_;
    GemForm form_ = GemForm::minimal;
    double total_ = 0;                                                            // charge, times K
    std::vector<std::pair<int, std::pair<std::int64_t, std::int64_t>>> regions_;  // region, first point and count
    std::vector<std::int32_t> order_;  // the caller's index of each point; empty: the same order
    std::optional<gem::Arena> arena_;
    std::size_t atoms_ = 0, depth_ = 0, squares_ = 0, centres_ = 0, points_ = 0, shifts_ = 0,
                index_ = 0;            // pieces of it
    std::vector<RegionModel> models_;  // as regions_
    std::shared_ptr<Buffer> target_;
    std::optional<Packed> in_image_;
    std::shared_ptr<ImageBuffer> image_;  // one of the two, where there is an image
    std::shared_ptr<Image2D> image2d_;
};

void check_count(const char* name, std::int64_t count) {
    if (count < 1) throw ArrayError(name, "there are none", "give at least one");
    if (count > most) throw ArrayError(name, std::to_string(count) + " are too many", "give at most 2^28 at a time");
}

void require_complete(const GemArguments& arguments) {
    check_count("atoms", arguments.atoms);
    check_count("points", arguments.points);
    const auto& model = arguments.model;
    if (model.salt() && model.part != GemPart::coulomb && !arguments.shift)
        throw ArrayError("shift", "it is missing, and there is salt", "give the way to the edge of the ion-free layer");
}

}  // namespace

std::shared_ptr<Prepared> prepare_gem(const GemArguments& arguments, const std::string& variant,
                                      const Parameters& parameters) {
    require_complete(arguments);
    Planner planner(arguments, row_of<GemVariant>(gem_workload(), variant), parameters);
    planner.pack();
    return planner.plan();
}

void run_gem(const GemArguments& arguments, const std::string& variant, const Parameters& parameters) {
    require_complete(arguments);
    Planner planner(arguments, row_of<GemVariant>(gem_workload(), variant), parameters);
    planner.pack();
    if (!planner.keeps()) return planner.plan()->run();
    const auto& session = arguments.phi->session();
    run_kept(
        *session, session->plans(), planner.key(), {arguments.phi}, [&] { return planner.plan(); }, true,
        [&](Prepared& plan) { planner.write_to(*plan.contents); });
}

}  // namespace gpuopt
