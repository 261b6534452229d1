// FractionalMaxPool, FractionalAvgPool, and the gradient of each.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"
#include "kernels/common/type_table.h"
#include "kernels/nn/fractional_cells.h"
#include "kernels/nn/pooling_sequence.h"

namespace millstream::kernels {
namespace {

enum class Pooling { kMax, kMean };

// Elements of one row of cells, at about a nanosecond each.
uint64_t RowCost(const FractionalCells& cells) {
  return static_cast<uint64_t>(cells.height * cells.width * cells.channels / cells.rows) + 1;
}

class FractionalPool {
 public:
  using Row = Pooling;
  explicit FractionalPool(const Row& pooling) : pooling_(pooling) {}

  ms::Status Init(const ms::KernelInfo& info) {
    loops_ = FractionalLoopsOf(info.input_dtype(0));
    if (loops_ == nullptr) return NoLoopFor(info.input_dtype(0));
    MS_TRY(info.Attr("pooling_ratio", &ratio_));
    MS_TRY(info.Attr("pseudo_random", &pseudo_random_));
    MS_TRY(info.Attr("overlapping", &overlapping_));
    MS_TRY(CheckRatio());
    return InitSeeds(info);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::Shape input = frame.input(0).shape();
    ms::Shape pooled;
    MS_TRY(Pooled(input, &pooled));
    ms::View output;
    ms::View rows;
    ms::View columns;
    MS_TRY(frame.Output(0, pooled, &output));
    MS_TRY(frame.Output(1, {pooled[1] + 1}, &rows));
    MS_TRY(frame.Output(2, {pooled[2] + 1}, &columns));
    MS_TRY(DrawSequences(frame, input, rows, columns));
    if (output.size() == 0) return ms::Status();
    const FractionalCells cells = {input[0],
                                   input[1],
                                   input[2],
                                   input[3],
                                   pooled[1],
                                   pooled[2],
                                   rows.data<int64_t>(),
                                   columns.data<int64_t>(),
                                   overlapping_};
    const void* const x = frame.input(0).raw();
    const auto pool = pooling_ == Pooling::kMax ? loops_->pool_max : loops_->pool_mean;
    return StoppableFor(
        frame, cells.batch * cells.rows, RowCost(cells),
        [&](uint64_t begin, uint64_t end) { pool(cells, x, output.raw(), begin, end); });
  }

 private:
  ms::Status CheckRatio() const {
    if (ratio_.size() != 4) {
      return ms::InvalidArgument("pooling_ratio must have 4 entries, not ", ratio_.size());
    }
    for (float ratio : ratio_) {
      if (ratio >= 1) continue;
      return ms::InvalidArgument("pooling_ratio has the entry ", ratio, ", which is below 1");
    }
    if (ratio_[0] == 1 && ratio_[3] == 1) return ms::Status();
    return ms::Unimplemented("pooling_ratio must be 1 for batch and channels, not ", ratio_[0],
                             " and ", ratio_[3]);
  }

  // A deterministic node without seeds chooses its own, and keeps them.
  ms::Status InitSeeds(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("deterministic", &deterministic_));
    MS_TRY(info.Attr("seed", &seed_));
    MS_TRY(info.Attr("seed2", &seed2_));
    const bool has_seeds = seed_ != 0 || seed2_ != 0;
    if (!deterministic_ && has_seeds) {
      return ms::InvalidArgument("seed and seed2 must be 0 unless deterministic is true, but are ",
                                 seed_, " and ", seed2_);
    }
    if (deterministic_ && !has_seeds) {
      std::random_device entropy;
      seed_ = (static_cast<int64_t>(entropy()) << 32) | entropy();
      seed2_ = (static_cast<int64_t>(entropy()) << 32) | entropy();
    }
    return ms::Status();
  }

  ms::Status Pooled(const ms::Shape& input, ms::Shape* pooled) const {
    if (input.rank() != 4) {
      return ms::InvalidArgument("value must have 4 dimensions, but is ", input.ToString());
    }
    *pooled = input;
    for (uint32_t i = 1; i < 3; ++i) {
      (*pooled)[i] = static_cast<int64_t>(std::floor(static_cast<float>(input[i]) / ratio_[i]));
      if ((*pooled)[i] > 0) continue;
      return ms::InvalidArgument("value ", input.ToString(), " has ", input[i],
                                 " elements in dimension ", i, ", fewer than pooling_ratio there, ",
                                 ratio_[i]);
    }
    return ms::Status();
  }

  ms::Status DrawSequences(ms::Frame& frame, const ms::Shape& input, const ms::View& rows,
                           const ms::View& columns) const {
    const int64_t num_rows = rows.size() - 1;
    const int64_t num_columns = columns.size() - 1;
    const uint64_t row_blocks = SequenceBlocks(num_rows, pseudo_random_);
    PhiloxPosition position;
    if (deterministic_) {
      position.key = static_cast<uint64_t>(seed_);
      position.counter = {0, static_cast<uint64_t>(seed2_)};
    } else {
      MS_TRY(frame.ReserveRandom(row_blocks + SequenceBlocks(num_columns, pseudo_random_),
                                 &position.key, position.counter.data()));
    }
    Write(PoolingSequence(input[1], num_rows, pseudo_random_, position), rows);
    Write(PoolingSequence(input[2], num_columns, pseudo_random_, position.Advanced(row_blocks)),
          columns);
    return ms::Status();
  }

  static void Write(const std::vector<int64_t>& sequence, const ms::View& output) {
    std::memcpy(output.raw(), sequence.data(), output.bytes());
  }

