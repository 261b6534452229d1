// _Gelu: the Gaussian error linear unit that programs write as several operations.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/gelu.h"
#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

void GeluErfElements(const float* x, int64_t count, float* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = GeluErf(x[i]);
}

void GeluTanhElements(const float* x, int64_t count, float* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = GeluTanh(x[i]);
}

class Gelu {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("approximate", &approximate_); }

  ms::Status Compute(ms::Frame& frame) const {
    constexpr int64_t kPicoseconds = 1500;  // see ParallelElements
    const ms::View x = frame.input(0);
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &out));
    const float* const from = x.data<float>();
    float* const to = out.data<float>();
    return ParallelElements(frame, x.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      approximate_ ? RunLoop<&GeluTanhElements>(from + begin, end - begin, to + begin)
                   : RunLoop<&GeluErfElements>(from + begin, end - begin, to + begin);
    });
  }

 private:
  bool approximate_ = false;
};

const ms::Registered gelu =
    ms::Register<Gelu>("_Gelu", ms::KernelOptions().Type<float>("T").InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
