// Assert.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"

namespace millstream::kernels {
namespace {

// Numbers of one byte are printed as numbers.
template <typename T>
auto Printable(T value) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<int>(value);
  } else {
    return value;
  }
}
float Printable(Float16 value) { return value; }
float Printable(BFloat16 value) { return value; }

template <typename T>
void PrintNumbers(const ms::View& tensor, int64_t count, std::ostream& out) {
  const T* const elements = tensor.data<T>();
  for (int64_t i = 0; i < count; ++i) out << (i == 0 ? "" : " ") << Printable(elements[i]);
}

ms::Status PrintStrings(const ms::View& tensor, int64_t count, std::ostream& out) {
  for (int64_t i = 0; i < count; ++i) {
    std::string_view text;
    MS_TRY(tensor.GetString(i, &text));
    out << (i == 0 ? "" : " ") << text;
  }
  return ms::Status();
}

// Prints the first `count` elements; of a type that has no text, its number.
ms::Status PrintElements(const ms::View& tensor, int64_t count, std::ostream& out) {
  switch (tensor.dtype()) {
    case MS_BOOL: PrintNumbers<bool>(tensor, count, out); break;
    case MS_INT8: PrintNumbers<int8_t>(tensor, count, out); break;
    case MS_INT16: PrintNumbers<int16_t>(tensor, count, out); break;
    case MS_INT32: PrintNumbers<int32_t>(tensor, count, out); break;
    case MS_INT64: PrintNumbers<int64_t>(tensor, count, out); break;
    case MS_UINT8: PrintNumbers<uint8_t>(tensor, count, out); break;
    case MS_UINT16: PrintNumbers<uint16_t>(tensor, count, out); break;
    case MS_UINT32: PrintNumbers<uint32_t>(tensor, count, out); break;
    case MS_UINT64: PrintNumbers<uint64_t>(tensor, count, out); break;
    case MS_FLOAT16: PrintNumbers<Float16>(tensor, count, out); break;
    case MS_BFLOAT16: PrintNumbers<BFloat16>(tensor, count, out); break;
    case MS_FLOAT32: PrintNumbers<float>(tensor, count, out); break;
    case MS_FLOAT64: PrintNumbers<double>(tensor, count, out); break;
    case MS_COMPLEX64: PrintNumbers<std::complex<float>>(tensor, count, out); break;
    case MS_COMPLEX128: PrintNumbers<std::complex<double>>(tensor, count, out); break;
    case MS_STRING: return PrintStrings(tensor, count, out);
    default: out << "elements of the type " << static_cast<int>(tensor.dtype());
  }
  return ms::Status();
}

// Inputs: condition, a scalar bool; then the tensors that the error shows.
class Assert {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("summarize", &summarize_); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View condition = frame.input(0);
    if (condition.rank() != 0) {
      return ms::InvalidArgument("condition must be a scalar, its shape is ",
                                 condition.shape().ToString());
    }
    if (*condition.data<bool>()) return ms::Status();
    std::ostringstream shown;
    for (uint32_t i = 1; i < frame.num_inputs(); ++i) {
      const ms::View tensor = frame.input(i);
      const int64_t size = tensor.size();
      const int64_t count = summarize_ < 0 ? size : std::min(size, summarize_);
      shown << " [";
      MS_TRY(PrintElements(tensor, count, shown));
      shown << (count < size ? " ...]" : "]");
    }
    return ms::InvalidArgument("assertion failed:", shown.str());
  }

 private:
  int64_t summarize_ = 3;
};

const ms::Registered assert_kernel = ms::Register<Assert>("Assert");

}  // namespace
}  // namespace millstream::kernels
