#include <algorithm>

#include "runtime/device_array.hpp"
#include "runtime/image.hpp"
#include "workloads/plan_builder.hpp"
#include "workloads/tomography/tomography.hpp"

namespace gpuopt {
namespace {

using Reads = TomographyVariant::Reads;

Sizes sizes_of(const TomographyGeometry& geometry) {
    const auto properties = properties_of(geometry);
    return {{"nx", geometry.count[0]},
            {"ny", geometry.count[1]},
            {"nz", geometry.count[2]},
            {"views", geometry.views},
            {"rows", geometry.rows},
            {"columns", geometry.columns},
            {"curved", properties.curved},
            {"upright", properties.upright},
            {"equiangular", properties.equiangular},
            {"along_x", 0}};
}

constexpr std::int64_t views_an_item = 4;  // of the pass that copies into images

// The largest copy of at most `most` views that fits the memory; `make(views)` throws DeviceMemoryError where it does
// not.
template <class Make>
auto largest(std::int64_t most, const Make& make) -> decltype(make(most)) {
    for (auto views = most;; views = quotient_up(views, 2)) {
        try {
            return make(views);
        } catch (const DeviceMemoryError&) {
            if (views == 1) throw;
        }
    }
}

class Planner : PlanBuilder {
public:
    Planner(std::shared_ptr<Session> session, const BackProjection& arguments, const TomographyVariant& variant,
            const Parameters& parameters)
        : PlanBuilder(std::move(session), tomography_workload(), variant, DType::f32, sizes_of(arguments.geometry),
                      parameters),
          arguments_(arguments),
          variant_(variant) {}

    std::shared_ptr<Prepared> plan() {
        check();
        plan_->work = work();
        if (variant_.reads == Reads::arc) add_arc();
        else if (variant_.reads == Reads::padded) add_padded();
        else if (variant_.reads == Reads::transposed) add_transposed();
        else add_layers();
        plan_->source = arguments_.projections;
        *arrays_ = {arguments_.projections, arguments_.volume};
        plan_->keep(arrays_);
        return plan_;
    }
    std::shared_ptr<ProjectorPlan> exchangeable() {
        plan();
        return std::make_shared<ProjectorPlan>(plan_, std::move(places_), arrays_, geometry_, read_);
    }

private:
    BackProjection arguments_;

    void projections() {
        places_.push_back({plan_->steps().size() - 1, plan_->next_argument(), false});
        plan_->arg(arguments_.projections);
    }
    void volume() {
        places_.push_back({plan_->steps().size() - 1, plan_->next_argument(), true});
        plan_->arg(arguments_.volume);
    }
    std::string kernel_options(std::initializer_list<const char*> left_out) const {
        auto levels = parameters_;
        for (const auto* name : left_out) levels.erase(name);
        if (levels.count("Z") && variant_.reads != Reads::transposed) {  // no more slices than the volume has
            const auto lanes = levels.count("LANES_Z") ? levels["LANES_Z"] : 1;
            levels["Z"] = std::min(levels["Z"], quotient_up(geometry_.count[2], lanes));
        }
        auto text = options(levels);
        text += " -DDIMENSIONS=" + std::to_string(geometry_.dimensions);
        text += " -DWEIGHT=" + std::to_string(static_cast<int>(weight()));
        if (!on_cpu()) text += " -DGPU";
        return text;
    }
    std::string column_options() const {
        const auto line_option = variant_.reads == Reads::transposed ? " -DLINE=" + std::to_string(line()) : "";
        return kernel_options({"VIEWS", "BEAM"}) + line_option + " -DCURVED=" + std::to_string(sizes_.at("curved")) +
               " -DUPRIGHT=" + std::to_string(sizes_.at("upright"));
    }
    // For parallel beams every weight is a constant.
    BackWeight weight() const { return geometry_.parallel ? BackWeight::none : arguments_.weight; }

    void pass(const std::string& name, const Launch& launch, const std::string& more = "") {
        add_pass(name, "-cl-std=CL1.2" + more, launch);
    }
    void sizes_of_arrays() {
        for (const auto* name : {"nx", "ny", "nz", "columns", "rows"}) ints({sizes_.at(name)});
    }

