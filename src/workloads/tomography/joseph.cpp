#include "workloads/tomography/joseph.hpp"

#include <algorithm>
#include <cstdlib>

#include "workloads/plan_builder.hpp"

namespace gpuopt {
namespace {

using Rays = TomographyVariant::Rays;

constexpr std::int64_t least_lanes = 8;        // fewest work-items of a work-group along z
constexpr std::int64_t zeros_around = 2;       // voxels around the copy, read where rays leave the volume
constexpr std::int64_t views_of_records = 64;  // as many as fit any constant buffer

std::int64_t count_of(const JosephRun& run) { return std::abs(run.count); }
std::int64_t longest(const std::vector<JosephRun>& runs) {
    std::int64_t most = 0;
    for (const auto& run : runs) most = std::max(most, count_of(run));
    return most;
}

// The volume with a main axis first: counts, steps in its array and voxel sizes along that axis and the other two.
struct Seen {
    std::array<std::int64_t, 3> count, step;
    cl_float4 cell;
};
Seen seen_from(const TomographyGeometry& geometry, std::size_t main) {
    const std::array<std::size_t, 3> axes = {main, main == 0 ? std::size_t(1) : 0, main == 2 ? std::size_t(1) : 2};
    const std::array<std::int64_t, 3> steps = {1, geometry.count[0], geometry.count[0] * geometry.count[1]};
    Seen seen{};
    for (std::size_t i = 0; i < 3; ++i) {
        seen.count[i] = geometry.count[axes[i]];
        seen.step[i] = steps[axes[i]];
        seen.cell.s[i] = static_cast<float>(geometry.voxel[axes[i]]);
    }
    if (geometry.dimensions == 2) seen.cell.s[2] = 0;
    return seen;
}

Sizes sizes_of(const TomographyGeometry& geometry) {
    return {{"nx", geometry.count[0]},       {"ny", geometry.count[1]}, {"nz", geometry.count[2]},
            {"views", geometry.views},       {"rows", geometry.rows},   {"columns", geometry.columns},
            {"curved", geometry.radius > 0}, {"equiangular", 0}};
}

// Plans of projectors along rays. For each main axis that some rays have: the copies that the kernel reads, then the
// kernel.
class Planner : PlanBuilder {
public:
    Planner(std::shared_ptr<JosephScratch> scratch, const JosephArguments& arguments, const TomographyVariant& variant,
            const Parameters& parameters)
        : PlanBuilder(scratch->session(), tomography_workload(), variant, DType::f32, sizes_of(arguments.geometry),
                      parameters),
          scratch_(std::move(scratch)),
          arguments_(arguments),
          variant_(variant),
          tables_(joseph_tables(arguments.geometry, variant.rays == Rays::gather_in_voxels)) {
        sizes_["upright"] = tables_.form == JosephTables::Form::upright;
        sizes_["planar"] = tables_.form == JosephTables::Form::planar;
    }

