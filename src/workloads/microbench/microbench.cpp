#include "workloads/microbench/microbench.hpp"

#include <algorithm>

#include "runtime/image.hpp"
#include "workloads/microbench/rows.hpp"

namespace gpuopt {
namespace {

const std::vector<DType> all_dtypes = {DType::i8,  DType::u8,  DType::i16, DType::u16, DType::i32, DType::u32,
                                       DType::i64, DType::u64, DType::f16, DType::f32, DType::f64};

const MicrobenchRows& table() {
    static const MicrobenchRows rows = [] {
        MicrobenchRows all;
        for (const auto& part : {bandwidth_rows(), pattern_rows(), block_rows(), cache_rows(), arithmetic_rows()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return rows;
}

const MicrobenchVariant& row_of(const std::string& name) {
    return static_cast<const MicrobenchVariant&>(microbench_workload().variant(name));
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
    if (to.buffer == from.buffer && written > 0) throw ArrayError("to", "it is from itself", "give another array");
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

}  // namespace

MicrobenchFacts microbench_facts(const Device& device, DType dtype, std::int64_t elements, MicrobenchSizes asked,
                                 const std::string& name, const Parameters& parameters) {
    const auto& row = row_of(name);
    const auto sizes = sizes_of(elements, asked);
    const Case at{device, dtype, sizes, parameters};
    check_configuration(microbench_workload(), row, at);
    return {row.outputs(at), row.work(at)};
}

std::shared_ptr<Prepared> prepare_microbench(const DeviceArray& from, const DeviceArray& to, MicrobenchSizes asked,
                                             bool store, const std::string& name, const Parameters& parameters) {
    const auto& workload = microbench_workload();
    const auto& row = row_of(name);
    const auto& session = from.buffer->session();
    const auto& device = session->device();
    const auto sizes = sizes_of(elements_of(from), asked);
    const Case at{device, from.dtype, sizes, parameters};
    check_configuration(workload, row, at);
    if (sizes.at("elements") % width_of(at) != 0)
        throw ArrayError("from", std::to_string(sizes.at("elements")) + " elements are no multiple of WIDTH",
                         "use a multiple of " + std::to_string(width_of(at)));
    check_target(to, from, row.outputs(at));
    require_source(device, row.source, from.buffer->bytes());

    auto plan = std::make_shared<Prepared>(session);
    plan->add(session->build(workload.source_path(row), build_options(at)), workload.entry_point(row), row.launch(at));
    if (row.source == Source::image1d_buffer) {
        const auto image = std::make_shared<ImageBuffer>(from.buffer, sizes.at("elements") / 4);
        plan->arg(image->handle());
        plan->keep(image);
    } else if (row.source == Source::image2d) {
        const auto channels = at.parameter("CHANNELS");
        const auto width = static_cast<std::size_t>(sizes.at("width") / channels);
        const auto height = static_cast<std::size_t>(sizes.at("elements") / sizes.at("width"));
        const auto image = std::make_shared<Image2D>(session, width, height, "the image", static_cast<int>(channels));
        image->fill_from(*from.buffer);
        plan->arg(image->handle());
        plan->keep(image);
    } else {
        plan->arg(from.buffer->handle());
    }
    plan->arg(to.buffer->handle())
        .arg(cl_long(sizes.at("elements") / width_of(at)))
        .arg(cl_long(sizes.at("width")))
        .arg(cl_int(sizes.at("trips")))
        .arg(cl_int(store));
    plan->work = row.work(at);
    plan->source = from.buffer;
    plan->keep(to.buffer);
    return plan;
}

Rule only_for(std::vector<DType> dtypes) {
    const auto unmet = [dtypes](const Case& at) {
        if (std::find(dtypes.begin(), dtypes.end(), at.dtype) != dtypes.end()) return std::string();
        std::string known;
        for (const auto dtype : dtypes) known += (known.empty() ? "" : ", ") + std::string(facts(dtype).numpy_name);
        return std::string("it is for ") + known + ", not for " + facts(at.dtype).numpy_name;
    };
    return {false, unmet, std::move(dtypes)};
}

const std::vector<DType> real_dtypes = {DType::f32, DType::f64};
const std::vector<DType> integer_dtypes = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                                           DType::i32, DType::u32, DType::i64, DType::u64};

const Parameter& local_size() {
    static const Parameter parameter{"LOCAL", {64, 128, 256, 512, 1024}, 256, "work-items in a work-group"};
    return parameter;
}

std::int64_t width_of(const Case& at) {
    const auto found = at.parameters.find("WIDTH");
    return found == at.parameters.end() ? 1 : found->second;
}

Work moves(const char* memory, double bytes) {
    Work work;
    work.bytes[memory] = bytes;
    return work;
}

const Workload& microbench_workload() {
    static const Workload workload = [] {
        Workload result{"microbench", all_dtypes, {}};
        for (const auto& row : table()) result.variants.push_back(&row);
        return result;
    }();
    return workload;
}

}  // namespace gpuopt
