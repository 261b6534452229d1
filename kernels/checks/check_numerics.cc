// CheckNumerics.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

// Input and output: tensor, whose elements must be finite. It is passed on as it is.
template <typename T>
class CheckNumerics {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("message", &message_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View tensor = frame.input(0);
    const T* const elements = tensor.data<T>();
    std::atomic<bool> has_nan{false};
    std::atomic<bool> has_infinity{false};
    MS_TRY(ParallelElements(frame, tensor.size(), 300, [&](int64_t begin, int64_t end) {
      const Found found = RunLoop<&CheckNumerics::Search>(elements, begin, end);
      if (found.nan) has_nan.store(true, std::memory_order_relaxed);
      if (found.infinity) has_infinity.store(true, std::memory_order_relaxed);
    }));
    if (has_nan || has_infinity) {
      const char* const what = !has_nan ? "Inf" : has_infinity ? "Inf and NaN" : "NaN";
      return ms::InvalidArgument(message_, " : Tensor had ", what, " values (argument 'tensor')");
    }
    ms::View output;
    MS_TRY(frame.ForwardOrOutput(0, 0, tensor.shape(), &output));
    if (output.raw() != tensor.raw() && tensor.bytes() > 0) {
      std::memcpy(output.raw(), tensor.raw(), static_cast<size_t>(tensor.size()) * sizeof(T));
    }
    return ms::Status();
  }

 private:
  struct Found {
    bool nan = false;
    bool infinity = false;
  };
  static Found Search(const T* elements, int64_t begin, int64_t end) {
    Found found;
    for (int64_t i = begin; i < end; ++i) {
      found.nan |= std::isnan(Wide(elements[i]));
      found.infinity |= std::isinf(Wide(elements[i]));
    }
    return found;
  }

  static double Wide(double value) { return value; }
  static float Wide(float value) { return value; }
  static float Wide(Float16 value) { return value; }
  static float Wide(BFloat16 value) { return value; }

  std::string message_;
};

const ms::Registered check_numerics =
    ms::RegisterForTypes<CheckNumerics, float, double, Float16, BFloat16>(
        "CheckNumerics", "T", ms::KernelOptions().InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