    std::shared_ptr<ProjectorPlan> plan() {
        check();
        for (const auto* table : {&tables_.lines, &tables_.steps}) require_fp32(table->data(), table->size());
        lines_ = uploaded(tables_.lines, "the rays' lines");
        steps_ = tables_.sorted() ? lines_ : uploaded(tables_.steps, "what rows add to rays");
        const bool forward = variant_.rays == Rays::through_copy || variant_.rays == Rays::through_images;
        bool accumulate = arguments_.accumulate;
        for (std::size_t main = 0; main < 3; ++main) {
            const auto& runs = tables_.runs[main];
            if (runs.empty()) continue;
            runs_ = uploaded(runs, "the runs of rays");
            if (forward) add_forward(main, arguments_.accumulate);
            else if (variant_.rays == Rays::gather_in_cells) add_gather(main, accumulate);
            else if (variant_.rays == Rays::gather_in_planes) add_gather_planes(main, accumulate);
            else add_gather_any(main, accumulate);
        }
        plan_->work = work();
        plan_->source = forward ? arguments_.volume : arguments_.projections;
        const auto arrays = std::make_shared<ProjectorPlan::Arrays>();
        *arrays = {arguments_.volume, arguments_.projections};
        plan_->keep(arrays);
        return std::make_shared<ProjectorPlan>(plan_, std::move(places_), arrays, geometry_);
    }

private:
    void volume() {
        places_.push_back({plan_->steps().size() - 1, plan_->next_argument(), true});
        plan_->arg(arguments_.volume);
    }
    void projections() {
        places_.push_back({plan_->steps().size() - 1, plan_->next_argument(), false});
        plan_->arg(arguments_.projections);
    }
    std::string kernel_options(std::size_t main, const Parameters& levels) const {
        auto text = options(levels);
        if (!tables_.sorted()) text += " -DANY=1 -DMAIN=" + std::to_string(main);
        if (geometry_.dimensions == 2) text += " -DPLANAR=1";
        if (!on_cpu()) text += " -DGPU";
        return text;
    }
    void pass(const std::string& name, const std::string& more, const Launch& launch) {
        add_pass(name, "-cl-std=CL1.2" + more, launch);
    }
    void add_main(const std::string& options, const Launch& launch) {
        add_variant(options, launch, !has_main_);
        has_main_ = true;
    }

    // Runs from `first` to before `beyond`, in blocks that fit a launch: `add(first, count)`.
    template <class Add>
    static void in_launches(std::int64_t first, std::int64_t beyond, const Add& add) {
        for (auto from = first; from < beyond; from += most_groups_yz)
            add(from, std::min(most_groups_yz, beyond - from));
    }

    // The copy that rays read: its axes from the outermost to the one side by side in memory, the zeros around them,
    // and floats from a voxel to the next.
    struct Copy {
        std::array<std::size_t, 3> axes{};
        std::array<std::int64_t, 3> margin{}, step{};
        std::int64_t floats = 0;

        std::int64_t step_of(std::size_t axis) const {
            return step[static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin())];
        }
        std::int64_t middle(const TomographyGeometry& geometry) const {
            std::int64_t place = 0;
            for (std::size_t i = 0; i < 3; ++i) place += (geometry.count[axes[i]] / 2 + margin[i]) * step[i];
            return place;
        }
    };
    Copy copy_for(std::size_t main) const {
        const bool planar = geometry_.dimensions == 2;
        Copy copy;
        if (planar) copy.axes = {2, main, 1 - main};
        else if (main == 2) copy.axes = {2, 0, 1};
        else copy.axes = {1, 0, 2};  // one copy serves both main axes, x and y
        copy.margin = planar ? std::array<std::int64_t, 3>{0, 0, zeros_around}
                             : std::array<std::int64_t, 3>{zeros_around, zeros_around, zeros_around};
        const auto extent = [&](std::size_t i) { return geometry_.count[copy.axes[i]] + 2 * copy.margin[i]; };
        copy.step[2] = 1;
        copy.step[1] = round_up(extent(2), 8);
        copy.step[0] = copy.step[1] * extent(1);
        copy.floats = copy.step[0] * extent(0);
        return copy;
    }

    // Adds the copy to the plan, unless the step before made the same one. Then it is that step's buffer: asked again,
    // the shared memory may be another piece by now, which another thread's plan needed larger.
    std::shared_ptr<Buffer> add_copy(const Copy& copy) {
        if (copied_to_ && copied_ == copy.axes) return copied_to_;
        auto buffer = scratch_->buffer(static_cast<std::size_t>(copy.floats) * 4, "the padded copy of the volume");
        plan_->keep(buffer);
        copied_ = copy.axes;
        copied_to_ = buffer;
        const std::array<std::int64_t, 3> steps = {1, geometry_.count[0], geometry_.count[0] * geometry_.count[1]};
        const auto high = geometry_.count[copy.axes[0]] + 2 * copy.margin[0];
        const auto down = geometry_.count[copy.axes[1]] + 2 * copy.margin[1];
        pass("joseph_copy", copy.axes[1] == 0 ? " -DACROSS=1" : "",
             launch_3d({round_up(copy.step[1], 32), quotient_up(down, 32) * 8, high}, 32, 8));
        volume();
        plan_->arg(buffer);
        for (const auto axis : copy.axes) ints({geometry_.count[axis]});
        for (const auto axis : copy.axes) longs({steps[axis]});
        for (const auto margin : copy.margin) ints({margin});
        ints({copy.step[1]});
        return buffer;
    }

