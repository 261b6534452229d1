// Where: the indices of the elements that are not zero.
#include <complex>
#include <cstdint>
#include <iterator>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/type_table.h"

namespace millstream::kernels {
namespace {

// Finds the elements that are not zero (a NaN is not). Writes the place of each in flat order to
// *places, which then moves by `step`, unless places is null. Returns their number.
using FindLoop = int64_t (*)(const void* x, int64_t n, int64_t* places, int64_t step);

template <typename T>
int64_t FindSet(const void* x, int64_t n, int64_t* places, int64_t step) {
  const T* const elements = static_cast<const T*>(x);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    bool is_set = false;
    if constexpr (kIsNarrowFloat<T>) {
      is_set = (elements[i].bits & 0x7fff) != 0;
    } else {
      is_set = elements[i] != T(0);
    }
    if (places != nullptr && is_set) {
      *places = i;
      places += step;
    }
    count += is_set ? 1 : 0;
  }
  return count;
}

struct FindFunction {
  MS_DType dtype;
  FindLoop loop;
};
template <typename T>
constexpr FindFunction LoopOf() {
  return {ms::DTypeOf<T>(), &FindSet<T>};
}
constexpr FindFunction kLoops[] = {LoopOf<float>(),
                                   LoopOf<double>(),
                                   LoopOf<Float16>(),
                                   LoopOf<std::complex<float>>(),
                                   LoopOf<std::complex<double>>(),
                                   LoopOf<uint8_t>(),
                                   LoopOf<uint16_t>(),
                                   LoopOf<uint32_t>(),
                                   LoopOf<uint64_t>()};
constexpr TypeTable<FindFunction> kTable = {kLoops, std::size(kLoops)};

// Input: a tensor. Output: [count, rank], the index of each element that is set, in flat order.
class Where {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    // The sign is the highest bit of both 16-bit types.
    const MS_DType dtype = info.input_dtype(0);
    loop_ = kTable.Find(dtype == MS_BFLOAT16 ? MS_FLOAT16 : dtype);
    return loop_ == nullptr ? NoLoopFor(dtype) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::Shape shape = input.shape();
    const int64_t rank = shape.rank();
    const int64_t size = input.size();
    const int64_t count = loop_->loop(input.raw(), size, nullptr, 0);
    ms::View index;
    MS_TRY(frame.Output(0, ms::Shape{count, rank}, &index));
    if (index.size() == 0) return ms::Status();
    int64_t* row = index.data<int64_t>();
    loop_->loop(input.raw(), size, row, rank);
    // Until here a row begins with the place in flat order.
    for (int64_t k = 0; k < count; ++k, row += rank) {
      int64_t place = row[0];
      for (uint32_t d = shape.rank(); d-- > 0; place /= shape[d]) row[d] = place % shape[d];
    }
    return ms::Status();
  }

 private:
  const FindFunction* loop_ = nullptr;
};

std::vector<MS_DType> TypesOfWhere() {
  std::vector<MS_DType> types = TypesIn(kAllNumberTypes);
  types.insert(types.end(), {MS_BOOL, MS_QINT8, MS_QUINT8, MS_QINT32});
  return types;
}

const ms::Registered where_kernel =
    ms::Register<Where>("Where", ms::KernelOptions().Types("T", TypesOfWhere()));

}  // namespace
}  // namespace millstream::kernels
