#include "workloads/tomography/joseph.hpp"

#include <algorithm>
#include <cstdlib>

namespace gpuopt {
namespace {

constexpr std::int64_t most_runs = 65535;      // of a launch in z, on CUDA devices
constexpr std::int64_t least_lanes = 8;        // of a work-group in z
constexpr std::int64_t zeros_around = 2;       // where rays leave the volume
constexpr std::int64_t views_of_records = 64;  // whose records fit any constant buffer

std::int64_t quotient_up(std::int64_t value, std::int64_t divisor) { return (value + divisor - 1) / divisor; }
std::int64_t round_up(std::int64_t value, std::int64_t multiple) { return quotient_up(value, multiple) * multiple; }
std::int64_t count_of(const JosephRun& run) { return std::abs(run.count); }
std::int64_t longest(const std::vector<JosephRun>& runs) {
    std::int64_t most = 0;
    for (const auto& run : runs) most = std::max(most, count_of(run));
    return most;
}

// The volume seen from a main axis: sizes, steps in its array, and voxels along that axis and the other two.
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

class Planner {
public:
    Planner(std::shared_ptr<JosephScratch> scratch, const JosephArguments& arguments, const TomographyVariant& variant,
            const Parameters& parameters)
        : scratch_(std::move(scratch)),
          session_(scratch_->session()),
          arguments_(arguments),
          variant_(variant),
          parameters_(parameters),
          tables_(joseph_tables(arguments.geometry, variant.name == "joseph_gather_any")),
          sizes_({{"nx", geometry_.count[0]},
                  {"ny", geometry_.count[1]},
                  {"nz", geometry_.count[2]},
                  {"views", geometry_.views},
                  {"rows", geometry_.rows},
                  {"columns", geometry_.columns},
                  {"upright", tables_.upright},
                  {"curved", geometry_.radius > 0},
                  {"equiangular", 0}}),
          case_{session_->device(), DType::f32, sizes_, parameters_},
          plan_(std::make_shared<Prepared>(session_)) {}

    std::shared_ptr<JosephPlan> plan() {
        check_configuration(tomography_workload(), variant_, case_);
        lines_ = uploaded(tables_.lines, "the rays' lines");
        steps_ = tables_.upright ? lines_ : uploaded(tables_.steps, "what rows add to rays");
        const bool forward = variant_.family == "forward";
        bool accumulate = arguments_.accumulate;
        for (std::size_t main = 0; main < 3; ++main) {
            const auto& runs = tables_.runs[main];
            if (runs.empty()) continue;
            runs_ = uploaded(runs, "the runs of rays");
            if (forward) add_forward(main, arguments_.accumulate);
            else if (variant_.name == "joseph_gather") add_gather(main, accumulate);
            else add_gather_any(main, accumulate);
        }
        plan_->work = work();
        plan_->source = forward ? arguments_.volume : arguments_.projections;
        const auto arrays = std::make_shared<JosephPlan::Arrays>();
        *arrays = {arguments_.volume, arguments_.projections};
        plan_->keep(arrays);
        return std::make_shared<JosephPlan>(plan_, std::move(places_), arrays, geometry_);
    }

private:
    template <class Value>
    std::shared_ptr<Buffer> uploaded(const std::vector<Value>& values, const std::string& what) {
        auto buffer = std::make_shared<Buffer>(session_, values.size() * sizeof(Value), what);
        buffer->upload(values.data());
        plan_->keep(buffer);
        return buffer;
    }
    void volume() {
        places_.push_back({plan_->steps().size() - 1, plan_->next_argument(), true});
        plan_->arg(arguments_.volume->handle());
    }
    void projections() {
        places_.push_back({plan_->steps().size() - 1, plan_->next_argument(), false});
        plan_->arg(arguments_.projections->handle());
    }
    void ints(std::initializer_list<std::int64_t> values) {
        for (const auto value : values) plan_->arg(cl_int(value));
    }
    void longs(const std::array<std::int64_t, 3>& values) {
        for (const auto value : values) plan_->arg(cl_long(value));
    }

    std::string options(std::size_t main, const Parameters& levels) const {
        auto text = build_options({case_.device, DType::f32, sizes_, levels});
        if (!tables_.upright) text += " -DANY=1 -DMAIN=" + std::to_string(main);
        if (geometry_.dimensions == 2) text += " -DPLANAR=1";
        if (session_->device().type != DeviceType::cpu) text += " -DGPU";
        return text;
    }
    void add_pass(const std::string& name, const std::string& more, const Launch& launch) {
        plan_->add(session_->build("tomography/passes/" + name + ".cl", "-cl-std=CL1.2" + more), "tomography_" + name,
                   launch);
    }
    void add_main(const std::string& options, const Launch& launch) {
        const auto& workload = tomography_workload();
        if (!has_main_) plan_->main_step = plan_->steps().size();
        has_main_ = true;
        plan_->add(session_->build(workload.source_path(variant_), options), workload.entry_point(variant_), launch);
    }

