// Cross.
#include <cstdint>
#include <iterator>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// The cross products of vectors [begin, end) of three elements.
using CrossLoop = void (*)(const void* a, const void* b, void* product, int64_t begin, int64_t end);

template <typename T>
void CrossVectors(const void* a_base, const void* b_base, void* product_base, int64_t begin,
                  int64_t end) {
  // Products of 16-bit numbers are differences of floats, rounded once.
  using Number = ComputeTypeOf<T>;
  const T* a = static_cast<const T*>(a_base) + 3 * begin;
  const T* b = static_cast<const T*>(b_base) + 3 * begin;
  T* product = static_cast<T*>(product_base) + 3 * begin;
  for (int64_t i = begin; i < end; ++i, a += 3, b += 3, product += 3) {
    for (int k = 0; k < 3; ++k) {
      const int next = (k + 1) % 3;
      const int last = (k + 2) % 3;
      product[k] = T(WrappingDifference<Number>(WrappingProduct<Number>(a[next], b[last]),
                                                WrappingProduct<Number>(a[last], b[next])));
    }
  }
}

struct CrossFunction {
  MS_DType dtype;
  CrossLoop loop;
};
template <typename T>
constexpr CrossFunction LoopOf() {
  return {ms::DTypeOf<T>(), &CrossVectors<T>};
}
constexpr CrossFunction kLoops[] = {LoopOf<float>(),    LoopOf<double>(),  LoopOf<Float16>(),
                                    LoopOf<BFloat16>(), LoopOf<uint8_t>(), LoopOf<uint16_t>(),
                                    LoopOf<uint32_t>(), LoopOf<uint64_t>()};
constexpr TypeTable<CrossFunction> kTable = {kLoops, std::size(kLoops)};

// Inputs: a and b, of one shape, whose last dimension is 3.
class Cross {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    loop_ = kTable.Find(info.input_dtype(0));
    return loop_ == nullptr ? NoLoopFor(info.input_dtype(0)) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View a = frame.input(0);
    const ms::View b = frame.input(1);
    const ms::Shape shape = a.shape();
    if (shape.rank() == 0 || shape[shape.rank() - 1] != 3 || b.shape() != shape) {
      return ms::InvalidArgument(
          "a and b must have one shape, whose last dimension is 3, but have ", shape.ToString(),
          " and ", b.shape().ToString());
    }
    ms::View product;
    MS_TRY(frame.Output(0, shape, &product));
    return ParallelElements(frame, product.size() / 3, 3000, [&](int64_t begin, int64_t end) {
      loop_->loop(a.raw(), b.raw(), product.raw(), begin, end);
    });
  }

 private:
  const CrossFunction* loop_ = nullptr;
};

const ms::Registered cross =
    ms::Register<Cross>("Cross", ms::KernelOptions().Types("T", TypesIn(kOrderedTypes)));

}  // namespace
}  // namespace millstream::kernels
