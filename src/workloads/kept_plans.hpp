// Plans of plain calls that serve the next call of the same kind.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "workloads/prepared.hpp"

namespace gpuopt {

// Everything that a plan is made for, but the arrays themselves, as bytes.
class PlanKey {
public:
    PlanKey(const std::string& variant, const Parameters& parameters);
    template <class Number>
    PlanKey& add(const Number& number) {
        static_assert(std::is_arithmetic_v<Number> || std::is_enum_v<Number>);
        char bytes[sizeof number];
        std::memcpy(bytes, &number, sizeof number);
        text_.append(bytes, sizeof bytes);
        return *this;
    }
    // Which arrays there are, and which of them are the same.
    PlanKey& add(const std::vector<std::shared_ptr<Buffer>>& arrays);
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

// Runs a plan of this key with these arrays: one that `kept` has, or what `make` returns, which is kept afterwards. A
// plan that failed is dropped; after an error of the device so is all that the session keeps. Where kernels may be
// edited, while launches are recorded and between fences every call makes its own. With `wait` false it is started
// alone, as by `Prepared::start`. `fill` gives a plan of an earlier call this call's contents.
void run_kept(Session& session, Kept& kept, const PlanKey& key, const std::vector<std::shared_ptr<Buffer>>& arrays,
              const std::function<std::shared_ptr<Prepared>()>& make, bool wait = true,
              const std::function<void(Prepared&)>& fill = {});

}  // namespace gpuopt
