#include "workloads/microbench/microbench.hpp"

#include <algorithm>

#include "runtime/image.hpp"
#include "workloads/microbench/rows.hpp"
#include "workloads/plan_builder.hpp"

namespace gpuopt {
namespace {

const std::vector<DType> all_dtypes = {DType::i8,  DType::u8,  DType::i16, DType::u16, DType::i32, DType::u32,
                                       DType::i64, DType::u64, DType::f16, DType::f32, DType::f64};

const MicrobenchRows& table() {
    static const MicrobenchRows rows = [] {
        MicrobenchRows all;
        for (const auto& part :
             {bandwidth_rows(), pattern_rows(), block_rows(), cache_rows(), arithmetic_rows(), execution_rows()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return rows;
}

std::int64_t elements_of(const DeviceArray& array) {
    return static_cast<std::int64_t>(array.buffer->bytes() / facts(array.dtype).bytes);
}

Sizes sizes_of(std::int64_t elements, MicrobenchSizes sizes) {
    if (sizes.width < 0 || (sizes.width > 0 && elements % sizes.width != 0))
        throw ParameterError("width",
                             std::to_string(elements) + " elements are no multiple of " + std::to_string(sizes.width),
                             "give a divisor of the source's size");
    if (elements < 1) throw ArrayError("from", "it is empty", "give one with elements");
    if (sizes.trips > INT32_MAX / 2)
        throw ParameterError("trips", std::to_string(sizes.trips) + " are too many", "give at most 2^30 - 1");
    if (sizes.trips < 1) throw ParameterError("trips", std::to_string(sizes.trips) + " are none", "give 1 or more");
    return {{"elements", elements}, {"width", sizes.width == 0 ? elements : sizes.width}, {"trips", sizes.trips}};
}

void check_target(const DeviceArray& to, const DeviceArray& from, std::int64_t written) {
    if (to.buffer->session() != from.buffer->session())
        throw ArrayError("to", "it lies on another device than from", "make both on one device");
    if (to.dtype != from.dtype)
        throw ArrayError(
            "to",
            std::string("its dtype is ") + facts(to.dtype).numpy_name + ", from's is " + facts(from.dtype).numpy_name,
            "give both one dtype");
    if (to.buffer->meets(*from.buffer) && written > 0)
        throw ArrayError("to", "it is from itself", "give another array");
    if (elements_of(to) < written)
        throw ArrayError(
            "to",
            "it holds " + std::to_string(elements_of(to)) + " elements, " + std::to_string(written) + " are written",
            "give an array of at least that many");
}

void require_source(const Device& device, Source source, std::size_t bytes) {
    if (source == Source::constant && bytes > device.constant_bytes)
        throw UnsupportedError(UnsupportedError::Because::device, std::to_string(bytes) +
                                                                      " bytes of constant memory; " + device.name +
                                                                      " has " + std::to_string(device.constant_bytes));
    if (source == Source::image1d_buffer && bytes / 16 > device.image_buffer_max)
        throw UnsupportedError(UnsupportedError::Because::device,
                               "an image of " + std::to_string(bytes / 16) + " pixels on a buffer; " + device.name +
                                   " allows " + std::to_string(device.image_buffer_max));
}

class Planner : PlanBuilder {
public:
    Planner(const DeviceArray& from, const DeviceArray& to, Sizes sizes, const MicrobenchVariant& variant,
            const Parameters& parameters)
        : PlanBuilder(from.buffer->session(), microbench_workload(), variant, from.dtype, std::move(sizes), parameters),
          from_(from),
          to_(to),
          variant_(variant) {}

    std::shared_ptr<Prepared> plan(bool store) {
        check();
        const auto elements = sizes_.at("elements"), width = width_of(case_);
        if (elements % width != 0)
            throw ArrayError("from", std::to_string(elements) + " elements are no multiple of WIDTH",
                             "use a multiple of " + std::to_string(width));
        check_target(to_, from_, variant_.outputs(case_));
        require_source(session_->device(), variant_.source, from_.buffer->bytes());

        add_variant(options(parameters_), variant_.launch(case_), true);
        add_source();
        plan_->arg(to_.buffer);
        longs({elements / width, sizes_.at("width")});
        ints({sizes_.at("trips"), store});
        plan_->work = variant_.work(case_);
        plan_->source = from_.buffer;
        plan_->keep(to_.buffer);
        return plan_;
    }

private:
    void add_source() {
        const auto elements = sizes_.at("elements");
        if (variant_.source == Source::image1d_buffer) {
            const auto image = std::make_shared<ImageBuffer>(from_.buffer, elements / 4);
            plan_->arg(image).keep(image);
        } else if (variant_.source == Source::image2d) {
            const auto channels = case_.parameter("CHANNELS");
            const auto width = static_cast<std::size_t>(sizes_.at("width") / channels);
            const auto height = static_cast<std::size_t>(elements / sizes_.at("width"));
            const auto image =
                std::make_shared<Image2D>(session_, width, height, "the image", static_cast<int>(channels));
            image->fill_from(*from_.buffer);
            plan_->arg(image).keep(image);
        } else {
            plan_->arg(from_.buffer);
        }
    }

    const DeviceArray &from_, &to_;
    const MicrobenchVariant& variant_;
};

}  // namespace

MicrobenchFacts microbench_facts(const Device& device, DType dtype, std::int64_t elements, MicrobenchSizes asked,
                                 const std::string& name, const Parameters& parameters) {
    const auto& row = row_of<MicrobenchVariant>(microbench_workload(), name);
    const auto sizes = sizes_of(elements, asked);
    const Case at{device, dtype, sizes, parameters};
    check_configuration(microbench_workload(), row, at);
    return {row.outputs(at), row.work(at)};
}

std::shared_ptr<Prepared> prepare_microbench(const DeviceArray& from, const DeviceArray& to, MicrobenchSizes asked,
                                             bool store, const std::string& name, const Parameters& parameters) {
    const auto& row = row_of<MicrobenchVariant>(microbench_workload(), name);
    return Planner(from, to, sizes_of(elements_of(from), asked), row, parameters).plan(store);
}

Rule only_for(std::vector<DType> dtypes) {
    const auto unmet = [dtypes](const Case& at) {
        if (std::find(dtypes.begin(), dtypes.end(), at.dtype) != dtypes.end()) return std::string();
        std::string known;
        for (const auto dtype : dtypes) known += (known.empty() ? "" : ", ") + std::string(facts(dtype).numpy_name);
        return std::string("it is for ") + known + ", not for " + facts(at.dtype).numpy_name;
    };
    return {.of_device = false, .unmet = unmet, .dtypes = std::move(dtypes)};
}

Rule at_most_elements(std::int64_t most, std::string counted) {
    return {.of_device = false, .unmet = [most, counted = std::move(counted)](const Case& at) {
                const auto elements = at.size("elements");
                return elements <= most ? std::string() : std::to_string(elements) + " elements; " + counted;
            }};
}

const std::vector<DType> real_dtypes = {DType::f32, DType::f64};
const std::vector<DType> integer_dtypes = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                                           DType::i32, DType::u32, DType::i64, DType::u64};

const Parameter& local_size() {
    static const Parameter parameter{"LOCAL", {64, 128, 256, 512, 1024}, 256, "work-items in a work-group"};
    return parameter;
}

const Parameter& groups_a_unit() {
    static const Parameter parameter{"GROUPS", {4, 8, 16, 32}, 8, "work-groups a compute unit"};
    return parameter;
}

std::int64_t items_of_full_device(const Case& at) {
    return std::int64_t(at.device.compute_units) * at.parameter("GROUPS") * at.parameter("LOCAL");
}
Launch full_device(const Case& at) { return launch_1d(items_of_full_device(at), at.parameter("LOCAL")); }
Launch one_item(const Case&) { return launch_1d(1, 1); }
std::int64_t one(const Case&) { return 1; }

std::int64_t width_of(const Case& at) { return at.parameter_or("WIDTH", 1); }

Work moves(const char* memory, double bytes) {
    Work work;
    work.bytes[memory] = bytes;
    return work;
}

const Workload& microbench_workload() {
    static const auto workload = workload_of("microbench", all_dtypes, table());
    return workload;
}

}  // namespace gpuopt
