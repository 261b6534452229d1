// StringNGrams.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/strings/ragged.h"

namespace millstream::kernels {
namespace {

class StringNgrams {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("separator", &separator_));
    MS_TRY(info.Attr("left_pad", &left_pad_));
    MS_TRY(info.Attr("right_pad", &right_pad_));
    MS_TRY(info.Attr("ngram_widths", &widths_));
    MS_TRY(info.Attr("pad_width", &pad_width_));
    MS_TRY(info.Attr("preserve_short_sequences", &preserves_short_));
    for (const int64_t width : widths_) {
      if (width < 1 || width > kMostWidth) {
        return ms::InvalidArgument("ngram_widths must be in [1, ", kMostWidth, "], got ", width);
      }
    }
    if (pad_width_ <= kMostWidth) return ms::Status();
    return ms::InvalidArgument("pad_width must be at most ", kMostWidth, ", got ", pad_width_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View data = frame.input(0);
    const ms::View splits = frame.input(1);
    MS_TRY(CheckRows(data, splits));
    if (data.size() == 0 || splits.size() == 0) return WriteNothing(frame, data, splits);
    const int64_t rows = splits.dim(0) - 1;
    std::vector<int64_t> ends = {0};
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t length = IndexAt(splits, row + 1) - IndexAt(splits, row);
      ends.push_back(ends.back() + CountOf(length));
    }
    ms::View ngrams;
    ms::View ngrams_splits;
    MS_TRY(frame.Output(0, ms::Shape{ends.back()}, &ngrams));
    MS_TRY(frame.Output(1, splits.shape(), &ngrams_splits));
    for (int64_t row = 0; row <= rows; ++row) {
      const int64_t end = ends[static_cast<size_t>(row)];
      SetSplit(ngrams_splits, row, end);
      if (row == rows) break;
      const Row tokens = {&data, IndexAt(splits, row), IndexAt(splits, row + 1)};
      MS_TRY(WriteRow(frame, tokens, ngrams, end, ends[static_cast<size_t>(row + 1)]));
    }
    return ms::Status();
  }

 private:
  // A wider one is a mistake, and would take much memory for paddings.
  static constexpr int64_t kMostWidth = 1 << 16;

  struct Row {
    const ms::View* data;
    int64_t begin;
    int64_t end;
    int64_t length() const { return end - begin; }
  };

  // There may be no splits at all, whatever the data.
  static ms::Status CheckRows(const ms::View& data, const ms::View& splits) {
    if (data.rank() == 1 && splits.rank() == 1 && splits.dim(0) == 0) return ms::Status();
    MS_TRY(CheckRagged("data", data, "data_splits", splits));
    const int64_t last = IndexAt(splits, splits.dim(0) - 1);
    if (last == data.dim(0)) return ms::Status();
    return ms::InvalidArgument("the last element of data_splits is ", last, ", but data has ",
                               data.dim(0), " elements");
  }

  static void SetSplit(const ms::View& splits, int64_t row, int64_t end) {
    if (splits.dtype() == MS_INT32) {
      splits.data<int32_t>()[row] = static_cast<int32_t>(end);
    } else {
      splits.data<int64_t>()[row] = end;
    }
  }

  // As in the reference: without data paddings are not joined either, and without splits each
  // string of the data is an empty one.
  static ms::Status WriteNothing(ms::Frame& frame, const ms::View& data, const ms::View& splits) {
    ms::View ngrams;
    ms::View ngrams_splits;
    MS_TRY(frame.Output(0, data.shape(), &ngrams));
    MS_TRY(frame.Output(1, splits.shape(), &ngrams_splits));
    for (int64_t i = 0; i < ngrams.size(); ++i) MS_TRY(ngrams.SetString(i, ""));
    for (int64_t row = 0; row < splits.dim(0); ++row) SetSplit(ngrams_splits, row, 0);
    return ms::Status();
  }

  int64_t PaddingOf(int64_t width) const {
    return pad_width_ < 0 ? width - 1 : std::min(pad_width_, width - 1);
  }

  // How many neighbours of `width` a row has with its paddings.
  int64_t CountOf(int64_t length, int64_t width) const {
    return std::max<int64_t>(0, length + 2 * PaddingOf(width) - width + 1);
  }
  int64_t CountOf(int64_t length) const {
    int64_t count = 0;
    for (const int64_t width : widths_) count += CountOf(length, width);
    return count == 0 && IsPreserved(length) ? 1 : count;
  }
  bool IsPreserved(int64_t length) const { return preserves_short_ && length > 0; }

  ms::Status WriteRow(const ms::Frame& frame, const Row& row, const ms::View& ngrams, int64_t begin,
                      int64_t end) const {
    MS_TRY(frame.CheckCancelled());
    int64_t at = begin;
    for (const int64_t width : widths_) {
      const int64_t count = CountOf(row.length(), width);
      for (int64_t i = 0; i < count; ++i) {
        MS_TRY(WriteOne(row, i - PaddingOf(width), width, ngrams, at++));
      }
    }
    if (at == end) return ms::Status();
    // The whole row, which is shorter than all widths.
    const int64_t padding = std::max<int64_t>(pad_width_, 0);
    return WriteOne(row, -padding, row.length() + 2 * padding, ngrams, at);
  }

  // Joins `width` strings from `first` on, counted from the row's first one.
  ms::Status WriteOne(const Row& row, int64_t first, int64_t width, const ms::View& ngrams,
                      int64_t at) const {
    std::string text;
    for (int64_t i = first; i < first + width; ++i) {
      if (i > first) text += separator_;
      if (i < 0 || i >= row.length()) {
        text += i < 0 ? left_pad_ : right_pad_;
        continue;
      }
      std::string_view token;
      MS_TRY(row.data->GetString(row.begin + i, &token));
      text += token;
    }
    return ngrams.SetString(at, text);
  }

  std::string separator_;
  std::string left_pad_;
  std::string right_pad_;
  std::vector<int64_t> widths_;
  int64_t pad_width_ = 0;
  bool preserves_short_ = false;
};

const ms::Registered string_ngrams =
    ms::Register<StringNgrams>("StringNGrams", ms::KernelOptions().HostArg("data_splits"));

}  // namespace
}  // namespace millstream::kernels
