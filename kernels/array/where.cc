// Where: the indices of the elements that are not zero.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"

namespace millstream::kernels {
namespace {

// The element is not zero (a NaN is not).
template <typename T>
bool IsSet(T element) {
  if constexpr (kIsNarrowFloat<T>) {
    return (element.bits & 0x7fff) != 0;
  } else {
    return element != T(0);
  }
}

// How many of elements [begin, end) are set.
template <typename T>
int64_t CountSet(const void* x, int64_t begin, int64_t end) {
  const T* const elements = static_cast<const T*>(x);
  int64_t count = 0;
  for (int64_t i = begin; i < end; ++i) count += IsSet(elements[i]) ? 1 : 0;
  return count;
}

// Writes the places of the first `count` set elements from `begin` on to places[0], places[step]
// and so on. Whether an element is set decides no branch, which could not be foretold.
// REQUIRES: there are as many.
template <typename T>
void FindSet(const void* x, int64_t begin, int64_t count, int64_t* places, int64_t step) {
  const T* const elements = static_cast<const T*>(x);
  const int64_t* const end = places + count * step;
  for (int64_t i = begin; places != end; ++i) {
    *places = i;
    places += IsSet(elements[i]) ? step : 0;
  }
}

struct FindFunctions {
  MS_DType dtype;
  int64_t (*count)(const void* x, int64_t begin, int64_t end);
  void (*find)(const void* x, int64_t begin, int64_t count, int64_t* places, int64_t step);
};
template <typename T>
constexpr FindFunctions LoopsOf() {
  return {ms::DTypeOf<T>(), &CountSet<T>, &FindSet<T>};
}
constexpr FindFunctions kLoops[] = {LoopsOf<float>(),
                                    LoopsOf<double>(),
                                    LoopsOf<Float16>(),
                                    LoopsOf<std::complex<float>>(),
                                    LoopsOf<std::complex<double>>(),
                                    LoopsOf<uint8_t>(),
                                    LoopsOf<uint16_t>(),
                                    LoopsOf<uint32_t>(),
                                    LoopsOf<uint64_t>()};
constexpr TypeTable<FindFunctions> kTable = {kLoops, std::size(kLoops)};

// Elements that are counted together, and searched by one thread.
constexpr int64_t kBlock = 16384;

// Input: a tensor. Output: [count, rank], the index of each element that is set, in flat order.
class Where {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    // The sign is the highest bit of both 16-bit types.
    const MS_DType dtype = info.input_dtype(0);
    functions_ = kTable.Find(dtype == MS_BFLOAT16 ? MS_FLOAT16 : dtype);
    return functions_ == nullptr ? NoLoopFor(dtype) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::Shape shape = input.shape();
    const int64_t rank = shape.rank();
    const int64_t size = input.size();
    // Block b has the set elements [starts[b], starts[b + 1]).
    const int64_t blocks = (size + kBlock - 1) / kBlock;
    std::vector<int64_t> starts(static_cast<size_t>(blocks + 1));
    MS_TRY(ParallelRows(frame, blocks, kBlock, kCountPicoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        starts[static_cast<size_t>(b + 1)] =
            functions_->count(input.raw(), b * kBlock, std::min(size, (b + 1) * kBlock));
      }
    }));
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    ms::View index;
    MS_TRY(frame.Output(0, ms::Shape{starts.back(), rank}, &index));
    if (index.size() == 0) return ms::Status();
    int64_t* const rows = index.data<int64_t>();
    const int64_t picoseconds = kFindPicoseconds + (rank > 1 ? rank * kDivisionPicoseconds : 0);
    return ParallelRows(frame, blocks, kBlock, picoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t start = starts[static_cast<size_t>(b)];
        const int64_t count = starts[static_cast<size_t>(b + 1)] - start;
        int64_t* const places = rows + start * rank;
        functions_->find(input.raw(), b * kBlock, count, places, rank);
        if (rank > 1) Unravel(shape, count, places);
      }
    });
  }

 private:
  // What an element costs (see ParallelElements), about half of them set.
  static constexpr int64_t kCountPicoseconds = 200;
  static constexpr int64_t kFindPicoseconds = 1000;
  static constexpr int64_t kDivisionPicoseconds = 2000;

  // Rows that begin with a place in flat order become the index of that place.
  static void Unravel(const ms::Shape& shape, int64_t count, int64_t* row) {
    for (int64_t k = 0; k < count; ++k, row += shape.rank()) {
      int64_t place = row[0];
      for (uint32_t d = shape.rank(); d-- > 0; place /= shape[d]) row[d] = place % shape[d];
    }
  }

  const FindFunctions* functions_ = nullptr;
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