    std::shared_ptr<ImageStack> add_layers(const Seen& seen, std::size_t main) {
        const auto [na, nb, nc] = seen.count;
        const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
        auto layers = scratch_->layers({size(nb), size(nc), size(na)});
        plan_->keep(layers);
        pass("joseph_layers", main == 0 ? " -DALONG_X=1" : "",
             launch_3d({round_up(nb, 32), quotient_up(na, 32) * 8, nc}, 32, 8));
        volume();
        plan_->arg(layers);
        ints({na, nb, nc});
        longs(seen.step);
        return layers;
    }

    void add_forward(std::size_t main, bool accumulate) {
        const auto seen = seen_from(geometry_, main);
        const bool texture = variant_.rays == Rays::through_images, planar = geometry_.dimensions == 2;
        std::shared_ptr<ImageStack> layers;
        std::shared_ptr<Buffer> planes;
        std::int64_t middle = 0, step_a = 0, step_b = 0;
        auto levels = parameters_;
        if (texture) {
            layers = add_layers(seen, main);
        } else {
            const auto copy = copy_for(main);
            planes = add_copy(copy);
            middle = copy.middle(geometry_);
            step_a = copy.step_of(main);
            step_b = copy.step_of(main == 0 ? 1 : 0);
        }
        if (planar && !texture) {  // one row: work-items lie side by side along the columns
            levels["LOCAL_U"] *= levels["LOCAL_V"];
            levels["LOCAL_V"] = levels["RAYS"] = 1;
        }
        auto text = kernel_options(main, levels);
        // As constants the steps make the second taps' addresses free. On CPUs a build for each size costs much and
        // gains nothing.
        if (!texture && !on_cpu())
            text += " -DSTEP_A=" + std::to_string(step_a) + " -DSTEP_B=" + std::to_string(step_b);
        const auto& runs = tables_.runs[main];
        const auto local_u = levels["LOCAL_U"], local_v = levels["LOCAL_V"];
        const auto across = quotient_up(longest(runs), local_u),
                   down = quotient_up(geometry_.rows, local_v * levels["RAYS"]);
        const auto local_x = texture ? local_u : local_v, local_y = texture ? local_v : local_u;
        in_launches(0, static_cast<std::int64_t>(runs.size()), [&](std::int64_t first, std::int64_t count) {
            add_main(text, launch_3d({across * local_x, count * local_y, down}, local_x, local_y));
            if (texture) plan_->arg(layers);
            else plan_->arg(planes);
            plan_->arg(lines_).arg(steps_).arg(runs_);
            projections();
            ints({first, seen.count[0], seen.count[1], seen.count[2]});
            longs({middle, step_a, step_b});
            ints({geometry_.rows, geometry_.columns});
            plan_->arg(seen.cell).arg(cl_int(accumulate));
        });
    }

