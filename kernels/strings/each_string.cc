// Functions of each string by itself: StringStrip, EncodeBase64, DecodeBase64, StringLength,
// StringToNumber, AsString.
#include <algorithm>
#include <cinttypes>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/number_text.h"
#include "kernels/strings/utf8.h"

namespace millstream::kernels {
namespace {

// ---- A string of a string ----

// Sets *result; false if `text` is not allowed.
using TextFunction = bool (*)(std::string_view text, bool flag, std::string* result);

bool Strip(std::string_view text, bool, std::string* result) {
  result->assign(Stripped(text));
  return true;
}

// The alphabet for URLs and file names (RFC 4648, section 5).
constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool Encode(std::string_view text, bool pads, std::string* result) {
  result->clear();
  for (size_t at = 0; at < text.size(); at += 3) {
    const size_t bytes = std::min<size_t>(3, text.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < bytes ? static_cast<unsigned char>(text[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      if (i <= bytes) {
        result->push_back(kDigits[bits >> (18 - 6 * i) & 63]);
      } else if (pads) {
        result->push_back('=');
      }
    }
  }
  return true;
}

// -1 for what is no digit.
int DigitOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '-' ? 62 : c == '_' ? 63 : -1;
}

// The padding may be missing.
bool Decode(std::string_view text, bool, std::string* result) {
  result->clear();
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int known = 0;
  for (const char c : text) {
    const int digit = DigitOf(c);
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    known += 6;
    if (known >= 8) {
      known -= 8;
      result->push_back(static_cast<char>(bits >> known & 255));
    }
  }
  // Digits say no more than the bytes.
  return (bits & ((1u << known) - 1)) == 0;
}

// Input: strings. Output: the function of each.
class EachText {
 public:
  struct Row {
    TextFunction function;
    const char* flag;      // an attribute for the function, or null
    const char* expected;  // of what is not allowed
  };

  explicit EachText(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    return row_.flag == nullptr ? ms::Status() : info.Attr(row_.flag, &flag_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    std::string result;
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      if (!row_.function(text, flag_, &result)) {
        return ms::InvalidArgument(ElementName("input", input.shape(), i), " is no ", row_.expected,
                                   ": \"", text, "\"");
      }
      MS_TRY(output.SetString(i, result));
    }
    return ms::Status();
  }

 private:
  const Row& row_;
  bool flag_ = false;
};

constexpr EachText::Row kStrip = {&Strip, nullptr, "text"};
constexpr EachText::Row kEncode = {&Encode, "pad", "text"};
constexpr EachText::Row kDecode = {&Decode, nullptr, "text in web-safe base64"};

// ---- A number of a string ----

class StringLength {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string unit;
    MS_TRY(info.Attr("unit", &unit));
    counts_characters_ = unit == "UTF8_CHAR";
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      output.data<int32_t>()[i] = static_cast<int32_t>(
          counts_characters_ ? CountCharacters(text) : static_cast<int64_t>(text.size()));
    }
    return ms::Status();
  }

 private:
  bool counts_characters_ = false;
};

// Space around the number is passed over.
template <typename T>
class StringToNumber {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      if (!ParseNumber(text, output.data<T>() + i)) {
        return ms::InvalidArgument("StringToNumberOp could not correctly convert string: ", text,
                                   " (", ElementName("string_tensor", input.shape(), i), ")");
      }
    }
    return ms::Status();
  }
};

// ---- A string of a number ----

template <typename Number>
void Print(const std::string& format, Number number, std::string* text) {
  const int size = std::snprintf(nullptr, 0, format.c_str(), number);
  const size_t before = text->size();
  text->resize(before + static_cast<size_t>(size) + 1);
  std::snprintf(text->data() + before, static_cast<size_t>(size) + 1, format.c_str(), number);
  text->pop_back();
}

