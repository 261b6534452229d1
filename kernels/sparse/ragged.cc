// RaggedRange, RaggedGather and RaggedTensorToSparse: rows of different lengths.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/sparse/ragged.h"

namespace millstream::kernels {
namespace {

// Sets an output, a vector.
ms::Status WriteIntegers(ms::Frame& frame, uint32_t output, const Integers& values) {
  ms::View view;
  MS_TRY(frame.Output(output, ms::Shape{static_cast<int64_t>(values.size())}, &view));
  if (view.dtype() == MS_INT64) {
    std::copy(values.begin(), values.end(), view.data<int64_t>());
    return ms::Status();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > INT32_MAX) {
      return ms::InvalidArgument("the splits of the result do not fit int32: ", values[i]);
    }
    view.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  return ms::Status();
}

// ---- RaggedRange ----

// How many numbers there are from start to limit in steps of delta; -1 if too many.
template <typename T>
int64_t RangeSize(T start, T limit, T delta) {
  if (delta > 0 ? !(start < limit) : !(limit < start)) return 0;
  if constexpr (std::is_integral_v<T>) {
    const uint64_t distance = delta > 0
                                  ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step =
        delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t size = distance / step + (distance % step != 0 ? 1 : 0);
    return size <= INT64_MAX / 16 ? static_cast<int64_t>(size) : -1;
  } else {
    const T size = std::ceil(std::abs((limit - start) / delta));
    return size < static_cast<T>(INT64_MAX / 16) ? static_cast<int64_t>(size) : -1;
  }
}

template <typename T>
class RaggedRange {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    constexpr const char* kNames[] = {"starts", "limits", "deltas"};
    int64_t rows = 1;
    for (uint32_t i = 0, has_rows = 0; i < 3; ++i) {
      const ms::View input = frame.input(i);
      if (input.rank() > 1) {
        return ms::InvalidArgument(kNames[i], " must be a scalar or vector, got ",
                                   input.shape().ToString());
      }
      if (input.rank() == 0) continue;
      if (has_rows != 0 && input.size() != rows) {
        return ms::InvalidArgument(
            "starts, limits, and deltas must have the same shape: ", kNames[i], " has ",
            input.size(), " elements, another has ", rows);
      }
      rows = input.size();
      has_rows = 1;
    }
    Integers splits{0};
    for (int64_t row = 0; row < rows; ++row) {
      const T delta = At(frame, 2, row);
      if (!(delta != T{0})) return ms::InvalidArgument("deltas: Requires delta != 0");
      const int64_t size = RangeSize(At(frame, 0, row), At(frame, 1, row), delta);
      if (size < 0 || size > INT64_MAX / 16 - splits.back()) {
        return ms::InvalidArgument("limits: row ", row, " has more numbers than can be counted");
      }
      splits.push_back(splits.back() + size);
    }
    MS_TRY(WriteIntegers(frame, 0, splits));
    ms::View output;
    MS_TRY(frame.Output(1, ms::Shape{splits.back()}, &output));
    T* to = output.data<T>();
    for (int64_t row = 0; row < rows; ++row) {
      T value = At(frame, 0, row);
      const T delta = At(frame, 2, row);
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        *to++ = value;
        value = Sum(value, delta);
      }
    }
    return ms::Status();
  }

