// SparseCross: features of rows in all combinations.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/strings/hashes.h"

namespace millstream::kernels {
namespace {

// Geoff Pike's way to join two fingerprints (FarmHash).
uint64_t ShiftMix(uint64_t x) { return x ^ (x >> 47); }

uint64_t JoinFingerprints(uint64_t first, uint64_t second) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  uint64_t result = first ^ kMultiplier;
  result ^= ShiftMix(second * kMultiplier) * kMultiplier;
  result *= kMultiplier;
  return ShiftMix(ShiftMix(result) * kMultiplier);
}

// One input.
struct Column {
  ms::View values;
  int64_t width = 0;                 // of a dense matrix
  const int64_t* indices = nullptr;  // of a sparse one, sorted by rows
  // The features of a row: elements [begin, end) of the values.
  struct Features {
    int64_t begin;
    int64_t end;
    int64_t count() const { return end - begin; }
  };

  Features Of(int64_t row) const {
    if (indices == nullptr) return {row * width, (row + 1) * width};
    return {FirstFrom(row), FirstFrom(row + 1)};
  }

 private:
  // The first element of a row that is not before `row`.
  int64_t FirstFrom(int64_t row) const {
    int64_t low = 0;
    int64_t high = values.dim(0);
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (indices[2 * middle] < row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

class SparseCross {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("N", &sparse_));
    MS_TRY(info.Attr("hashed_output", &is_hashed_));
    MS_TRY(info.Attr("num_buckets", &buckets_));
    return info.Attr("hash_key", &key_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    std::vector<Column> columns;
    int64_t rows = -1;
    MS_TRY(ReadColumns(frame, &columns, &rows));
    const std::vector<int64_t> visited = RowsWithFeatures(columns, rows);
    int64_t total = 0;
    int64_t most = 0;
    for (const int64_t row : visited) {
      int64_t crosses = 1;
      for (const Column& column : columns) {
        if (!__builtin_mul_overflow(crosses, column.Of(row).count(), &crosses)) continue;
        return ms::InvalidArgument("values: row ", row, " has too many combinations");
      }
      most = std::max(most, crosses);
      if (__builtin_add_overflow(total, crosses, &total)) {
        return ms::InvalidArgument("values have too many combinations");
      }
    }
    ms::View indices;
    ms::View values;
    ms::View shape;
    MS_TRY(frame.Output(0, ms::Shape{total, 2}, &indices));
    MS_TRY(frame.Output(1, ms::Shape{total}, &values));
    MS_TRY(frame.Output(2, ms::Shape{2}, &shape));
    shape.data<int64_t>()[0] = rows;
    shape.data<int64_t>()[1] = most;
    int64_t at = 0;
    for (const int64_t row : visited) {
      MS_TRY(frame.CheckCancelled());
      MS_TRY(CrossRow(columns, row, indices, values, &at));
    }
    return ms::Status();
  }

 private:
  ms::Status ReadColumns(const ms::Frame& frame, std::vector<Column>* columns,
                         int64_t* rows) const {
    const auto sparse = static_cast<uint32_t>(sparse_);
    for (uint32_t i = 0; i < sparse; ++i) {
      columns->emplace_back();
      MS_TRY(ReadSparse(frame.input(i), frame.input(sparse + i), frame.input(2 * sparse + i), rows,
                        &columns->back()));
    }
    for (uint32_t i = 3 * sparse; i < frame.num_inputs(); ++i) {
      const ms::View dense = frame.input(i);
      if (dense.rank() != 2) {
        return ms::InvalidArgument("dense_inputs must be matrices, but one is ",
                                   dense.shape().ToString());
      }
      MS_TRY(CheckRows(dense.dim(0), rows));
      columns->emplace_back();
      columns->back().values = dense;
      columns->back().width = dense.dim(1);
    }
    return ms::Status();
  }

  // The rows where the first column has features: an empty row takes no time.
  static std::vector<int64_t> RowsWithFeatures(const std::vector<Column>& columns, int64_t rows) {
    std::vector<int64_t> visited;
    const Column& first = columns.front();
    if (first.indices != nullptr) {
      for (int64_t i = 0; i < first.values.dim(0); ++i) {
        const int64_t row = first.indices[2 * i];
        if (visited.empty() || visited.back() != row) visited.push_back(row);
      }
      return visited;
    }
    for (int64_t row = 0; row < rows && first.width > 0; ++row) visited.push_back(row);
    return visited;
  }

  static ms::Status CheckRows(int64_t count, int64_t* rows) {
    if (*rows < 0) *rows = count;
    if (count == *rows) return ms::Status();
    return ms::InvalidArgument("shapes and dense_inputs must have one number of rows, but have ",
                               *rows, " and ", count);
  }

  static ms::Status ReadSparse(const ms::View& indices, const ms::View& values,
                               const ms::View& shape, int64_t* rows, Column* column) {
    if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
        values.dim(0) != indices.dim(0) || shape.rank() != 1 || shape.dim(0) != 2) {
      return ms::InvalidArgument("indices ", indices.shape().ToString(), ", values ",
                                 values.shape().ToString(), " and shapes ",
                                 shape.shape().ToString(), " must be those of a sparse matrix");
    }
    const int64_t count = shape.data<int64_t>()[0];
    const int64_t length = shape.data<int64_t>()[1];
    int64_t elements = 0;
    if (count < 0 || length < 0 || __builtin_mul_overflow(count, length, &elements)) {
      return ms::InvalidArgument("shapes must have sizes of tensors, but one is [", count, ",",
                                 length, "]");
    }
    MS_TRY(CheckRows(count, rows));
    column->values = values;
    column->indices = indices.data<int64_t>();
    int64_t last = 0;
    for (int64_t i = 0; i < values.dim(0); ++i) {
      const int64_t row = column->indices[2 * i];
      if (row < last || row >= count) {
        return ms::InvalidArgument("indices[", i, ",0] = ", row, " is not in [", last, ", ", count,
                                   "): indices are sorted by rows");
      }
      last = row;
    }
    return ms::Status();
  }

  // The last column's features change fastest.
  ms::Status CrossRow(const std::vector<Column>& columns, int64_t row, const ms::View& indices,
                      const ms::View& values, int64_t* at) const {
    std::vector<int64_t> chosen;
    for (const Column& column : columns) {
      if (column.Of(row).count() == 0) return ms::Status();
      chosen.push_back(column.Of(row).begin);
    }
    for (int64_t k = 0;; ++k) {
      MS_TRY(is_hashed_ ? Hash(columns, chosen, values.data<int64_t>() + *at)
                        : Join(columns, chosen, values, *at));
      indices.data<int64_t>()[2 * *at] = row;
      indices.data<int64_t>()[2 * *at + 1] = k;
      ++*at;
      size_t i = columns.size();
      while (i > 0 && ++chosen[i - 1] == columns[i - 1].Of(row).end) {
        --i;
        chosen[i] = columns[i].Of(row).begin;
      }
      if (i == 0) return ms::Status();
    }
  }

  ms::Status Hash(const std::vector<Column>& columns, const std::vector<int64_t>& chosen,
                  int64_t* hash) const {
    auto joined = static_cast<uint64_t>(key_);
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t place = chosen[i];
      uint64_t feature = 0;
      if (columns[i].values.dtype() == MS_INT64) {
        feature = static_cast<uint64_t>(columns[i].values.data<int64_t>()[place]);
      } else {
        std::string_view text;
        MS_TRY(columns[i].values.GetString(place, &text));
        feature = FarmFingerprint64(text);
      }
      joined = JoinFingerprints(joined, feature);
    }
    const auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    *hash = static_cast<int64_t>(joined % (buckets_ > 0 ? static_cast<uint64_t>(buckets_) : most));
    return ms::Status();
  }

  static ms::Status Join(const std::vector<Column>& columns, const std::vector<int64_t>& chosen,
                         const ms::View& values, int64_t at) {
    std::string joined;
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t place = chosen[i];
      if (i > 0) joined += "_X_";
      if (columns[i].values.dtype() == MS_INT64) {
        joined += std::to_string(columns[i].values.data<int64_t>()[place]);
        continue;
      }
      std::string_view text;
      MS_TRY(columns[i].values.GetString(place, &text));
      joined += text;
    }
    return values.SetString(at, joined);
  }

  int64_t sparse_ = 0;
  bool is_hashed_ = false;
  int64_t buckets_ = 0;
  int64_t key_ = 0;
};

const ms::Registered sparse_cross = ms::Register<SparseCross>(
    "SparseCross", ms::KernelOptions().HostArg("indices").HostArg("shapes"));

}  // namespace
}  // namespace millstream::kernels
