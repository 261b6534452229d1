// UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeTranscode.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/strings/code_points.h"
#include "kernels/strings/ragged.h"

namespace millstream::kernels {
namespace {

// What to do with what is no character.
class ErrorRules {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string errors;
    int64_t code = 0;
    MS_TRY(info.Attr("errors", &errors));
    MS_TRY(info.Attr("replacement_char", &code));
    is_strict_ = errors == "strict";
    ignores_ = errors == "ignore";
    if (info.HasAttr("replace_control_characters")) {
      MS_TRY(info.Attr("replace_control_characters", &replaces_control_));
    }
    // Surrogates and noncharacters are allowed.
    if (code < 0 || code > kLastCodePoint) {
      return ms::InvalidArgument("replacement_char out of unicode codepoint range: attribute ",
                                 "'replacement_char' is ", code);
    }
    replacement_ = static_cast<char32_t>(code);
    return ms::Status();
  }

  bool Refuses(bool is_valid) const { return is_strict_ && !is_valid; }
  // Of characters that are transcoded, those to replace are refused too.
  bool RefusesToReplace(char32_t code) const { return is_strict_ && IsReplacedControl(code); }
  // What stands for the character; false if nothing does.
  bool Resolve(char32_t* code, bool is_valid) const {
    if (is_valid && !IsReplacedControl(*code)) return true;
    if (ignores_) return false;
    *code = replacement_;
    return true;
  }

 private:
  bool IsReplacedControl(char32_t code) const { return replaces_control_ && code < 32; }

  bool is_strict_ = false;
  bool ignores_ = false;
  bool replaces_control_ = false;
  char32_t replacement_ = kReplacementCharacter;
};

ms::Status NotDecoded(const ms::Shape& shape, int64_t i, const char* what) {
  return ms::InvalidArgument("Invalid formatting on input string: ", ElementName("input", shape, i),
                             " has ", what);
}

using AppendFunction = void (*)(char32_t code, std::string* text);

ms::Status InitEncoding(const ms::KernelInfo& info, AppendFunction* append) {
  std::string encoding;
  MS_TRY(info.Attr("output_encoding", &encoding));
  *append = encoding == "UTF-8"       ? &AppendUtf8
            : encoding == "UTF-16-BE" ? &AppendUtf16BigEndian
                                      : &AppendUtf32BigEndian;
  return ms::Status();
}

void SetIndex(const ms::View& view, int64_t i, int64_t value) {
  if (view.dtype() == MS_INT32) {
    view.data<int32_t>()[i] = static_cast<int32_t>(value);
  } else {
    view.data<int64_t>()[i] = value;
  }
}

// With a third output, where characters begin.
class UnicodeDecode {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string encoding;
    MS_TRY(info.Attr("input_encoding", &encoding));
    MS_TRY(MakeTextDecoder(encoding, &decoder_));
    return rules_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View splits;
    MS_TRY(frame.Output(0, ms::Shape{input.size() + 1}, &splits));
    std::vector<int32_t> codes;
    std::vector<int64_t> starts;
    SetIndex(splits, 0, 0);
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      bool is_refused = false;
      size_t at = 0;
      decoder_->Decode(text, [&](const DecodedCharacter& character) {
        char32_t code = character.code;
        is_refused = is_refused || rules_.Refuses(character.is_valid);
        if (rules_.Resolve(&code, character.is_valid)) {
          codes.push_back(static_cast<int32_t>(code));
          starts.push_back(static_cast<int64_t>(at));
        }
        at += character.bytes;
      });
      if (is_refused) return NotDecoded(input.shape(), i, "bytes that are no character");
      SetIndex(splits, i + 1, static_cast<int64_t>(codes.size()));
    }
    MS_TRY(SetVector(frame, 1, codes));
    return frame.num_outputs() > 2 ? SetVector(frame, 2, starts) : ms::Status();
  }

 private:
  template <typename T>
  static ms::Status SetVector(ms::Frame& frame, uint32_t i, const std::vector<T>& values) {
    ms::View output;
    MS_TRY(frame.Output(i, ms::Shape{static_cast<int64_t>(values.size())}, &output));
    std::copy(values.begin(), values.end(), output.data<T>());
    return ms::Status();
  }

  std::unique_ptr<TextDecoder> decoder_;
  ErrorRules rules_;
};

class UnicodeTranscode {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string encoding;
    MS_TRY(info.Attr("input_encoding", &encoding));
    MS_TRY(MakeTextDecoder(encoding, &decoder_));
    MS_TRY(InitEncoding(info, &append_));
    return rules_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    ms::View output;
    MS_TRY(frame.Output(0, input.shape(), &output));
    std::string result;
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      result.clear();
      bool is_refused = false;
      decoder_->Decode(text, [&](const DecodedCharacter& character) {
        char32_t code = character.code;
        is_refused = is_refused || rules_.Refuses(character.is_valid) ||
                     rules_.RefusesToReplace(character.code);
        if (rules_.Resolve(&code, character.is_valid)) append_(code, &result);
      });
      if (is_refused) {
        return NotDecoded(input.shape(), i,
                          "bytes that are no character, or control characters to replace");
      }
      MS_TRY(output.SetString(i, result));
    }
    return ms::Status();
  }

 private:
  std::unique_ptr<TextDecoder> decoder_;
  ErrorRules rules_;
  AppendFunction append_ = nullptr;
};

// Inputs: code points, and where the rows of them end.
class UnicodeEncode {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(InitEncoding(info, &append_));
    return rules_.Init(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View values = frame.input(0);
    const ms::View splits = frame.input(1);
    MS_TRY(CheckRagged("input_values", values, "input_splits", splits));
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{splits.dim(0) - 1}, &output));
    std::string text;
    for (int64_t row = 0; row + 1 < splits.dim(0); ++row) {
      text.clear();
      for (int64_t k = IndexAt(splits, row); k < IndexAt(splits, row + 1); ++k) {
        const int32_t value = values.data<int32_t>()[k];
        const bool is_valid = IsCodePoint(value);
        auto code = static_cast<char32_t>(value);
        if (rules_.Refuses(is_valid)) {
          return ms::InvalidArgument("Code point is out of range for Unicode, or a surrogate: ",
                                     "input_values[", k, "] = ", value);
        }
        if (rules_.Resolve(&code, is_valid)) append_(code, &text);
      }
      MS_TRY(output.SetString(row, text));
    }
    return ms::Status();
  }

 private:
  ErrorRules rules_;
  AppendFunction append_ = nullptr;
};

const ms::Registered decode = ms::Register<UnicodeDecode>("UnicodeDecode");
const ms::Registered decode_with_offsets = ms::Register<UnicodeDecode>("UnicodeDecodeWithOffsets");
const ms::Registered encode =
    ms::Register<UnicodeEncode>("UnicodeEncode", ms::KernelOptions().HostArg("input_splits"));
const ms::Registered transcode = ms::Register<UnicodeTranscode>("UnicodeTranscode");

}  // namespace
}  // namespace millstream::kernels
