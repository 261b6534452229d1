// Segments of rows that are combined: SegmentSum, SegmentMean, SegmentProd, SegmentMax, SegmentMin,
// whose ids are sorted; UnsortedSegmentProd, UnsortedSegmentMax, UnsortedSegmentMin;
// SparseSegmentSum, SparseSegmentMean and SparseSegmentSqrtN, which choose the rows by index.
// 16-bit floating-point numbers are combined as float and rounded once.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/accumulate_rows.h"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// ---- Loops over the elements of a row ----

struct SumOf {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingSum<T>(x, y);
  }
};
struct ProductOf {
  template <typename T>
  static T Apply(T x, T y) {
    return WrappingProduct(x, y);
  }
};
struct MaximumOf {
  template <typename T>
  static T Apply(T x, T y) {
    return y > x ? y : x;
  }
};
struct MinimumOf {
  template <typename T>
  static T Apply(T x, T y) {
    return y < x ? y : x;
  }
};

template <typename Op, typename T>
void CombineRow(void* result_base, const void* row_base, int64_t n) {
  T* const __restrict result = static_cast<T*>(result_base);
  const T* const __restrict row = static_cast<const T*>(row_base);
  for (int64_t i = 0; i < n; ++i) result[i] = Op::template Apply<T>(result[i], row[i]);
}

// Each element divided by a count, that of integers towards zero, or by a real number.
template <typename T>
void DivideRow(void* row_base, int64_t n, double by) {
  T* const row = static_cast<T*>(row_base);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      row[i] = static_cast<T>(row[i] / static_cast<__int128>(by));
    } else if constexpr (std::is_floating_point_v<T>) {
      row[i] = row[i] / static_cast<T>(by);
    } else {
      row[i] = row[i] / static_cast<typename T::value_type>(by);
    }
  }
}

struct RowLoop {
  MS_DType dtype;
  void (*combine)(void* result, const void* row, int64_t n);
};
struct RowDivision {
  MS_DType dtype;
  void (*divide)(void* row, int64_t n, double by);
};
using RowTable = TypeTable<RowLoop>;

template <typename Op, typename... Ts>
struct LoopsOf {
  static constexpr RowLoop kLoops[] = {{ms::DTypeOf<Ts>(), &CombineRow<Op, Ts>}...};
  static constexpr RowTable kTable = {kLoops, sizeof...(Ts)};
};
template <typename Op>
using Arithmetic = LoopsOf<Op, float, double, std::complex<float>, std::complex<double>, uint8_t,
                           uint16_t, uint32_t, uint64_t>;
template <typename Op>
using Ordered = LoopsOf<Op, float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                        uint32_t, uint64_t>;

template <typename T>
constexpr RowDivision DivisionOf() {
  return {ms::DTypeOf<T>(), &DivideRow<T>};
}
constexpr RowDivision kDivisions[] = {DivisionOf<float>(),
                                      DivisionOf<double>(),
                                      DivisionOf<std::complex<float>>(),
                                      DivisionOf<std::complex<double>>(),
                                      DivisionOf<int8_t>(),
                                      DivisionOf<int16_t>(),
                                      DivisionOf<int32_t>(),
                                      DivisionOf<int64_t>(),
                                      DivisionOf<uint8_t>(),
                                      DivisionOf<uint16_t>(),
                                      DivisionOf<uint32_t>(),
                                      DivisionOf<uint64_t>()};
constexpr TypeTable<RowDivision> kDivisionTable = {kDivisions, std::size(kDivisions)};

// ---- What a segment without rows has ----

enum class Empty { kZero, kOne, kLowest, kHighest };

template <typename T>
void FillTyped(void* base, int64_t n, Empty what, T lowest, T highest) {
  const T value = what == Empty::kZero     ? T(0)
                  : what == Empty::kOne    ? T(1)
                  : what == Empty::kLowest ? lowest
                                           : highest;
  std::fill_n(static_cast<T*>(base), n, value);
}
template <typename T>
void FillLimits(void* base, int64_t n, Empty what) {
  FillTyped<T>(base, n, what, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max());
}