    // `runs` in blocks of at most as many as a launch may have; `add(first, count)`.
    template <class Add>
    static void in_launches(std::int64_t first, std::int64_t beyond, const Add& add) {
        for (auto from = first; from < beyond; from += most_runs) add(from, std::min(most_runs, beyond - from));
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
        else copy.axes = {1, 0, 2};  // for both main axes
        copy.margin = planar ? std::array<std::int64_t, 3>{0, 0, zeros_around}
                             : std::array<std::int64_t, 3>{zeros_around, zeros_around, zeros_around};
        const auto extent = [&](std::size_t i) { return geometry_.count[copy.axes[i]] + 2 * copy.margin[i]; };
        copy.step[2] = 1;
        copy.step[1] = round_up(extent(2), 8);
        copy.step[0] = copy.step[1] * extent(1);
        copy.floats = copy.step[0] * extent(0);
        return copy;
    }

    // Enqueues the copy, but where the plan has it already.
    std::shared_ptr<Buffer> add_copy(const Copy& copy) {
        auto buffer = scratch_->buffer(static_cast<std::size_t>(copy.floats) * 4, "the padded copy of the volume");
        plan_->keep(buffer);
        if (copied_ == copy.axes) return buffer;
        copied_ = copy.axes;
        const std::array<std::int64_t, 3> steps = {1, geometry_.count[0], geometry_.count[0] * geometry_.count[1]};
        const auto high = geometry_.count[copy.axes[0]] + 2 * copy.margin[0];
        const auto down = geometry_.count[copy.axes[1]] + 2 * copy.margin[1];
        add_pass("joseph_copy", copy.axes[1] == 0 ? " -DACROSS=1" : "",
                 launch_3d({round_up(copy.step[1], 32), quotient_up(down, 32) * 8, high}, 32, 8));
        volume();
        plan_->arg(buffer->handle());
        for (const auto axis : copy.axes) plan_->arg(cl_int(geometry_.count[axis]));
        for (const auto axis : copy.axes) plan_->arg(cl_long(steps[axis]));
        for (const auto margin : copy.margin) plan_->arg(cl_int(margin));
        plan_->arg(cl_int(copy.step[1]));
        return buffer;
    }

    std::shared_ptr<ImageStack> add_layers(const Seen& seen, std::size_t main) {
        const auto [na, nb, nc] = seen.count;
        const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
        auto layers = scratch_->layers({size(nb), size(nc), size(na)});
        plan_->keep(layers);
        add_pass("joseph_layers", main == 0 ? " -DALONG_X=1" : "",
                 launch_3d({round_up(nb, 32), quotient_up(na, 32) * 8, nc}, 32, 8));
        volume();
        plan_->arg(layers->handle());
        ints({na, nb, nc});
        longs(seen.step);
        return layers;
    }