 private:
  static T At(const ms::Frame& frame, uint32_t input, int64_t row) {
    const ms::View view = frame.input(input);
    return view.data<T>()[view.rank() == 0 ? 0 : row];
  }
  // The sum behind the last element may overflow.
  static T Sum(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

// ---- RaggedGather ----

// Inputs: the splits of params, outermost first, its values, and indices of its rows.
class RaggedGather {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    uint32_t begin = 0;
    MS_TRY(info.InputRange("params_nested_splits", &begin, &count_));
    return info.Attr("OUTPUT_RAGGED_RANK", &output_rank_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View values = frame.input(count_);
    const ms::View indices = frame.input(count_ + 1);
    if (values.rank() == 0) {
      return ms::InvalidArgument("params_dense_values must have a rank of 1 or more");
    }
    if (static_cast<int64_t>(indices.rank()) + count_ - 1 != output_rank_) {
      return ms::InvalidArgument("OUTPUT_RAGGED_RANK must be the rank of indices, ", indices.rank(),
                                 ", plus PARAMS_RAGGED_RANK, ", count_, ", less 1, got ",
                                 output_rank_);
    }
    std::vector<Integers> splits(count_);
    for (uint32_t k = count_; k-- > 0;) {
      splits[k] = ReadIntegers(frame.input(k));
      const int64_t most =
          k + 1 < count_ ? static_cast<int64_t>(splits[k + 1].size()) - 1 : values.dim(0);
      MS_TRY(CheckSplits(ms::StrCat("params_nested_splits[", k, "]"), frame.input(k), splits[k],
                         most));
    }
    return Gather(frame, splits, values, indices);
  }

 private:
  ms::Status Gather(ms::Frame& frame, const std::vector<Integers>& splits, const ms::View& values,
                    const ms::View& indices) const {
    std::vector<Integers> found;
    MS_TRY(UniformSplits(indices.shape(), &found));
    const uint32_t outer = static_cast<uint32_t>(found.size());
    found.resize(static_cast<size_t>(output_rank_), Integers{0});
    const Integers rows = ReadIntegers(indices);
    const int64_t row_count = static_cast<int64_t>(splits[0].size()) - 1;
    Integers begins;
    Integers ends;
    int64_t total = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0 || rows[i] >= row_count) {
        return ms::InvalidArgument("indices[", i, "] = ", rows[i], " is not in [0, ", row_count,
                                   ")");
      }
      int64_t begin = rows[i];
      int64_t end = rows[i] + 1;
      for (uint32_t k = 0; k < count_; ++k) {
        // A scalar names one row, whose own splits are not among those of the result.
        if (k > 0 || indices.rank() > 0) {
          Integers& to = found[k + outer - (indices.rank() == 0 ? 1 : 0)];
          const int64_t shift = to.back() - splits[k][begin];
          for (int64_t j = begin; j < end; ++j) to.push_back(splits[k][j + 1] + shift);
        }
        begin = splits[k][begin];
        end = splits[k][end];
      }
      begins.push_back(begin);
      ends.push_back(end);
      total += end - begin;
    }
    for (size_t k = 0; k < found.size(); ++k) {
      MS_TRY(WriteIntegers(frame, static_cast<uint32_t>(k), found[k]));
    }
    ms::Shape shape = values.shape();
    shape[0] = total;
    ms::View output;
    MS_TRY(frame.Output(static_cast<uint32_t>(found.size()), shape, &output));
    const int64_t width = output.size() == 0 ? 0 : output.size() / total;
    int64_t to = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      const int64_t count = (ends[i] - begins[i]) * width;
      MS_TRY(CopyElements(values, begins[i] * width, output, to, count));
      to += count;
    }
    return ms::Status();
  }

  // Of all dimensions of indices but the first: rows of one length.
  static ms::Status UniformSplits(const ms::Shape& indices, std::vector<Integers>* found) {
    constexpr int64_t kMostRows = int64_t{1} << 31;  // there may be as many, all of them empty
    int64_t rows = 1;
    for (uint32_t k = 0; k + 1 < indices.rank(); ++k) {
      rows *= indices[k];
      if (rows > kMostRows) {
        return ms::InvalidArgument("indices of the shape ", indices.ToString(), " have more than ",
                                   kMostRows, " rows");
      }
      Integers splits{0};
      for (int64_t i = 0; i < rows; ++i) splits.push_back((i + 1) * indices[k + 1]);
      found->push_back(std::move(splits));
    }
    return ms::Status();
  }

  uint32_t count_ = 0;
  int64_t output_rank_ = 0;
};

// ---- RaggedTensorToSparse ----