void FillEmpty(MS_DType dtype, void* base, int64_t n, Empty what) {
  switch (dtype) {
    case MS_FLOAT32: return FillLimits<float>(base, n, what);
    case MS_FLOAT64: return FillLimits<double>(base, n, what);
    case MS_FLOAT16: {  // as float
      const float limit = std::numeric_limits<Float16>::max();
      return FillTyped<float>(base, n, what, -limit, limit);
    }
    case MS_BFLOAT16: {
      const float limit = std::numeric_limits<BFloat16>::max();
      return FillTyped<float>(base, n, what, -limit, limit);
    }
    case MS_COMPLEX64: return FillTyped<std::complex<float>>(base, n, what, 0, 0);
    case MS_COMPLEX128: return FillTyped<std::complex<double>>(base, n, what, 0, 0);
    case MS_INT8: return FillLimits<int8_t>(base, n, what);
    case MS_INT16: return FillLimits<int16_t>(base, n, what);
    case MS_INT32: return FillLimits<int32_t>(base, n, what);
    case MS_INT64: return FillLimits<int64_t>(base, n, what);
    case MS_UINT8: return FillLimits<uint8_t>(base, n, what);
    case MS_UINT16: return FillLimits<uint16_t>(base, n, what);
    case MS_UINT32: return FillLimits<uint32_t>(base, n, what);
    default: return FillLimits<uint64_t>(base, n, what);
  }
}

// ---- Segments ----

enum class Order { kSorted, kUnsorted, kSparse };
enum class Divide { kNot, kByCount, kByRootOfCount };

// The rows that are combined, in this order: row rows[k] of the data belongs to segment ids[k], or
// to none if that is negative.
struct Assignment {
  std::vector<int64_t> ids;
  std::vector<int64_t> rows;
  int64_t segments = 0;
};

ms::Status ReadSortedIds(const ms::View& ids, Assignment* found) {
  if (ids.rank() != 1) {
    return ms::InvalidArgument("segment_ids must be a vector, but has shape ",
                               ids.shape().ToString());
  }
  int64_t last = 0;
  for (int64_t k = 0; k < ids.size(); ++k) {
    const int64_t id = IndexAt(ids, k);
    if (id < last) {
      return ms::InvalidArgument(
          ElementName("segment_ids", ids.shape(), k), " = ", id,
          id < 0 ? " must not be negative" : " must not be smaller than the one before");
    }
    if (id == std::numeric_limits<int64_t>::max()) {
      return ms::InvalidArgument(ElementName("segment_ids", ids.shape(), k), " = ", id,
                                 " asks for more segments than 64 bits can count");
    }
    found->ids.push_back(id);
    last = id;
  }
  found->segments = ids.size() == 0 ? 0 : last + 1;
  return ms::Status();
}

ms::Status ReadNumSegments(const ms::View& view, int64_t* segments) {
  MS_TRY(ReadIndexScalar(view, "num_segments", segments));
  if (*segments >= 0) return ms::Status();
  return ms::InvalidArgument("num_segments = ", *segments, " must not be negative");
}

// Inputs: data and segment_ids, and num_segments if not sorted; or data, indices, segment_ids, and
// num_segments in some ops.
class Segments {
 public:
  struct Row {
    RowTable table;
    Order order;
    Divide divide;
    Empty empty;
  };

  explicit Segments(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    dtype_ = info.input_dtype(0);
    format_ = NarrowFormatOf(dtype_);
    loop_ = row_.table.Find(dtype_);
    division_ = kDivisionTable.Find(dtype_);
    if (loop_ == nullptr || division_ == nullptr) return NoLoopFor(dtype_);
    element_size_ = static_cast<int64_t>(ms::ElementSize(dtype_));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View data = frame.input(0);
    Assignment found;
    uint32_t id_rank = 1;
    switch (row_.order) {
      case Order::kSorted: MS_TRY(AssignSorted(frame, &found)); break;
      case Order::kUnsorted:
        id_rank = frame.input(1).rank();
        MS_TRY(AssignUnsorted(frame, &found));
        break;
      case Order::kSparse: MS_TRY(AssignSparse(frame, &found)); break;
    }
    MS_TRY(CheckRank(data.rank() - id_rank + 1));
    ms::Shape shape{found.segments};
    for (uint32_t d = id_rank; d < data.rank(); ++d) shape.Append(data.dim(d));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    ms::View results = output;
    if (format_ != nullptr) {
      MS_TRY(frame.Temp(static_cast<uint64_t>(output.size()) * sizeof(float), &results));
    }
    Combine(frame, found, data.raw(), output.size() / found.segments, results.raw());
    if (format_ != nullptr) {
      format_->narrow(results.data<float>(), output.size(), output.raw(), 0);
    }
    return ms::Status();
  }

 private:
  static ms::Status AssignSorted(const ms::Frame& frame, Assignment* found) {
    const ms::View data = frame.input(0);
    const ms::View ids = frame.input(1);
    MS_TRY(ReadSortedIds(ids, found));
    if (data.rank() == 0 || data.dim(0) != ids.dim(0)) {
      return ms::InvalidArgument("segment_ids must have an element for each row of data, but has ",
                                 ids.dim(0), "; data has shape ", data.shape().ToString());
    }
    for (int64_t k = 0; k < ids.size(); ++k) found->rows.push_back(k);
    return ms::Status();
  }

