// ClipByValue: each element of t, or the bound that it is beyond. Each bound is a scalar or has the
// shape of t. Of complex numbers the real parts are clipped by real parts, and so are the imaginary
// ones.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <iterator>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kPicoseconds = 600;

// How far a bound goes on from one element to the next: 0 or 1.
struct Steps {
  int64_t low;
  int64_t high;
};

// Computes elements [begin, end). The output may be the memory of an input that goes on.
using ClipLoop = void (*)(const void* t, const void* low, const void* high, Steps steps, void* out,
                          int64_t begin, int64_t end);

struct ClipFunctions {
  MS_DType dtype;
  ClipLoop loop;
};

// A NaN in t stays one. Where the bounds cross, the lower one counts.
template <typename T>
T Clipped(T t, T low, T high) {
  const T below_high = high < t ? high : t;
  return below_high < low ? low : below_high;
}
template <typename Real>
std::complex<Real> Clipped(std::complex<Real> t, std::complex<Real> low, std::complex<Real> high) {
  return {Clipped(t.real(), low.real(), high.real()), Clipped(t.imag(), low.imag(), high.imag())};
}

template <typename T>
void ClipElements(const T* t, const T* low, const T* high, Steps steps, T* out, int64_t begin,
                  int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    out[i] = Clipped(t[i], low[i * steps.low], high[i * steps.high]);
  }
}

template <typename T>
void RunClipElements(const void* t, const void* low, const void* high, Steps steps, void* out,
                     int64_t begin, int64_t end) {
  RunLoopOn<T, &ClipElements<T>>(static_cast<const T*>(t), static_cast<const T*>(low),
                                 static_cast<const T*>(high), steps, static_cast<T*>(out), begin,
                                 end);
}

template <typename... Ts>
constexpr ClipFunctions kLoops[] = {{ms::DTypeOf<Ts>(), &RunClipElements<Ts>}...};
template <typename... Ts>
constexpr TypeTable<ClipFunctions> kTable = {kLoops<Ts...>, sizeof...(Ts)};
constexpr const TypeTable<ClipFunctions>& kNumbers =
    kTable<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
           std::complex<float>, std::complex<double>>;

// Inputs: t, clip_value_min, clip_value_max.
class ClipByValueKernel {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(0);
    const ClipFunctions* functions = kNumbers.Find(dtype);
    if (functions == nullptr) return NoLoopFor(dtype);
    loop_ = functions->loop;
    format_ = NarrowFormatOf(dtype);
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View t = frame.input(0);
    const ms::View low = frame.input(1);
    const ms::View high = frame.input(2);
    Steps steps;
    MS_TRY(StepOf(t, low, "clip_value_min", &steps.low));
    MS_TRY(StepOf(t, high, "clip_value_max", &steps.high));
    ms::View out;
    MS_TRY(frame.ForwardOrOutput(0, 0, t.shape(), &out));
    const void* const t_data = t.raw();
    const void* const low_data = low.raw();
    const void* const high_data = high.raw();
    void* const out_data = out.raw();
    return ParallelElements(frame, out.size(), kPicoseconds, [&](int64_t begin, int64_t end) {
      if (format_ == nullptr) {
        loop_(t_data, low_data, high_data, steps, out_data, begin, end);
      } else {
        RunNarrow(t_data, low_data, high_data, steps, out_data, begin, end);
      }
    });
  }

 private:
  static ms::Status StepOf(const ms::View& t, const ms::View& bound, const char* name,
                           int64_t* step) {
    if (bound.rank() != 0 && bound.shape() != t.shape()) {
      return ms::InvalidArgument("ClipByValue: ", name,
                                 " must be a scalar or have the shape of t, which is ",
                                 t.shape().ToString(), ", got ", bound.shape().ToString());
    }
    *step = bound.rank() == 0 ? 0 : 1;
    return ms::Status();
  }

  void RunNarrow(const void* t, const void* low, const void* high, Steps steps, void* out,
                 int64_t begin, int64_t end) const {
    float t_tile[kTileElements];
    float low_tile[kTileElements];
    float high_tile[kTileElements];
    for (int64_t at = begin; at < end; at += kTileElements) {
      const int64_t n = std::min(kTileElements, end - at);
      format_->widen(t, at, n, t_tile);
      format_->widen(low, at * steps.low, steps.low == 0 ? 1 : n, low_tile);
      format_->widen(high, at * steps.high, steps.high == 0 ? 1 : n, high_tile);
      loop_(t_tile, low_tile, high_tile, steps, t_tile, 0, n);
      format_->narrow(t_tile, n, out, at);
    }
  }

  ClipLoop loop_ = nullptr;
  const NarrowFormat* format_ = nullptr;
};

const ms::Registered clip_by_value = ms::Register<ClipByValueKernel>(
    "ClipByValue", ms::KernelOptions().Types("T", TypesIn(kAllNumberTypes)).InPlace(0, 0));

}  // namespace
}  // namespace millstream::kernels
