// RaggedTensorToTensor: rows of different lengths, cut off or filled to one length.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/sparse/ragged.h"

namespace millstream::kernels {
namespace {

// How a dimension is divided into rows.
enum class Partition { kFirstDimSize, kValueRowids, kRowSplits };

// Inputs: the sizes of the result, -1 for what is needed, or -1 for all; values; what fills the
// rest; and partitions, outermost first.
class RaggedToTensor {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::vector<std::string> types;
    MS_TRY(info.Attr("row_partition_types", &types));
    uint32_t begin = 0;
    uint32_t end = 0;
    MS_TRY(info.InputRange("row_partition_tensors", &begin, &end));
    if (types.size() != end - begin) {
      return ms::InvalidArgument("row_partition_types must have one type for each of the ",
                                 end - begin, " row_partition_tensors, got ", types.size());
    }
    for (size_t k = 0; k < types.size(); ++k) {
      if (types[k] == "FIRST_DIM_SIZE") {
        partitions_.push_back(Partition::kFirstDimSize);
      } else if (types[k] == "VALUE_ROWIDS") {
        partitions_.push_back(Partition::kValueRowids);
      } else if (types[k] == "ROW_SPLITS") {
        partitions_.push_back(Partition::kRowSplits);
      } else {
        return ms::InvalidArgument("row_partition_types must be FIRST_DIM_SIZE, VALUE_ROWIDS or ",
                                   "ROW_SPLITS, got '", types[k], "'");
      }
      const bool is_size = partitions_[k] == Partition::kFirstDimSize;
      if (is_size != (k == 0 && partitions_[0] != Partition::kRowSplits)) {
        return ms::InvalidArgument(
            "row_partition_types must begin with ROW_SPLITS, or with FIRST_DIM_SIZE and then "
            "VALUE_ROWIDS, and go on without FIRST_DIM_SIZE");
      }
    }
    if (partitions_[0] == Partition::kFirstDimSize && partitions_.size() == 1) {
      return ms::InvalidArgument("row_partition_types must have VALUE_ROWIDS after FIRST_DIM_SIZE");
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View values = frame.input(1);
    const ms::View filler = frame.input(2);
    if (values.rank() == 0) return ms::InvalidArgument("values must have a rank of 1 or more");
    ms::Shape inner(values.shape().begin() + 1, values.rank() - 1);
    MS_TRY(CheckFiller(filler.shape(), inner));
    std::vector<Integers> parents;  // of each row or value: the row at the level above
    int64_t first = 0;
    MS_TRY(ReadPartitions(frame, values.dim(0), &parents, &first));
    ms::Shape shape;
    MS_TRY(FindShape(frame.input(0), parents, first, inner, &shape));
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const int64_t width = inner.num_elements();
    MS_TRY(Fill(filler, inner, output));
    const Integers places = PlacesOf(parents, first, shape);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      MS_TRY(
          CopyElements(values, static_cast<int64_t>(i) * width, output, places[i] * width, width));
    }
    return ms::Status();
  }

 private:
  static ms::Status CheckFiller(const ms::Shape& filler, const ms::Shape& inner) {
    bool fits = filler.rank() <= inner.rank();
    for (uint32_t i = 0; fits && i < filler.rank(); ++i) {
      const int64_t size = filler[i];
      fits = size == 1 || size == inner[inner.rank() - filler.rank() + i];
    }
    if (fits) return ms::Status();
    return ms::InvalidArgument(
        "default_value must have a shape that broadcasts to that of a value, ", inner.ToString(),
        ", got ", filler.ToString());
  }

  ms::Status ReadPartitions(const ms::Frame& frame, int64_t value_count,
                            std::vector<Integers>* parents, int64_t* first) const {
    int64_t rows = 0;  // at the level above
    for (size_t k = 0; k < partitions_.size(); ++k) {
      const ms::View view = frame.input(static_cast<uint32_t>(3 + k));
      const std::string name = ms::StrCat("row_partition_tensors[", k, "]");
      const Integers elements = ReadIntegers(view);
      if (partitions_[k] == Partition::kFirstDimSize) {
        if (view.rank() != 0 || elements[0] < 0) {
          return ms::InvalidArgument(
              name, " must be a scalar that is not negative, got ",
              view.rank() == 0 ? std::to_string(elements[0]) : view.shape().ToString());
        }
        rows = *first = elements[0];
        continue;
      }
      Integers own;
      if (partitions_[k] == Partition::kRowSplits) {
        MS_TRY(CheckSplits(name, view, elements, INT64_MAX));
        MS_TRY(FromSplits(name, elements, value_count, k + 1 == partitions_.size(), &own));
        const int64_t count = static_cast<int64_t>(elements.size()) - 1;
        if (k == 0) *first = rows = count;
        if (count != rows) return WrongCount(name, count, rows);
      } else {
        MS_TRY(FromRowids(name, view, elements, rows, &own));
      }
      rows = static_cast<int64_t>(own.size());
      parents->push_back(std::move(own));
    }
    if (rows != value_count) return WrongCount("values", value_count, rows);
    return ms::Status();
  }

  static ms::Status WrongCount(const std::string& name, int64_t count, int64_t wanted) {
    return ms::InvalidArgument(name, " must have ", wanted, " rows, as the partitions say, got ",
                               count);
  }

