// InplaceUpdate, InplaceAdd and InplaceSub: rows of a tensor that others replace, or are added to.
#include <complex>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strings.h"
#include "kernels/common/type_table.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// row = row + value, or row - value.
using RowLoop = void (*)(void* row, const void* value, int64_t n);

template <typename T, bool kAdds>
void ChangeRow(void* row_base, const void* value_base, int64_t n) {
  T* const row = static_cast<T*>(row_base);
  const T* const value = static_cast<const T*>(value_base);
  for (int64_t i = 0; i < n; ++i) {
    row[i] = kAdds ? WrappingSum<T>(row[i], value[i]) : WrappingDifference<T>(row[i], value[i]);
  }
}

struct RowFunctions {
  MS_DType dtype;
  RowLoop add;
  RowLoop subtract;
};
template <typename T>
constexpr RowFunctions LoopsOf() {
  return {ms::DTypeOf<T>(), &ChangeRow<T, true>, &ChangeRow<T, false>};
}
constexpr RowFunctions kLoops[] = {LoopsOf<float>(),
                                   LoopsOf<double>(),
                                   LoopsOf<std::complex<float>>(),
                                   LoopsOf<std::complex<double>>(),
                                   LoopsOf<uint8_t>(),
                                   LoopsOf<uint16_t>(),
                                   LoopsOf<uint32_t>(),
                                   LoopsOf<uint64_t>()};
constexpr TypeTable<RowFunctions> kTable = {kLoops, std::size(kLoops)};

enum class Change { kReplace, kAdd, kSubtract };

// Inputs: x; i, a vector; v, a row of x for each element of i. Row i[k] of the output is that of x,
// changed by row k of v, one after the other. An index out of range counts modulo the rows of x.
class InplaceRows {
 public:
  struct Row {
    Change change;
  };

  explicit InplaceRows(const Row& row) : change_(row.change) {}

  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.input_dtype(0);
    element_size_ = static_cast<int64_t>(ms::ElementSize(dtype));
    format_ = NarrowFormatOf(dtype);
    if (change_ == Change::kReplace) return ms::Status();
    const RowFunctions* const functions = kTable.Find(dtype);
    if (functions == nullptr) return NoLoopFor(dtype);
    loop_ = change_ == Change::kAdd ? functions->add : functions->subtract;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View x = frame.input(0);
    const ms::View indices = frame.input(1);
    const ms::View v = frame.input(2);
    MS_TRY(Check(x, indices, v));
    ms::View y;
    MS_TRY(frame.ForwardOrOutput(0, 0, x.shape(), &y));
    if (y.size() == 0) return ms::Status();
    if (y.raw() != x.raw()) {
      StridedCopy copy;
      copy.AddDim(x.size(), 1, 1);
      MS_TRY(copy.Run(frame, x, 0, y, 0));
    }
    const int64_t rows = x.dim(0);
    const int64_t width = x.size() / rows;
    for (int64_t k = 0; k < indices.size(); ++k) {
      const int64_t row = (IndexAt(indices, k) % rows + rows) % rows;
      MS_TRY(ChangeOne(v, k * width, y, row * width, width));
    }
    return ms::Status();
  }

 private:
  static ms::Status Check(const ms::View& x, const ms::View& indices, const ms::View& v) {
    if (indices.rank() != 1) {
      return ms::InvalidArgument("i must be a vector, but has shape ", indices.shape().ToString());
    }
    if (x.rank() == 0) return ms::InvalidArgument("x must have rank 1 or more");
    ms::Shape expected = x.shape();
    expected[0] = indices.dim(0);
    if (v.shape() != expected) {
      return ms::InvalidArgument("v must have shape ", expected.ToString(),
                                 ", a row of x for each ", "element of i, but has ",
                                 v.shape().ToString());
    }
    if (x.dim(0) == 0 && indices.dim(0) > 0) {
      return ms::InvalidArgument("x has no row that i could name");
    }
    return ms::Status();
  }

  ms::Status ChangeOne(const ms::View& v, int64_t from, const ms::View& y, int64_t to,
                       int64_t width) const {
    if (element_size_ == 0) return CopyStrings(v, from, y, to, width);
    char* const row = y.data<char>() + to * element_size_;
    const char* const value = v.data<char>() + from * element_size_;
    if (loop_ == nullptr) {
      std::memcpy(row, value, static_cast<size_t>(width * element_size_));
    } else if (format_ == nullptr) {
      loop_(row, value, width);
    } else {
      ChangeNarrow(row, value, width);
    }
    return ms::Status();
  }

  void ChangeNarrow(void* row, const void* value, int64_t width) const {
    float wide[kTileElements];
    float wide_value[kTileElements];
    for (int64_t at = 0; at < width; at += kTileElements) {
      const int64_t n = std::min(kTileElements, width - at);
      format_->widen(row, at, n, wide);
      format_->widen(value, at, n, wide_value);
      loop_(wide, wide_value, n);
      format_->narrow(wide, n, row, at);
    }
  }

  const Change change_;
  int64_t element_size_ = 0;  // 0 for strings
  const NarrowFormat* format_ = nullptr;
  RowLoop loop_ = nullptr;
};

constexpr InplaceRows::Row kReplace = {Change::kReplace};
constexpr InplaceRows::Row kAdd = {Change::kAdd};
constexpr InplaceRows::Row kSubtract = {Change::kSubtract};

ms::Registered RegisterInplace(const char* op, const InplaceRows::Row& row,
                               std::vector<MS_DType> types) {
  return ms::RegisterRow<InplaceRows>(
      op, row, ms::KernelOptions().Types("T", std::move(types)).InPlace(0, 0));
}

const ms::Registered update = RegisterInplace("InplaceUpdate", kReplace, MovableTypes());
const ms::Registered add = RegisterInplace("InplaceAdd", kAdd, TypesIn(kAllNumberTypes));
const ms::Registered subtract = RegisterInplace("InplaceSub", kSubtract, TypesIn(kAllNumberTypes));

}  // namespace
}  // namespace millstream::kernels
