// DecodeRaw.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// Input: bytes, strings of one length. The output has one more dimension: the numbers that the
// bytes of each string are.
class DecodeRaw {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    const MS_DType dtype = info.output_dtype(0);
    size_ = static_cast<int64_t>(ms::ElementSize(dtype));
    // The parts of a complex number are turned around one by one.
    const bool is_complex = dtype == MS_COMPLEX64 || dtype == MS_COMPLEX128;
    part_size_ = is_complex ? size_ / 2 : size_;
    bool little_endian = true;
    MS_TRY(info.Attr("little_endian", &little_endian));
    turns_around_ = !little_endian && part_size_ > 1;
    is_bool_ = dtype == MS_BOOL;
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View bytes = frame.input(0);
    ms::Shape shape = bytes.shape();
    MS_TRY(CheckRank(shape.rank() + 1));
    int64_t length = 0;
    MS_TRY(FindLength(bytes, &length));
    shape.Append(length / size_);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    char* to = output.data<char>();
    for (int64_t i = 0; i < bytes.size(); ++i, to += length) {
      std::string_view text;
      MS_TRY(bytes.GetString(i, &text));
      std::memcpy(to, text.data(), text.size());
      if (turns_around_) {
        for (int64_t k = 0; k < length; k += part_size_) std::reverse(to + k, to + k + part_size_);
      }
      if (is_bool_) std::transform(to, to + length, to, [](char c) { return c != 0 ? 1 : 0; });
    }
    return ms::Status();
  }

 private:
  ms::Status FindLength(const ms::View& bytes, int64_t* length) const {
    for (int64_t i = 0; i < bytes.size(); ++i) {
      std::string_view text;
      MS_TRY(bytes.GetString(i, &text));
      const auto own = static_cast<int64_t>(text.size());
      if (i == 0) *length = own;
      if (own != *length) {
        return ms::InvalidArgument("bytes must be strings of one length: the first has ", *length,
                                   " bytes, ", ElementName("bytes", bytes.shape(), i), " has ",
                                   own);
      }
    }
    if (*length % size_ == 0) return ms::Status();
    return ms::InvalidArgument("bytes must have a length that is a multiple of ", size_,
                               ", the size of out_type, but have ", *length);
  }

  int64_t size_ = 1;
  int64_t part_size_ = 1;
  bool turns_around_ = false;
  bool is_bool_ = false;
};

const ms::Registered decode_raw = ms::Register<DecodeRaw>(
    "DecodeRaw",
    ms::KernelOptions().Types(
        "out_type", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_INT32, MS_UINT16, MS_UINT8, MS_INT16,
                     MS_INT8, MS_INT64, MS_COMPLEX64, MS_COMPLEX128, MS_BOOL}));

}  // namespace
}  // namespace millstream::kernels