// Inputs: splits, outermost first, and values, whose own dimensions follow the ragged ones.
class RaggedToSparse {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    uint32_t begin = 0;
    return info.InputRange("rt_nested_splits", &begin, &count_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View values = frame.input(count_);
    if (values.rank() == 0) {
      return ms::InvalidArgument("rt_dense_values must have a rank of 1 or more");
    }
    std::vector<Integers> splits(count_);
    for (uint32_t k = count_; k-- > 0;) {
      const std::string name = ms::StrCat("rt_nested_splits[", k, "]");
      splits[k] = ReadIntegers(frame.input(k));
      const int64_t rows =
          k + 1 < count_ ? static_cast<int64_t>(splits[k + 1].size()) - 1 : values.dim(0);
      MS_TRY(CheckSplits(name, frame.input(k), splits[k], INT64_MAX));
      if (splits[k].front() != 0) {
        return ms::InvalidArgument(name, ": First value of ragged splits must be 0, got ",
                                   splits[k].front());
      }
      if (splits[k].back() != rows) {
        return ms::InvalidArgument(name, ": Final value of ragged splits must match the length of ",
                                   "the corresponding ragged values, ", rows, ", got ",
                                   splits[k].back());
      }
    }
    return Write(frame, splits, values);
  }

 private:
  ms::Status Write(ms::Frame& frame, const std::vector<Integers>& splits,
                   const ms::View& values) const {
    const int64_t ragged = count_;
    const int64_t rank = ragged + values.rank();
    // Where the rows of the values are: the row at each level, from outermost to innermost.
    Integers places;
    const int64_t rows = values.dim(0);
    places.resize(static_cast<size_t>(rows * (ragged + 1)));
    Integers sizes(static_cast<size_t>(rank), 0);
    sizes[0] = static_cast<int64_t>(splits[0].size()) - 1;
    Integers row(static_cast<size_t>(rows));
    for (int64_t i = 0; i < rows; ++i) row[i] = i;
    for (int64_t k = ragged - 1; k >= 0; --k) {
      const Integers& own = splits[k];
      for (size_t i = 1; i < own.size(); ++i) {
        sizes[k + 1] = std::max(sizes[k + 1], own[i] - own[i - 1]);
      }
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t parent = std::upper_bound(own.begin(), own.end(), row[i]) - own.begin() - 1;
        places[i * (ragged + 1) + k + 1] = row[i] - own[parent];
        row[i] = parent;
      }
    }
    for (int64_t i = 0; i < rows; ++i) places[i * (ragged + 1)] = row[i];
    for (uint32_t d = 1; d < values.rank(); ++d) sizes[ragged + d] = values.dim(d);

    ms::View indices;
    ms::View elements;
    MS_TRY(frame.Output(0, ms::Shape{values.size(), rank}, &indices));
    MS_TRY(frame.Output(1, ms::Shape{values.size()}, &elements));
    MS_TRY(WriteIntegers(frame, 2, sizes));
    int64_t* to = indices.data<int64_t>();
    const int64_t width = rows == 0 ? 0 : values.size() / rows;
    for (int64_t i = 0; i < values.size(); ++i, to += rank) {
      const int64_t* const place = places.data() + i / width * (ragged + 1);
      std::copy_n(place, ragged + 1, to);
      int64_t rest = i % width;
      for (int64_t d = values.rank() - 1; d >= 1; --d) {
        const int64_t size = values.dim(static_cast<uint32_t>(d));
        to[ragged + d] = rest % size;
        rest /= size;
      }
    }
    return CopyElements(values, 0, elements, 0, values.size());
  }

  uint32_t count_ = 0;
};

// ---- Registration ----

const ms::Registered ragged_range =
    ms::RegisterForTypes<RaggedRange, float, double, int32_t, int64_t>(
        "RaggedRange", "T",
        ms::KernelOptions().HostArg("starts").HostArg("limits").HostArg("deltas"));
const ms::Registered ragged_gather =
    ms::Register<RaggedGather>("RaggedGather", ms::KernelOptions()
                                                   .Types("Tvalues", MovableTypes())
                                                   .HostArg("params_nested_splits")
                                                   .HostArg("indices"));
const ms::Registered ragged_to_sparse = ms::Register<RaggedToSparse>(
    "RaggedTensorToSparse",
    ms::KernelOptions().Types("T", MovableTypes()).HostArg("rt_nested_splits"));

}  // namespace
}  // namespace millstream::kernels