    // The streams of the paper's steps: in buffers, or as images, of which the projections' are copied in each run.
    void add_arc() {
        const auto streams = arc_streams(geometry_);
        const auto on_device = uploaded(streams, "the views' angles");
        std::shared_ptr<ImageStack> pixels;
        std::shared_ptr<Image2D> angles;
        if (parameters_.at("TEXTURE")) {
            pixels = images(ImageStack::Kind::array, geometry_.views);
            const auto width = streams.size() / arc_stream_count / static_cast<std::size_t>(variant_.stream);
            angles = std::make_shared<Image2D>(session_, width, arc_stream_count, "the image of the views' angles",
                                               variant_.stream);
            angles->fill_from(*on_device);
            plan_->keep(angles);
            copy_to_layers(pixels, 0, geometry_.views);
        }
        add_variant(kernel_options({}), variant_.launch(case_), true);
        if (pixels) plan_->arg(pixels);
        else projections();
        volume();
        if (angles) plan_->arg(angles);
        else plan_->arg(on_device);
        plan_->arg(cl_int(geometry_.views));
        sizes_of_arrays();
        cl_float16 numbers;
        const auto arc = arc_numbers(geometry_, weight());
        std::copy(arc.begin(), arc.end(), numbers.s);
        plan_->arg(cl_int(arguments_.accumulate)).arg(numbers);
    }

    void add_padded() {
        const auto high = geometry_.rows + 3, wide = geometry_.columns + 3;
        const auto make = [&](std::int64_t views) {
            return DeviceArray::empty(session_, DType::f32, {views, high, wide}, "the padded projections");
        };
        const auto padded = largest(std::min(geometry_.views, most_groups_yz), make);
        plan_->keep(padded.buffer);
        in_blocks(
            padded.shape[0],
            [&](std::int64_t first, std::int64_t views) {
                pass("pad", pixels(wide, high, views));
                projections();
                plan_->arg(padded.buffer);
                plan_->arg(cl_long(first)).arg(cl_int(geometry_.columns)).arg(cl_int(geometry_.rows));
            },
            [&] { plan_->arg(padded.buffer); });
    }

    void add_transposed() {
        const auto high = geometry_.columns + 3;
        const auto make = [&](std::int64_t views) {
            return DeviceArray::empty(session_, DType::f32, {views * high + 1, line()}, "the transposed projections");
        };
        std::int64_t views = 0;
        const auto most = std::min(geometry_.views, most_groups_yz);
        const auto transposed = largest(most, [&](std::int64_t some) { return views = some, make(some); });
        plan_->keep(transposed.buffer);
        in_blocks(
            views,
            [&](std::int64_t first, std::int64_t some) {
                pass("turn", launch_2d({high, some}, 1, 1));
                projections();
                plan_->arg(transposed.buffer);
                plan_->arg(cl_long(first));
                ints({geometry_.columns, geometry_.rows, line()});
            },
            [&] { plan_->arg(transposed.buffer); });
    }
    // Length of a transposed row with its zeros; a multiple of 16, since vectors read beyond the last element.
    std::int64_t line() const { return round_up(geometry_.rows + 3, 16); }

    std::shared_ptr<ImageStack> images(ImageStack::Kind kind, std::int64_t views) {
        auto stack = std::make_shared<ImageStack>(session_, kind, static_cast<std::size_t>(geometry_.columns),
                                                  static_cast<std::size_t>(geometry_.rows),
                                                  static_cast<std::size_t>(views), "the images of the projections");
        plan_->keep(stack);
        return stack;
    }
    // A kernel copies faster than the driver's copy command on an H200.
    void copy_to_layers(const std::shared_ptr<ImageStack>& stack, std::int64_t first, std::int64_t views) {
        const auto items_z = quotient_up(views, views_an_item);
        pass("layers", launch_3d({round_up(geometry_.columns, 64), geometry_.rows, items_z}, 16, 16),
             " -DPER=" + std::to_string(views_an_item));
        projections();
        plan_->arg(stack);
        plan_->arg(cl_long(first)).arg(cl_int(views));
        plan_->arg(cl_int(geometry_.columns)).arg(cl_int(geometry_.rows));
    }

