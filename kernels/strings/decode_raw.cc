// DecodeRaw and DecodePaddedRaw.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"

namespace millstream::kernels {
namespace {

// How the bytes of numbers are ordered.
class RawNumbers {
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
  // Bytes of one number.
  int64_t size() const { return size_; }
  // Makes numbers of `length` bytes, in place.
  void Arrange(char* bytes, int64_t length) const {
    if (turns_around_) {
      for (int64_t k = 0; k < length; k += part_size_) {
        std::reverse(bytes + k, bytes + k + part_size_);
      }
    }
    if (is_bool_) {
      std::transform(bytes, bytes + length, bytes, [](char c) { return c != 0 ? 1 : 0; });
    }
  }

 private:
  int64_t size_ = 1;
  int64_t part_size_ = 1;
  bool turns_around_ = false;
  bool is_bool_ = false;
};

// Input: bytes, strings of one length. The output has one more dimension: the numbers that the
// bytes of each string are.
class DecodeRaw {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return numbers_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View bytes = frame.input(0);
    ms::Shape shape = bytes.shape();
    MS_TRY(CheckRank(shape.rank() + 1));
    int64_t length = 0;
    MS_TRY(FindLength(bytes, &length));
    shape.Append(length / numbers_.size());
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    char* to = output.data<char>();
    for (int64_t i = 0; i < bytes.size(); ++i, to += length) {
      std::string_view text;
      MS_TRY(bytes.GetString(i, &text));
      std::memcpy(to, text.data(), text.size());
      numbers_.Arrange(to, length);
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
    if (*length % numbers_.size() == 0) return ms::Status();
    return ms::InvalidArgument("bytes must have a length that is a multiple of ", numbers_.size(),
                               ", the size of out_type, but have ", *length);
  }

  RawNumbers numbers_;
};

// Inputs: bytes, and the length that each string is cut or padded with zeros to.
class DecodePaddedRaw {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return numbers_.Init(info); }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View bytes = frame.input(0);
    const ms::View fixed_length = frame.input(1);
    if (fixed_length.rank() != 0) {
      return ms::InvalidArgument("fixed_length must be a scalar, but has shape ",
                                 fixed_length.shape().ToString());
    }
    const int64_t length = *fixed_length.data<int32_t>();
    if (length <= 0 || length % numbers_.size() != 0) {
      return ms::InvalidArgument("fixed_length must be a positive multiple of ", numbers_.size(),
                                 ", the size of out_type, but is ", length);
    }
    ms::Shape shape = bytes.shape();
    MS_TRY(CheckRank(shape.rank() + 1));
    shape.Append(length / numbers_.size());
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    char* to = output.data<char>();
    for (int64_t i = 0; i < bytes.size(); ++i, to += length) {
      std::string_view text;
      MS_TRY(bytes.GetString(i, &text));
      text = text.substr(0, static_cast<size_t>(length));
      std::memcpy(to, text.data(), text.size());
      std::memset(to + text.size(), 0, static_cast<size_t>(length) - text.size());
      numbers_.Arrange(to, length);
    }
    return ms::Status();
  }

 private:
  RawNumbers numbers_;
};

const ms::Registered decode_raw = ms::Register<DecodeRaw>(
    "DecodeRaw",
    ms::KernelOptions().Types(
        "out_type", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_INT32, MS_UINT16, MS_UINT8, MS_INT16,
                     MS_INT8, MS_INT64, MS_COMPLEX64, MS_COMPLEX128, MS_BOOL}));
const ms::Registered decode_padded_raw = ms::Register<DecodePaddedRaw>(
    "DecodePaddedRaw", ms::KernelOptions()
                           .HostArg("fixed_length")
                           .Types("out_type", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_INT32,
                                               MS_UINT16, MS_UINT8, MS_INT16, MS_INT8, MS_INT64}));

}  // namespace
}  // namespace millstream::kernels