class AsString {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    dtype_ = info.input_dtype(0);
    int64_t precision = -1;
    int64_t width = -1;
    bool scientific = false;
    bool shortest = false;
    std::string fill;
    MS_TRY(info.Attr("precision", &precision));
    MS_TRY(info.Attr("width", &width));
    MS_TRY(info.Attr("scientific", &scientific));
    MS_TRY(info.Attr("shortest", &shortest));
    MS_TRY(info.Attr("fill", &fill));
    const bool is_integer = !IsInexact() && dtype_ != MS_BOOL;
    if (scientific && shortest) {
      return ms::InvalidArgument("scientific and shortest cannot both be set");
    }
    if (!IsInexact() && (scientific || shortest || precision >= 0)) {
      return ms::InvalidArgument(
          "scientific, shortest and precision are for floating-point numbers only");
    }
    if (fill.size() > 1 || (fill.size() == 1 && std::string("+- 0#").find(fill) == fill.npos)) {
      return ms::InvalidArgument(
          "fill must be one of \"+\", \"-\", \" \", \"0\", \"#\", or empty: ", fill);
    }
    if (width > kMost || precision > kMost) {
      return ms::InvalidArgument("width and precision must be at most ", kMost, ", got ", width,
                                 " and ", precision);
    }
    format_ = "%" + fill;
    if (width > -1) format_ += std::to_string(width);
    if (precision > -1) format_ += "." + std::to_string(precision);
    format_ += is_integer ? PRId64 : scientific ? "e" : shortest ? "g" : "f";
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    const PlainLocaleScope plain;
    std::string text;
    for (int64_t i = 0; i < input.size(); ++i) {
      text.clear();
      Append(input, i, &text);
      MS_TRY(output.SetString(i, text));
    }
    return ms::Status();
  }

 private:
  static constexpr int64_t kMost = 4096;

  bool IsInexact() const {
    return dtype_ == MS_FLOAT32 || dtype_ == MS_FLOAT64 || dtype_ == MS_COMPLEX64 ||
           dtype_ == MS_COMPLEX128;
  }

  void Append(const ms::View& input, int64_t i, std::string* text) const {
    switch (dtype_) {
      case MS_BOOL: text->append(input.data<uint8_t>()[i] != 0 ? "true" : "false"); break;
      case MS_INT8: Print(format_, int64_t{input.data<int8_t>()[i]}, text); break;
      case MS_INT16: Print(format_, int64_t{input.data<int16_t>()[i]}, text); break;
      case MS_INT32: Print(format_, int64_t{input.data<int32_t>()[i]}, text); break;
      case MS_INT64: Print(format_, input.data<int64_t>()[i], text); break;
      case MS_FLOAT32: Print(format_, double{input.data<float>()[i]}, text); break;
      case MS_FLOAT64: Print(format_, input.data<double>()[i], text); break;
      case MS_COMPLEX64: AppendParts(input.data<std::complex<float>>()[i], text); break;
      default: AppendParts(input.data<std::complex<double>>()[i], text); break;
    }
  }

  template <typename Real>
  void AppendParts(std::complex<Real> number, std::string* text) const {
    text->push_back('(');
    Print(format_, static_cast<double>(number.real()), text);
    text->push_back(',');
    Print(format_, static_cast<double>(number.imag()), text);
    text->push_back(')');
  }

  MS_DType dtype_ = 0;
  std::string format_;
};

const ms::Registered strip = ms::RegisterRow<EachText>("StringStrip", kStrip);
const ms::Registered encode = ms::RegisterRow<EachText>("EncodeBase64", kEncode);
const ms::Registered decode = ms::RegisterRow<EachText>("DecodeBase64", kDecode);
const ms::Registered length = ms::Register<StringLength>("StringLength");
const ms::Registered to_number =
    ms::RegisterForTypes<StringToNumber, float, double, int32_t, int64_t>("StringToNumber",
                                                                          "out_type");
const ms::Registered as_string = ms::Register<AsString>(
    "AsString", ms::KernelOptions().Types("T", {MS_INT8, MS_INT16, MS_INT32, MS_INT64, MS_FLOAT32,
                                                MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128, MS_BOOL}));

}  // namespace
}  // namespace millstream::kernels
