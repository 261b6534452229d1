#include "core/structural/tensor_text.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "framework/half.h"

namespace millstream {
namespace {

enum class Strings { kEscaped, kQuoted };

// Few digits if they give the same number when read, else as many as every number needs.
std::string NumberText(float value) {
  if (std::isnan(value)) return "nan";
  std::string text = absl::StrFormat("%.6g", value);
  float parsed = 0;
  if (absl::SimpleAtof(text, &parsed) && parsed == value) return text;
  return absl::StrFormat("%.9g", value);
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "nan";
  std::string text = absl::StrFormat("%.15g", value);
  double parsed = 0;
  if (absl::SimpleAtod(text, &parsed) && parsed == value) return text;
  return absl::StrFormat("%.17g", value);
}

template <typename T>
std::string NumberText(std::complex<T> value) {
  return absl::StrCat("(", NumberText(value.real()), ",", NumberText(value.imag()), ")");
}

std::string ElementText(const Tensor& tensor, int64_t i, Strings strings) {
  switch (tensor.dtype()) {
    case DataType::kBool: return tensor.data<bool>()[i] ? "1" : "0";
    case DataType::kInt8: return absl::StrCat(static_cast<int>(tensor.data<int8_t>()[i]));
    case DataType::kInt16: return absl::StrCat(tensor.data<int16_t>()[i]);
    case DataType::kInt32: return absl::StrCat(tensor.data<int32_t>()[i]);
    case DataType::kInt64: return absl::StrCat(tensor.data<int64_t>()[i]);
    case DataType::kUInt8: return absl::StrCat(static_cast<int>(tensor.data<uint8_t>()[i]));
    case DataType::kUInt16: return absl::StrCat(tensor.data<uint16_t>()[i]);
    case DataType::kUInt32: return absl::StrCat(tensor.data<uint32_t>()[i]);
    case DataType::kUInt64: return absl::StrCat(tensor.data<uint64_t>()[i]);
    case DataType::kHalf: return NumberText(HalfToFloat(tensor.data<uint16_t>()[i]));
    case DataType::kBFloat16: return NumberText(BFloat16ToFloat(tensor.data<uint16_t>()[i]));
    case DataType::kFloat: return NumberText(tensor.data<float>()[i]);
    case DataType::kDouble: return NumberText(tensor.data<double>()[i]);
    case DataType::kComplex64: return NumberText(tensor.data<std::complex<float>>()[i]);
    case DataType::kComplex128: return NumberText(tensor.data<std::complex<double>>()[i]);
    case DataType::kString: {
      const std::string& text = tensor.data<std::string>()[i];
      return strings == Strings::kQuoted ? absl::StrCat("\"", text, "\"")
                                         : absl::Utf8SafeCEscape(text);
    }
    default: return "?";
  }
}

// Writes elements in their order until there are `limit`.
class FirstElements {
 public:
  FirstElements(const Tensor& tensor, int64_t limit) : tensor_(tensor), limit_(limit) {}
  std::string Text() {
    AppendEntries(0);
    if (next_ < tensor_.num_elements()) absl::StrAppend(&text_, "...");
    return std::move(text_);
  }

 private:
  // The entries of dimension `dim` at the current position. REQUIRES: next_ < limit_, or dim is 0.
  void AppendEntries(int dim) {
    const Shape& shape = tensor_.shape();
    const bool is_last = dim + 1 >= shape.rank();
    const int64_t count = shape.rank() == 0 ? 1 : shape.dim(dim);
    for (int64_t i = 0; i < count; ++i) {
      if (next_ >= limit_) {
        if (is_last && dim > 0) absl::StrAppend(&text_, "...");
        return;
      }
      if (is_last) {
        absl::StrAppend(&text_, i == 0 ? "" : " ",
                        ElementText(tensor_, next_++, Strings::kEscaped));
      } else {
        absl::StrAppend(&text_, "[");
        AppendEntries(dim + 1);
        absl::StrAppend(&text_, "]");
      }
    }
  }

  const Tensor& tensor_;
  const int64_t limit_;
  int64_t next_ = 0;  // the next element
  std::string text_;
};

// Writes the first and last `ends` entries of each dimension.
class Ends {
 public:
  Ends(const Tensor& tensor, int64_t ends) : tensor_(tensor), ends_(ends) {}
  std::string Text() {
    Append(0, 0, tensor_.num_elements());
    return std::move(text_);
  }

 private:
  // The part of `size` elements from `first` on; `dim` is its first dimension.
  void Append(int dim, int64_t first, int64_t size) {
    if (dim == tensor_.shape().rank()) {
      absl::StrAppend(&text_, ElementText(tensor_, first, Strings::kQuoted));
      return;
    }
    const int64_t count = tensor_.shape().dim(dim);
    const int64_t shown_first = std::min(count, ends_);
    const int64_t shown_last = std::min(count - shown_first, ends_);
    const bool leaves_out = shown_first + shown_last < count;
    absl::StrAppend(&text_, "[");
    for (int64_t i = 0; i < shown_first; ++i) AppendEntry(dim, i, first, size / count);
    if (leaves_out) absl::StrAppend(&text_, shown_first == 0 ? "" : Spacing(dim), "...");
    for (int64_t i = count - shown_last; i < count; ++i) AppendEntry(dim, i, first, size / count);
    absl::StrAppend(&text_, "]");
  }
  void AppendEntry(int dim, int64_t i, int64_t first, int64_t size) {
    if (i > 0) absl::StrAppend(&text_, Spacing(dim));
    Append(dim + 1, first + i * size, size);
  }
  // Between two entries of a dimension.
  std::string Spacing(int dim) const {
    const int inner = tensor_.shape().rank() - dim - 1;
    return inner == 0 ? " " : std::string(inner, '\n') + std::string(dim + 1, ' ');
  }

  const Tensor& tensor_;
  const int64_t ends_;
  std::string text_;
};

// `limit` entries of a tensor, where a negative number means all.
int64_t AllIfNegative(int64_t limit, const Tensor& tensor) {
  return limit < 0 ? tensor.num_elements() : limit;
}

}  // namespace

std::string FirstElementsText(const Tensor& tensor, int64_t limit) {
  if (tensor.num_elements() == 0) return "";
  return FirstElements(tensor, AllIfNegative(limit, tensor)).Text();
}

std::string EndsText(const Tensor& tensor, int64_t ends) {
  if (tensor.num_elements() == 0) return "[]";
  return Ends(tensor, AllIfNegative(ends, tensor)).Text();
}

}  // namespace millstream