  static ms::Status AssignUnsorted(const ms::Frame& frame, Assignment* found) {
    const ms::View ids = frame.input(1);
    MS_TRY(ReadNumSegments(frame.input(2), &found->segments));
    MS_TRY(CheckRows("data", frame.input(0).shape(), "segment_ids", ids.shape()));
    for (int64_t k = 0; k < ids.size(); ++k) {
      const int64_t id = IndexAt(ids, k);
      if (id >= found->segments) {
        return ms::InvalidArgument(ElementName("segment_ids", ids.shape(), k), " = ", id,
                                   " is not smaller than num_segments = ", found->segments);
      }
      found->ids.push_back(id);
      found->rows.push_back(k);
    }
    return ms::Status();
  }

  static ms::Status AssignSparse(const ms::Frame& frame, Assignment* found) {
    const ms::View data = frame.input(0);
    const ms::View indices = frame.input(1);
    MS_TRY(ReadSortedIds(frame.input(2), found));
    if (data.rank() == 0) return ms::InvalidArgument("data must have rank 1 or more");
    if (indices.shape() != frame.input(2).shape()) {
      return ms::InvalidArgument("indices must have an element for each of segment_ids, but have ",
                                 "the shapes ", indices.shape().ToString(), " and ",
                                 frame.input(2).shape().ToString());
    }
    for (int64_t k = 0; k < indices.size(); ++k) {
      const int64_t row = IndexAt(indices, k);
      if (row < 0 || row >= data.dim(0)) return NotInRange("indices", indices, k, data.dim(0));
      found->rows.push_back(row);
    }
    if (frame.num_inputs() < 4) return ms::Status();
    int64_t segments = 0;
    MS_TRY(ReadNumSegments(frame.input(3), &segments));
    if (found->segments > segments) {
      return ms::InvalidArgument("segment_ids has the id ", found->segments - 1,
                                 ", which is not smaller than num_segments = ", segments);
    }
    found->segments = segments;
    return ms::Status();
  }

  // Threads share columns: each goes through all rows, in one order.
  void Combine(ms::Frame& frame, const Assignment& found, const void* data, int64_t width,
               void* results) const {
    const auto segments = static_cast<size_t>(found.segments);
    std::vector<int64_t> counts(segments, 0);
    for (const int64_t id : found.ids) {
      if (id >= 0) ++counts[static_cast<size_t>(id)];
    }
    const int64_t bytes = format_ == nullptr ? element_size_ : int64_t{sizeof(float)};
    ForColumns(frame, static_cast<int64_t>(found.ids.size()), width, bytes, 2,
               [&](int64_t first, int64_t last) {
                 for (int64_t at = first; at < last; at += kTileElements) {
                   CombineColumns(found, counts, data, width, at,
                                  std::min(last, at + kTileElements), results);
                 }
               });
  }

  // REQUIRES: last - first <= kTileElements.
  void CombineColumns(const Assignment& found, const std::vector<int64_t>& counts, const void* data,
                      int64_t width, int64_t first, int64_t last, void* results) const {
    const int64_t n = last - first;
    const int64_t bytes = format_ == nullptr ? element_size_ : int64_t{sizeof(float)};
    const auto result = [&](int64_t segment) {
      return static_cast<char*>(results) + (segment * width + first) * bytes;
    };
    // The first row of a sorted segment is copied; others begin with what an empty one has.
    const bool copies_first = row_.order != Order::kUnsorted;
    for (int64_t segment = 0; segment < found.segments; ++segment) {
      FillEmpty(dtype_, result(segment), n, row_.empty);
    }
    float wide[kTileElements];
    int64_t before = -1;
    for (size_t k = 0; k < found.ids.size(); ++k) {
      const int64_t id = found.ids[k];
      if (id < 0) continue;
      const int64_t place = found.rows[k] * width + first;
      const void* row = static_cast<const char*>(data) + place * element_size_;
      if (format_ != nullptr) {
        format_->widen(data, place, n, wide);
        row = wide;
      }
      if (copies_first && id != before) {
        std::memcpy(result(id), row, static_cast<size_t>(n * bytes));
      } else {
        loop_->combine(result(id), row, n);
      }
      before = id;
    }
    if (row_.divide != Divide::kNot) DivideColumns(counts, result, n);
  }

  template <typename Result>
  void DivideColumns(const std::vector<int64_t>& counts, const Result& result, int64_t n) const {
    for (size_t segment = 0; segment < counts.size(); ++segment) {
      if (counts[segment] < 2) continue;
      const auto count = static_cast<double>(counts[segment]);
      division_->divide(result(static_cast<int64_t>(segment)), n,
                        row_.divide == Divide::kByCount ? count : std::sqrt(count));
    }
  }