  const Pooling pooling_;
  const FractionalLoops* loops_ = nullptr;
  std::vector<float> ratio_;
  bool pseudo_random_ = false;
  bool overlapping_ = false;
  bool deterministic_ = false;
  int64_t seed_ = 0;
  int64_t seed2_ = 0;
};

// `begins` must be cells + 1 positions in order, within [0, length].
ms::Status CheckSequence(const ms::View& begins, const char* name, int64_t cells, int64_t length) {
  if (begins.rank() != 1 || begins.size() != cells + 1) {
    return ms::InvalidArgument(name, " must be a vector of ", cells + 1,
                               " positions for the shape of out_backprop, but its shape is ",
                               begins.shape().ToString());
  }
  int64_t previous = 0;
  for (int64_t i = 0; i <= cells; ++i) {
    const int64_t position = begins.data<int64_t>()[i];
    if (position < previous || position > length) {
      return ms::InvalidArgument(name, " must rise from 0 to ", length, " at most, but has ",
                                 position, " at ", i, " behind ", previous);
    }
    previous = position;
  }
  return ms::Status();
}

// Inputs: of the largest: orig_input, orig_output, out_backprop and the sequences; of means:
// orig_input_tensor_shape, out_backprop and the sequences.
class FractionalPoolGrad {
 public:
  using Row = Pooling;
  explicit FractionalPoolGrad(const Row& pooling) : pooling_(pooling) {}

  ms::Status Init(const ms::KernelInfo& info) {
    loops_ = FractionalLoopsOf(info.output_dtype(0));
    if (loops_ == nullptr) return NoLoopFor(info.output_dtype(0));
    return info.Attr("overlapping", &overlapping_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const bool is_max = pooling_ == Pooling::kMax;
    ms::Shape input = frame.input(0).shape();
    if (!is_max) MS_TRY(ReadShape(frame.input(0), &input));
    if (input.rank() != 4) {
      return ms::InvalidArgument("orig_input must have 4 dimensions, but is ", input.ToString());
    }
    const uint32_t at = is_max ? 2 : 1;
    const ms::View dy = frame.input(at);
    const ms::View rows = frame.input(at + 1);
    const ms::View columns = frame.input(at + 2);
    if (dy.rank() != 4 || dy.dim(0) != input[0] || dy.dim(3) != input[3]) {
      return ms::InvalidArgument("out_backprop must have 4 dimensions, with batch and channels of ",
                                 input.ToString(), ", but is ", dy.shape().ToString());
    }
    if (is_max && frame.input(1).shape() != dy.shape()) {
      return ms::InvalidArgument("orig_output must have the shape of out_backprop, ",
                                 dy.shape().ToString(), ", but is ",
                                 frame.input(1).shape().ToString());
    }
    MS_TRY(CheckSequence(rows, "row_pooling_sequence", dy.dim(1), input[1]));
    MS_TRY(CheckSequence(columns, "col_pooling_sequence", dy.dim(2), input[2]));
    ms::View result;
    MS_TRY(frame.Output(0, input, &result));
    std::memset(result.raw(), 0, result.bytes());
    if (result.size() == 0 || dy.size() == 0) return ms::Status();
    const FractionalCells cells = {input[0],
                                   input[1],
                                   input[2],
                                   input[3],
                                   dy.dim(1),
                                   dy.dim(2),
                                   rows.data<int64_t>(),
                                   columns.data<int64_t>(),
                                   overlapping_};
    return StoppableFor(
        frame, cells.batch, 2 * RowCost(cells) * cells.rows, [&](uint64_t begin, uint64_t end) {
          if (is_max) {
            loops_->max_gradient(cells, frame.input(0).raw(), dy.raw(), result.raw(), begin, end);
          } else {
            loops_->mean_gradient(cells, dy.raw(), result.raw(), begin, end);
          }
        });
  }

 private:
  static ms::Status ReadShape(const ms::View& sizes, ms::Shape* shape) {
    if (sizes.rank() != 1 || sizes.size() != 4) {
      return ms::InvalidArgument(
          "orig_input_tensor_shape must be a vector of 4 sizes, but its "
          "shape is ",
          sizes.shape().ToString());
    }
    *shape = ms::Shape(sizes.data<int64_t>(), 4);
    for (int64_t size : *shape) {
      if (size >= 0) continue;
      return ms::InvalidArgument("orig_input_tensor_shape has a negative size: ",
                                 shape->ToString());
    }
    return ms::Status();
  }

  const Pooling pooling_;
  const FractionalLoops* loops_ = nullptr;
  bool overlapping_ = false;
};

constexpr Pooling kMax = Pooling::kMax;
constexpr Pooling kMean = Pooling::kMean;

ms::KernelOptions Options() {
  return ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64, MS_INT32, MS_INT64});
}
ms::KernelOptions GradOptions() {
  return Options().HostArg("row_pooling_sequence").HostArg("col_pooling_sequence");
}

const ms::Registered max_pool =
    ms::RegisterRow<FractionalPool>("FractionalMaxPool", kMax, Options());
const ms::Registered avg_pool =
    ms::RegisterRow<FractionalPool>("FractionalAvgPool", kMean, Options());
const ms::Registered max_pool_grad =
    ms::RegisterRow<FractionalPoolGrad>("FractionalMaxPoolGrad", kMax, GradOptions());
const ms::Registered avg_pool_grad = ms::RegisterRow<FractionalPoolGrad>(
    "FractionalAvgPoolGrad", kMean, GradOptions().HostArg("orig_input_tensor_shape"));

}  // namespace
}  // namespace millstream::kernels