    void add_layers() {
        const auto kind = parameters_.at("IMAGE") == 2 ? ImageStack::Kind::array : ImageStack::Kind::planes;
        const auto allowed = static_cast<std::int64_t>(ImageStack::most_layers(session_->device(), kind));
        std::int64_t layers = 0;
        const auto stack = largest(std::min(geometry_.views, std::max<std::int64_t>(allowed, 1)),
                                   [&](std::int64_t views) { return layers = views, images(kind, views); });
        in_blocks(
            layers,
            [&](std::int64_t first, std::int64_t views) {
                if (kind == ImageStack::Kind::array) return copy_to_layers(stack, first, views);
                const auto first_byte = static_cast<std::size_t>(first * geometry_.columns * geometry_.rows) * 4;
                const auto from = read_;
                const auto enqueue_copy = [=](const cl::CommandQueue& queue, const std::vector<cl::Event>* wait) {
                    return stack->enqueue_copy(queue, **from, first_byte, static_cast<std::size_t>(views), wait);
                };
                plan_->add("copy to images", enqueue_copy, {arguments_.projections, stack});
            },
            [&] { plan_->arg(stack); });
    }

    static Launch pixels(std::int64_t wide, std::int64_t high, std::int64_t views) {
        return launch_3d({wide, high, views}, 64, 1);
    }

    // Blocks of at most `most` views, each copied by `copy(first, views)` and then projected back, some views a launch;
    // `source` gives the kernel what was copied to.
    template <class Copy, class SourceArgument>
    void in_blocks(std::int64_t most, const Copy& copy, const SourceArgument& source) {
        const auto records = view_records(geometry_, arguments_.weight, arguments_.fdk);
        const auto kernel = program(column_options());
        const bool turns = case_.parameter_or("BEAM", 0) == 1;
        bool accumulate = arguments_.accumulate, first_launch = true;
        const auto blocks = quotient_up(geometry_.views, most), block = quotient_up(geometry_.views, blocks);
        for (std::int64_t begin = 0; begin < geometry_.views; begin += block) {
            const auto views = std::min(block, geometry_.views - begin);
            copy(begin, views);
            const auto launches = quotient_up(views, parameters_.at("VIEWS")), each = quotient_up(views, launches);
            for (std::int64_t first = 0; first < views; first += each) {
                const auto count = std::min(each, views - first);
                sizes_["along_x"] = turns && run_along_x(geometry_, begin + first, count);
                add_variant(kernel, variant_.launch(case_), first_launch);
                first_launch = false;
                source();
                const auto* record = records.data() + (begin + first) * view_floats;
                const auto bytes = static_cast<std::size_t>(count * view_floats) * 4;
                volume();
                plan_->arg(uploaded(record, bytes, "the views' geometry"));
                ints({first, count});
                sizes_of_arrays();
                plan_->arg(cl_int(accumulate)).arg(cell());
                if (variant_.reads == Reads::layers) plan_->arg(cl_int(sizes_.at("along_x")));
                accumulate = true;
            }
        }
    }

    cl_float4 cell() const {
        cl_float4 found{};
        for (std::size_t axis = 0; axis < 3; ++axis) found.s[axis] = static_cast<float>(geometry_.voxel[axis]);
        return found;
    }

    // Compulsory traffic: the projections once, the volume written, and read where it is added to.
    Work work() const {
        auto found = variant_.work(case_);
        const auto voxels = double(geometry_.voxels());
        found.bytes["dram"] = 4 * (double(geometry_.pixels()) + voxels * (arguments_.accumulate ? 2 : 1));
        return found;
    }

    std::shared_ptr<ProjectorPlan::Arrays> arrays_ = std::make_shared<ProjectorPlan::Arrays>();
    std::shared_ptr<ProjectorPlan::Read> read_ = std::make_shared<ProjectorPlan::Read>(arguments_.projections);
    std::vector<ProjectorPlan::Place> places_;
    const TomographyGeometry& geometry_ = arguments_.geometry;
    const TomographyVariant& variant_;
};

const TomographyVariant& back_projector(const std::string& variant) {
    const auto& row = row_of<TomographyVariant>(tomography_workload(), variant);
    if (row.reads == Reads::nothing)
        throw ParameterError("variant", "it is no back projector: \"" + variant + "\"",
                             "use one whose family is \"back_projection\"");
    return row;
}

}  // namespace

std::shared_ptr<Prepared> prepare_back_projection(const std::shared_ptr<Session>& session,
                                                  const BackProjection& arguments, const std::string& variant,
                                                  const Parameters& parameters) {
    return Planner(session, arguments, back_projector(variant), parameters).plan();
}

std::shared_ptr<ProjectorPlan> plan_back_projection(const std::shared_ptr<Session>& session,
                                                    const BackProjection& arguments, const std::string& variant,
                                                    const Parameters& parameters) {
    return Planner(session, arguments, back_projector(variant), parameters).exchangeable();
}

}  // namespace gpuopt