  const Row& row_;
  MS_DType dtype_ = 0;
  const NarrowFormat* format_ = nullptr;
  const RowLoop* loop_ = nullptr;
  const RowDivision* division_ = nullptr;
  int64_t element_size_ = 0;
};

// ---- Registration ----

constexpr Segments::Row kSum = {Arithmetic<SumOf>::kTable, Order::kSorted, Divide::kNot,
                                Empty::kZero};
constexpr Segments::Row kMean = {Arithmetic<SumOf>::kTable, Order::kSorted, Divide::kByCount,
                                 Empty::kZero};
constexpr Segments::Row kProd = {Arithmetic<ProductOf>::kTable, Order::kSorted, Divide::kNot,
                                 Empty::kOne};
constexpr Segments::Row kMax = {Ordered<MaximumOf>::kTable, Order::kSorted, Divide::kNot,
                                Empty::kZero};
constexpr Segments::Row kMin = {Ordered<MinimumOf>::kTable, Order::kSorted, Divide::kNot,
                                Empty::kZero};
constexpr Segments::Row kUnsortedProd = {Arithmetic<ProductOf>::kTable, Order::kUnsorted,
                                         Divide::kNot, Empty::kOne};
constexpr Segments::Row kUnsortedMax = {Ordered<MaximumOf>::kTable, Order::kUnsorted, Divide::kNot,
                                        Empty::kLowest};
constexpr Segments::Row kUnsortedMin = {Ordered<MinimumOf>::kTable, Order::kUnsorted, Divide::kNot,
                                        Empty::kHighest};
constexpr Segments::Row kSparseSum = {Arithmetic<SumOf>::kTable, Order::kSparse, Divide::kNot,
                                      Empty::kZero};
constexpr Segments::Row kSparseMean = {Arithmetic<SumOf>::kTable, Order::kSparse, Divide::kByCount,
                                       Empty::kZero};
constexpr Segments::Row kSparseSqrtN = {Arithmetic<SumOf>::kTable, Order::kSparse,
                                        Divide::kByRootOfCount, Empty::kZero};

ms::Registered Sorted(const char* op, const Segments::Row& row, uint32_t types) {
  return ms::RegisterRow<Segments>(
      op, row, ms::KernelOptions().Types("T", TypesIn(types)).Types("Tindices", IndexTypes()));
}
ms::Registered Unsorted(const char* op, const Segments::Row& row, uint32_t types) {
  return ms::RegisterRow<Segments>(op, row,
                                   ms::KernelOptions()
                                       .Types("T", TypesIn(types))
                                       .Types("Tindices", IndexTypes())
                                       .Types("Tnumsegments", IndexTypes())
                                       .HostArg("num_segments"));
}
ms::Registered Sparse(const char* op, const char* op_with_number, const Segments::Row& row,
                      uint32_t types) {
  const auto options = [&] {
    return ms::KernelOptions().Types("T", TypesIn(types)).Types("Tidx", IndexTypes());
  };
  ms::RegisterRow<Segments>(op, row, options());
  return ms::RegisterRow<Segments>(
      op_with_number, row, options().Types("Tnumsegments", IndexTypes()).HostArg("num_segments"));
}

const ms::Registered sum = Sorted("SegmentSum", kSum, kAllNumberTypes);
const ms::Registered mean = Sorted("SegmentMean", kMean, kAllNumberTypes);
const ms::Registered prod = Sorted("SegmentProd", kProd, kAllNumberTypes);
const ms::Registered max = Sorted("SegmentMax", kMax, kOrderedTypes);
const ms::Registered min = Sorted("SegmentMin", kMin, kOrderedTypes);
const ms::Registered unsorted_prod =
    Unsorted("UnsortedSegmentProd", kUnsortedProd, kAllNumberTypes);
const ms::Registered unsorted_max = Unsorted("UnsortedSegmentMax", kUnsortedMax, kOrderedTypes);
const ms::Registered unsorted_min = Unsorted("UnsortedSegmentMin", kUnsortedMin, kOrderedTypes);
const ms::Registered sparse_sum =
    Sparse("SparseSegmentSum", "SparseSegmentSumWithNumSegments", kSparseSum, kOrderedTypes);
const ms::Registered sparse_mean =
    Sparse("SparseSegmentMean", "SparseSegmentMeanWithNumSegments", kSparseMean, kFloatTypes);
const ms::Registered sparse_sqrt_n =
    Sparse("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments", kSparseSqrtN, kFloatTypes);

}  // namespace
}  // namespace millstream::kernels
