// Cast between float32, float64, the integers and bool.
//
// Floating-point numbers are cut towards zero. What does not fit wraps, as the usual conversion of
// x86-64 does: a number is first made an int32 (for int8, int16, uint8, uint16, int32) or an int64
// (for uint32, int64, uint64), the smallest one if it is outside, and then cut to its low bits.
// Anything but zero is true.
#include <array>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/elementwise/unary.h"

namespace millstream::kernels {
namespace {

// x cut towards zero, or the smallest Integer where that does not fit.
template <typename Integer, typename Real>
Integer Truncate(Real x) {
  constexpr Real kEnd = -static_cast<Real>(std::numeric_limits<Integer>::min());
  const bool fits = x >= -kEnd && x < kEnd;
  return fits ? static_cast<Integer>(x) : std::numeric_limits<Integer>::min();
}

template <typename From, typename To>
To Convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      // The upper half of uint64 is out of the reach of int64.
      constexpr From kHalf = 9223372036854775808.0;
      if (x >= kHalf && x < 2 * kHalf) return static_cast<uint64_t>(x);
    }
    using Middle =
        std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int32_t>), int32_t, int64_t>;
    return static_cast<To>(Truncate<Middle>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void CastElements(const void* x_base, void* out_base, int64_t begin, int64_t end) {
  const From* x = static_cast<const From*>(x_base);
  To* out = static_cast<To*>(out_base);
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) out[i] = Convert<From, To>(x[i]);
}

constexpr int kTypes = 11;
constexpr std::array<MS_DType, kTypes> kDTypes = {MS_BOOL,   MS_INT8,    MS_INT16,  MS_INT32,
                                                  MS_INT64,  MS_UINT8,   MS_UINT16, MS_UINT32,
                                                  MS_UINT64, MS_FLOAT32, MS_FLOAT64};

// The loops from one type to all, in the order of kDTypes.
template <typename From>
constexpr std::array<UnaryLoop, kTypes> LoopsFrom() {
  return {
      &CastElements<From, bool>,     &CastElements<From, int8_t>,   &CastElements<From, int16_t>,
      &CastElements<From, int32_t>,  &CastElements<From, int64_t>,  &CastElements<From, uint8_t>,
      &CastElements<From, uint16_t>, &CastElements<From, uint32_t>, &CastElements<From, uint64_t>,
      &CastElements<From, float>,    &CastElements<From, double>};
}
constexpr std::array<std::array<UnaryLoop, kTypes>, kTypes> kLoops = {
    LoopsFrom<bool>(),     LoopsFrom<int8_t>(),  LoopsFrom<int16_t>(),  LoopsFrom<int32_t>(),
    LoopsFrom<int64_t>(),  LoopsFrom<uint8_t>(), LoopsFrom<uint16_t>(), LoopsFrom<uint32_t>(),
    LoopsFrom<uint64_t>(), LoopsFrom<float>(),   LoopsFrom<double>()};

// The place of a dtype in kDTypes. REQUIRES: it is there, as the registration says.
int IndexOf(MS_DType dtype) {
  int i = 0;
  while (kDTypes[i] != dtype) ++i;
  return i;
}

class Cast {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_DType from = 0;
    MS_DType to = 0;
    MS_TRY(info.DTypeAttr("SrcT", &from));
    MS_TRY(info.DTypeAttr("DstT", &to));
    same_ = from == to;
    loop_ = kLoops[IndexOf(from)][IndexOf(to)];
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    ms::View out;
    MS_TRY(same_ ? frame.ForwardOrOutput(0, 0, x.shape(), &out) : frame.Output(0, x.shape(), &out));
    if (same_ && out.raw() == x.raw()) return ms::Status();
    const void* const x_data = x.raw();
    void* const out_data = out.raw();
    ParallelElements(frame, x.size(), 500,
                     [&](int64_t begin, int64_t end) { loop_(x_data, out_data, begin, end); });
    return ms::Status();
  }

 private:
  UnaryLoop loop_ = nullptr;
  bool same_ = false;
};

// A text is not a number that has another form: no cast is defined, and none is merely missing.
class CastOfText {
 public:
  ms::Status Init(const ms::KernelInfo&) {
    return ms::Unimplemented("SrcT or DstT is string, expected types of numbers or bool");
  }
  ms::Status Compute(ms::Frame&) const { return ms::Status(); }
};

const std::vector<MS_DType> all_types(kDTypes.begin(), kDTypes.end());
const ms::Registered cast = ms::Register<Cast>(
    "Cast", ms::KernelOptions().Types("SrcT", all_types).Types("DstT", all_types));
const ms::Registered cast_from_text =
    ms::Register<CastOfText>("Cast", ms::KernelOptions().Types("SrcT", {MS_STRING}));
const ms::Registered cast_to_text =
    ms::Register<CastOfText>("Cast", ms::KernelOptions().Types("DstT", {MS_STRING}).Priority(-1));

}  // namespace
}  // namespace millstream::kernels