    void add_forward(std::size_t main, bool accumulate) {
        const auto seen = seen_from(geometry_, main);
        const bool texture = variant_.name == "joseph_image", planar = geometry_.dimensions == 2;
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
        auto text = options(main, levels);
        // As constants they make second taps' addresses free; a build for each size is dear on CPUs, and gains nothing.
        if (!texture && session_->device().type != DeviceType::cpu)
            text += " -DSTEP_A=" + std::to_string(step_a) + " -DSTEP_B=" + std::to_string(step_b);
        const auto& runs = tables_.runs[main];
        const auto local_u = levels["LOCAL_U"], local_v = levels["LOCAL_V"];
        const auto across = quotient_up(longest(runs), local_u),
                   down = quotient_up(geometry_.rows, local_v * levels["RAYS"]);
        const auto local_x = texture ? local_u : local_v, local_y = texture ? local_v : local_u;
        in_launches(0, static_cast<std::int64_t>(runs.size()), [&](std::int64_t first, std::int64_t count) {
            add_main(text, launch_3d({across * local_x, count * local_y, down}, local_x, local_y));
            if (texture) plan_->arg(layers->handle());
            else plan_->arg(planes->handle());
            plan_->arg(lines_->handle()).arg(steps_->handle()).arg(runs_->handle());
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
        // A group is no higher than a volume of few slices needs; its lowest work-items sum for the others alone.
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
            for (beyond = first + 1; beyond < runs.size() && beyond - first < std::size_t(most_runs); ++beyond) {
                const auto with = runs[beyond].line + count_of(runs[beyond]) - first_line;
                if (with > most_lines) break;
                lines = with;
            }
            const auto q = scratch_->buffer(static_cast<std::size_t>(lines * pitch) * 4, "rays' values by columns");
            plan_->keep(q);
            const auto count = static_cast<std::int64_t>(beyond - first);
            add_pass("joseph_rays", "", launch_3d({longest(runs), quotient_up(pitch, 32) * 8, count}, 32, 8));
            projections();
            plan_->arg(lines_->handle()).arg(runs_->handle()).arg(q->handle());
            ints({static_cast<std::int64_t>(first), first_line, geometry_.rows, geometry_.columns, pitch});
            plan_->arg(seen.cell);
            add_main(options(main, levels), launch);
            plan_->arg(q->handle()).arg(lines_->handle()).arg(runs_->handle());
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

    // Of a block: as many views as were asked for, fewer where memory is short or places would take more than 32 bits;
    // a run at least.
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
        auto text = options(main, parameters_) + " -DCURVED=" + std::to_string(geometry_.radius > 0) +
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
            plan_->arg(lines_->handle()).arg(steps_->handle()).arg(runs_->handle()).arg(views->handle());
            volume();
            ints({static_cast<std::int64_t>(first), static_cast<std::int64_t>(count), geometry_.count[0],
                  geometry_.count[1], geometry_.count[2], geometry_.rows, geometry_.columns});
            cl_float4 size{};
            for (std::size_t axis = 0; axis < 3; ++axis) size.s[axis] = static_cast<float>(geometry_.voxel[axis]);
            plan_->arg(seen.cell).arg(size).arg(cl_float(angle)).arg(cl_int(accumulate));
            accumulate = true;
        }
    }

    // Samples are rays times planes across their main axis, those outside the volume among them: what others count.
    Work work() const {
        double samples = 0;
        for (std::size_t main = 0; main < 3; ++main)
            for (const auto& run : tables_.runs[main])
                samples += double(count_of(run)) * double(geometry_.rows) * double(geometry_.count[main]);
        Work work;
        work.flops = 9 * samples;
        if (variant_.name == "joseph_image") work.special["fetch.linear"] = samples;
        else work.bytes["requested"] = 4 * 4 * samples;
        work.bytes["dram"] = 4 * (double(geometry_.voxels()) + double(geometry_.pixels()));
        return work;
    }

    std::shared_ptr<JosephScratch> scratch_;
    std::shared_ptr<Session> session_;
    JosephArguments arguments_;
    const TomographyGeometry& geometry_ = arguments_.geometry;
    const TomographyVariant& variant_;
    Parameters parameters_;
    JosephTables tables_;
    Sizes sizes_;
    Case case_;
    std::shared_ptr<Prepared> plan_;
    std::vector<JosephPlan::Place> places_;
    std::shared_ptr<Buffer> lines_, steps_, runs_;
    std::array<std::size_t, 3> copied_{};  // axes of the copy that the plan has made last
    bool has_main_ = false;
};

}  // namespace

std::shared_ptr<Buffer> JosephScratch::buffer(std::size_t bytes, const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (buffer_ && buffer_->bytes() >= bytes) return buffer_;
    buffer_.reset();
    buffer_ = std::make_shared<Buffer>(session_, bytes, what);
    return buffer_;
}

std::shared_ptr<ImageStack> JosephScratch::layers(const std::array<std::size_t, 3>& size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& held = layers_[size];
    if (!held)
        held = std::make_shared<ImageStack>(session_, ImageStack::Kind::array, size[0], size[1], size[2],
                                            "the planes across a main axis");
    return held;
}

const std::shared_ptr<Prepared>& JosephPlan::prepared() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (started_) throw ParameterError("plan", "it has been started, and holds no arrays since", "prepare another one");
    return prepared_;
}

void JosephPlan::start(const Buffer& volume, const Buffer& projections) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& place : places_)
        prepared_->rebind(place.step, place.argument, place.volume ? volume : projections);
    prepared_->start();
    started_ = true;
    arrays_->clear();
    prepared_->source.reset();
}

std::shared_ptr<JosephPlan> prepare_joseph(const std::shared_ptr<JosephScratch>& scratch,
                                           const JosephArguments& arguments, const std::string& variant,
                                           const Parameters& parameters) {
    const auto& row = static_cast<const TomographyVariant&>(tomography_workload().variant(variant));
    if (row.family != "forward" && row.family != "adjoint")
        throw ParameterError("variant", "\"" + variant + "\" does not go along rays",
                             "use one whose family is \"forward\" or \"adjoint\"");
    return Planner(scratch, arguments, row, parameters).plan();
}

}  // namespace gpuopt