    void add_gather(std::size_t main, bool& accumulate) {
        const auto seen = seen_from(geometry_, main);
        const auto [na, nb, nz] = seen.count;
        const auto pitch = round_up(geometry_.rows, 8);
        auto levels = parameters_;
        levels.erase("VIEWS");
        // A group is no higher than a volume of few slices needs. Its lowest work-items only add to others' sums.
        auto &local_z = levels["LOCAL_Z"], &along = levels["ALONG"];
        while (along > 1 && local_z * along > 2 * nz) along /= 2;
        while (local_z > least_lanes && local_z > 2 * nz) local_z /= 2;
        const auto launch =
            launch_3d({quotient_up(nz, local_z * along - 1) * local_z, na, quotient_up(nb, levels["ACROSS"])}, local_z,
                      levels["LOCAL_A"]);
        const auto& runs = tables_.runs[main];
        const auto most_lines = most_lines_of(pitch);
        for (std::size_t first = 0, beyond; first < runs.size(); first = beyond) {
            const std::int64_t first_line = runs[first].line;
            auto lines = count_of(runs[first]);
            for (beyond = first + 1; beyond < runs.size() && beyond - first < std::size_t(most_groups_yz); ++beyond) {
                const auto with = runs[beyond].line + count_of(runs[beyond]) - first_line;
                if (with > most_lines) break;
                lines = with;
            }
            const auto q = scratch_->buffer(static_cast<std::size_t>(lines * pitch) * 4, "rays' values by columns");
            plan_->keep(q);
            const auto count = static_cast<std::int64_t>(beyond - first);
            pass("joseph_rays", "", launch_3d({longest(runs), quotient_up(pitch, 32) * 8, count}, 32, 8));
            projections();
            plan_->arg(lines_).arg(runs_).arg(q);
            ints({static_cast<std::int64_t>(first), first_line, geometry_.rows, geometry_.columns, pitch});
            plan_->arg(seen.cell);
            add_main(kernel_options(main, levels), launch);
            plan_->arg(q).arg(lines_).arg(runs_);
            volume();
            ints({static_cast<std::int64_t>(first), count, first_line, na, nb, nz});
            longs(seen.step);
            const auto below = geometry_.rows / 2, above = geometry_.rows - below;  // the middle row, and from it on
            ints({pitch, below});
            plan_->arg(cl_float(-below)).arg(cl_float(above));
            plan_->arg(cl_int(accumulate));
            accumulate = true;
        }
    }

    void add_gather_planes(std::size_t main, bool& accumulate) {
        const auto seen = seen_from(geometry_, main);
        const auto [na, nb, nc] = seen.count;
        const auto& runs = tables_.runs[main];
        const auto count = static_cast<std::int64_t>(runs.size());
        const auto q = scratch_->buffer(tables_.lines.size() / 8 * 4, "rays' values by lines");
        plan_->keep(q);
        pass("joseph_rays", "", launch_3d({longest(runs), 8, count}, 32, 8));
        projections();
        plan_->arg(lines_).arg(runs_).arg(q);
        ints({0, 0, 1, geometry_.columns, 1});  // the first run and line, rows, columns, rays of a line
        plan_->arg(seen.cell);
        add_main(
            kernel_options(main, parameters_),
            launch_3d({quotient_up(na, parameters_.at("PLANES")), quotient_up(nb, parameters_.at("ACROSS")), 1}, 1, 1));
        plan_->arg(q).arg(lines_).arg(runs_);
        volume();
        ints({count, na, nb});
        longs({seen.step[0], seen.step[1]});
        plan_->arg(cl_int(accumulate));
        accumulate = true;
    }

    // Most lines of a block: those of VIEWS views, fewer where memory is short or indices would take more than 32 bits.
    // A block has at least one run.
    std::int64_t most_lines_of(std::int64_t pitch) const {
        const auto& device = session_->device();
        const auto free =
            device.global_bytes - std::min<std::uint64_t>(device.global_bytes, session_->allocated_bytes());
        const auto room = static_cast<std::int64_t>(std::min<std::uint64_t>(free / 2, device.max_alloc_bytes));
        return std::min({case_.parameter("VIEWS") * geometry_.columns, room / (4 * pitch), INT32_MAX / pitch});
    }

