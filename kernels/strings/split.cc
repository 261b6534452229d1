// StringSplit and StringSplitV2: the parts of strings, as a sparse tensor.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/number_text.h"

namespace millstream::kernels {
namespace {

using Parts = std::vector<std::string_view>;

// At each character of `delimiters`; every byte is a part if there are none. Text that is empty has
// no parts.
void SplitAtAny(std::string_view text, std::string_view delimiters, bool skip_empty, Parts* parts) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) parts->push_back(text.substr(i, 1));
    return;
  }
  for (;;) {
    const size_t end = text.find_first_of(delimiters);
    const std::string_view part = text.substr(0, end);
    if (!skip_empty || !part.empty()) parts->push_back(part);
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

// At each `separator`, not more than `most` times unless that is negative. What is left is the last
// part.
void SplitAtText(std::string_view text, std::string_view separator, int64_t most, Parts* parts) {
  for (int64_t count = 0; most < 0 || count < most; ++count) {
    const size_t end = text.find(separator);
    if (end == text.npos) break;
    parts->push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts->push_back(text);
}

// At runs of space, as above. Space before the parts is left out.
void SplitAtSpace(std::string_view text, int64_t most, Parts* parts) {
  for (int64_t count = 0;; ++count) {
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    if (most > 0 && count == most) {
      parts->push_back(text);
      return;
    }
    if (text.empty()) return;
    size_t end = 0;
    while (end < text.size() && !IsSpace(text[end])) ++end;
    parts->push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// Inputs: a vector of strings and a scalar, where to split. Outputs: indices, values, shape.
class StringSplit {
 public:
  struct Row {
    bool at_text;
    const char* separator;  // of the op's arguments, for messages
  };

  explicit StringSplit(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    return row_.at_text ? info.Attr("maxsplit", &most_) : info.Attr("skip_empty", &skip_empty_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const ms::View separator = frame.input(1);
    if (input.rank() != 1) {
      return ms::InvalidArgument("input must be a vector, but has shape ",
                                 input.shape().ToString());
    }
    if (separator.rank() != 0) {
      return ms::InvalidArgument(row_.separator, " must be a scalar, but has shape ",
                                 separator.shape().ToString());
    }
    std::string_view at;
    MS_TRY(separator.GetString(0, &at));
    Parts parts;
    std::vector<size_t> ends;  // of the parts of each string
    size_t widest = 0;
    for (int64_t i = 0; i < input.size(); ++i) {
      std::string_view text;
      MS_TRY(input.GetString(i, &text));
      const size_t before = parts.size();
      Split(text, at, &parts);
      ends.push_back(parts.size());
      widest = std::max(widest, parts.size() - before);
    }
    return SetOutputs(frame, parts, ends, widest);
  }

 private:
  void Split(std::string_view text, std::string_view at, Parts* parts) const {
    if (!row_.at_text) return SplitAtAny(text, at, skip_empty_, parts);
    if (most_ == 0) return parts->push_back(text);
    if (at.empty()) return SplitAtSpace(text, most_, parts);
    SplitAtText(text, at, most_, parts);
  }

  static ms::Status SetOutputs(ms::Frame& frame, const Parts& parts,
                               const std::vector<size_t>& ends, size_t widest) {
    const auto count = static_cast<int64_t>(parts.size());
    ms::View indices;
    ms::View values;
    ms::View shape;
    MS_TRY(frame.Output(0, ms::Shape{count, 2}, &indices));
    MS_TRY(frame.Output(1, ms::Shape{count}, &values));
    MS_TRY(frame.Output(2, ms::Shape{2}, &shape));
    size_t k = 0;
    for (size_t row = 0; row < ends.size(); ++row) {
      for (int64_t column = 0; k < ends[row]; ++k, ++column) {
        indices.data<int64_t>()[2 * k] = static_cast<int64_t>(row);
        indices.data<int64_t>()[2 * k + 1] = column;
        MS_TRY(values.SetString(static_cast<int64_t>(k), parts[k]));
      }
    }
    shape.data<int64_t>()[0] = static_cast<int64_t>(ends.size());
    shape.data<int64_t>()[1] = static_cast<int64_t>(widest);
    return ms::Status();
  }

  const Row& row_;
  int64_t most_ = -1;
  bool skip_empty_ = true;
};

constexpr StringSplit::Row kAtAny = {false, "delimiter"};
constexpr StringSplit::Row kAtText = {true, "sep"};

const ms::Registered split = ms::RegisterRow<StringSplit>("StringSplit", kAtAny);
const ms::Registered split_v2 = ms::RegisterRow<StringSplit>("StringSplitV2", kAtText);

}  // namespace
}  // namespace millstream::kernels