  // The last splits are those of the values: no more rows than there are of these may be made.
  static ms::Status FromSplits(const std::string& name, const Integers& splits, int64_t value_count,
                               bool is_last, Integers* parents) {
    constexpr int64_t kMostRows = int64_t{1} << 31;
    if (splits[0] != 0) {
      return ms::InvalidArgument(name, ": First value of ragged splits must be 0, got ", splits[0]);
    }
    if (splits.back() > kMostRows || (is_last && splits.back() != value_count)) {
      return ms::InvalidArgument(name, ": the last of the splits is ", splits.back(),
                                 ", and values has ", value_count, " rows");
    }
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      parents->insert(parents->end(), static_cast<size_t>(splits[row + 1] - splits[row]),
                      static_cast<int64_t>(row));
    }
    return ms::Status();
  }

  static ms::Status FromRowids(const std::string& name, const ms::View& view,
                               const Integers& rowids, int64_t rows, Integers* parents) {
    if (view.rank() != 1) {
      return ms::InvalidArgument(name, " must be a vector, got ", view.shape().ToString());
    }
    for (size_t i = 0; i < rowids.size(); ++i) {
      const int64_t before = i == 0 ? 0 : rowids[i - 1];
      if (rowids[i] >= before && rowids[i] < rows) continue;
      return ms::InvalidArgument(name, "[", i, "] = ", rowids[i], " must be in order and in [0, ",
                                 rows, ")");
    }
    *parents = rowids;
    return ms::Status();
  }

  // The length of the longest row.
  static int64_t LongestRow(const Integers& parents) {
    int64_t longest = 0;
    int64_t length = 0;
    for (size_t i = 0; i < parents.size(); ++i) {
      length = i > 0 && parents[i] == parents[i - 1] ? length + 1 : 1;
      longest = std::max(longest, length);
    }
    return longest;
  }

  static ms::Status FindShape(const ms::View& given, const std::vector<Integers>& parents,
                              int64_t first, const ms::Shape& inner, ms::Shape* shape) {
    const uint32_t rank = static_cast<uint32_t>(parents.size()) + 1 + inner.rank();
    MS_TRY(CheckRank(rank));
    shape->Append(first);
    for (const Integers& own : parents) shape->Append(LongestRow(own));
    for (int64_t size : inner) shape->Append(size);
    const Integers sizes = ReadIntegers(given);
    if (given.rank() == 0) {
      if (sizes[0] == -1) return ms::Status();
      return ms::InvalidArgument("shape must be -1 or a vector, got ", sizes[0]);
    }
    if (given.rank() != 1 || sizes.size() != rank) {
      return ms::InvalidArgument("shape must have ", rank,
                                 " elements, one for each dimension, got ", "the shape ",
                                 given.shape().ToString());
    }
    for (uint32_t i = 0; i < rank; ++i) {
      if (sizes[i] == -1) continue;
      const bool is_inner = i > parents.size();
      if (sizes[i] < -1 || (is_inner && sizes[i] != (*shape)[i])) {
        return ms::InvalidArgument("shape[", i, "] is ", sizes[i], ", and values need ",
                                   (*shape)[i]);
      }
      (*shape)[i] = sizes[i];
    }
    return ms::Status();
  }

  static ms::Status Fill(const ms::View& filler, const ms::Shape& inner, const ms::View& output) {
    const int64_t width = inner.num_elements();
    for (int64_t i = 0; i < width; ++i) {
      int64_t from = 0;
      int64_t stride = 1;
      int64_t rest = i;
      for (uint32_t d = 0; d < filler.rank(); ++d) {
        const int64_t size = inner[inner.rank() - 1 - d];
        const int64_t own = filler.dim(filler.rank() - 1 - d);
        if (own != 1) from += rest % size * stride;
        stride *= own;
        rest /= size;
      }
      MS_TRY(CopyElements(filler, from, output, i, 1));
    }
    // What is filled already, twice as much each time.
    for (int64_t done = width; done < output.size();) {
      const int64_t count = std::min(done, output.size() - done);
      MS_TRY(CopyElements(output, 0, output, done, count));
      done += count;
    }
    return ms::Status();
  }

  // Which row of the result each value is, or -1.
  static Integers PlacesOf(const std::vector<Integers>& parents, int64_t first,
                           const ms::Shape& shape) {
    Integers places(static_cast<size_t>(first));
    for (int64_t i = 0; i < first; ++i) places[i] = i < shape[0] ? i : -1;
    for (size_t k = 0; k < parents.size(); ++k) {
      const Integers& own = parents[k];
      const int64_t size = shape[static_cast<uint32_t>(k + 1)];
      Integers next(own.size());
      int64_t column = 0;
      for (size_t i = 0; i < own.size(); ++i) {
        column = i > 0 && own[i] == own[i - 1] ? column + 1 : 0;
        const int64_t row = places[own[i]];
        next[i] = row < 0 || column >= size ? -1 : row * size + column;
      }
      places = std::move(next);
    }
    return places;
  }

  std::vector<Partition> partitions_;
};

const ms::Registered ragged_to_tensor =
    ms::Register<RaggedToTensor>("RaggedTensorToTensor", ms::KernelOptions()
                                                             .Types("T", MovableTypes())
                                                             .HostArg("shape")
                                                             .HostArg("row_partition_tensors"));

}  // namespace
}  // namespace millstream::kernels