    void add_gather_any(std::size_t main, bool& accumulate) {
        const auto seen = seen_from(geometry_, main);
        const auto& runs = tables_.runs[main];
        const auto records = view_records(geometry_, BackWeight::none, 1);
        const auto local_x = case_.parameter("LOCAL_X"), local_y = case_.parameter("LOCAL_Y");
        auto text = kernel_options(main, parameters_) + " -DCURVED=" + std::to_string(geometry_.radius > 0) +
                    " -DDIMENSIONS=" + std::to_string(geometry_.dimensions);
        for (std::size_t first = 0; first < runs.size(); first += std::size_t(views_of_records)) {
            const auto count = std::min(runs.size() - first, std::size_t(views_of_records));
            std::vector<float> some;
            double angle = 0;
            for (auto i = first; i < first + count; ++i) {
                const auto from = records.begin() + runs[i].view * view_floats;
                some.insert(some.end(), from, from + view_floats);
                if (geometry_.radius > 0) angle = std::max(angle, double(1 / from[17]));
            }
            const auto views = uploaded(some, "the views' geometry");
            add_main(text, launch_3d({geometry_.count[0], geometry_.count[1], geometry_.count[2]}, local_x, local_y));
            projections();
            plan_->arg(lines_).arg(steps_).arg(runs_).arg(views);
            volume();
            ints({static_cast<std::int64_t>(first), static_cast<std::int64_t>(count), geometry_.count[0],
                  geometry_.count[1], geometry_.count[2], geometry_.rows, geometry_.columns});
            cl_float4 size{};
            for (std::size_t axis = 0; axis < 3; ++axis) size.s[axis] = static_cast<float>(geometry_.voxel[axis]);
            plan_->arg(seen.cell).arg(size).arg(cl_float(angle)).arg(cl_int(accumulate));
            accumulate = true;
        }
    }

    // What rays take inside the volume. (Papers count rays times planes across their main axis, also outside: the
    // problem's "sample".)
    Work work() const {
        const auto samples = joseph_samples(geometry_, tables_);
        Work work;
        work.flops = 9 * samples;
        if (variant_.rays == Rays::through_images) work.special["fetch.linear"] = samples;
        else work.bytes["requested"] = 4 * 4 * samples;
        work.bytes["dram"] = 4 * (double(geometry_.voxels()) + double(geometry_.pixels()));
        return work;
    }

    std::shared_ptr<JosephScratch> scratch_;
    JosephArguments arguments_;
    const TomographyGeometry& geometry_ = arguments_.geometry;
    const TomographyVariant& variant_;
    JosephTables tables_;
    std::vector<ProjectorPlan::Place> places_;
    std::shared_ptr<Buffer> lines_, steps_, runs_;
    std::array<std::size_t, 3> copied_{};  // axes of the copy that was added last
    std::shared_ptr<Buffer> copied_to_;    // where it is
    bool has_main_ = false;
};

}  // namespace

std::shared_ptr<ProjectorPlan> prepare_joseph(const std::shared_ptr<JosephScratch>& scratch,
                                              const JosephArguments& arguments, const std::string& variant,
                                              const Parameters& parameters) {
    const auto& row = row_of<TomographyVariant>(tomography_workload(), variant);
    if (row.rays == Rays::none)
        throw ParameterError("variant", "\"" + variant + "\" does not go along rays",
                             "use one whose family is \"forward\" or \"adjoint\"");
    // Whoever chose a variant looked at a whole scan. Its parts may lie in a plane where the whole does not, so that
    // only what is for scans in a plane, and forward projection, which is for all, takes them as such.
    auto taken = arguments;
    const bool on_cpu = scratch->session()->device().type == DeviceType::cpu;
    if (row.rays == Rays::gather_in_planes || (row.rays == Rays::through_copy && on_cpu))
        taken.geometry = flattened(arguments.geometry);
    return Planner(scratch, taken, row, parameters).plan();
}

}  // namespace gpuopt
