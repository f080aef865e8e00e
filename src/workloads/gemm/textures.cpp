// Plans of the steps that fetch their operands from buffers or, with TEXTURE=1, from images: passes copy op(A) and
// op(B) into images before each product.
#include "runtime/image.hpp"
#include "workloads/gemm/planner.hpp"

namespace gpuopt {
namespace {

// A matrix of `rows` x `columns` as an image of so many elements a texel, and the pass that fills it.
std::shared_ptr<Image2D> in_image(GemmPlanner& planner, const GemmMatrix& matrix, bool transposed, std::int64_t rows,
                                  std::int64_t columns, int channels, const std::string& what) {
    const auto across = quotient_up(columns, channels);
    auto image = std::make_shared<Image2D>(planner.session(), static_cast<std::size_t>(across),
                                           static_cast<std::size_t>(rows), what, channels);
    planner.plan().keep(image);
    auto packing = planner.whole();
    packing.addend = Addend::none;
    packing.a = matrix;
    packing.transpose_a = transposed;
    packing.m = rows;
    packing.n = columns;
    planner.pass("to_image", packing, launch_3d({across, rows, 1}, 16, 16), {{"FOUR", channels == 4 ? 1 : 0}});
    planner.plan().arg(image);
    return image;
}

}  // namespace

Parameter texture_parameter() {
    return {"TEXTURE", {0, 1}, 0, "A and B in buffers (0), or in images that passes fill (1)"};
}

std::vector<Rule> texture_rules() {
    const auto unless_texture = [](const std::function<bool(const Case&)>& holds, const char* reason) {
        return constraint([=](const Case& at) { return at.parameter("TEXTURE") == 0 || holds(at); }, reason);
    };
    return {
        unless_texture([](const Case& at) { return at.dtype == DType::f32; }, "images hold float32"),
        unless_texture([](const Case& at) { return at.size("batch") <= 1; }, "images hold one product, not a batch")};
}

void build_fetching(GemmPlanner& planner, int elements_a_texel) {
    if (planner.at().parameter("TEXTURE") == 0) return planner.multiply_directly();
    const auto whole = planner.whole();
    const auto a = in_image(planner, whole.a, whole.transpose_a, whole.m, whole.k, elements_a_texel, "A");
    const auto b = in_image(planner, whole.b, whole.transpose_b, whole.k, whole.n, elements_a_texel, "B");
    planner.in_parts(
        whole, [&](const Sizes& sizes) { return planner.launch(sizes); },
        [&](const GemmCall& part, const Launch& launch) {
            planner.multiply(part, launch);
            const auto first_row = (part.d.from - whole.d.from) / whole.d.ld;
            planner.plan().arg(a).arg(b).arg(cl_int(first_row));
        });
}

}  // namespace gpuopt
