// RandomShuffle: the rows of a tensor in random order.
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/device/device_memory.h"
#include "core/device/random_stream.h"
#include "core/structural/host_kernel.h"
#include "core/structural/tensor_rows.h"

namespace millstream {
namespace {

// Row i of the result is row order[i] of the tensor.
Status CopyRows(const Tensor& from, const std::vector<int64_t>& order, const Tensor& to) {
  const size_t row_bytes = from.bytes() / order.size();
  if (IsPlainData(from.dtype())) {
    const auto* const source = static_cast<const char*>(from.raw());
    auto* target = static_cast<char*>(to.raw());
    for (const int64_t row : order) {
      std::memcpy(target, source + static_cast<size_t>(row) * row_bytes, row_bytes);
      target += row_bytes;
    }
    return absl::OkStatus();
  }
  const Shape shape = RowShape(from);
  for (size_t i = 0; i < order.size(); ++i) {
    MS_RETURN_IF_ERROR(
        CopyElements(RowsOf(from, order[i], shape), RowsOf(to, static_cast<int64_t>(i), shape)));
  }
  return absl::OkStatus();
}

class RandomShuffleKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    AttrMap seeds;
    for (const char* name : {"seed", "seed2"}) {
      MS_ASSIGN_OR_RETURN(const int64_t seed, info.Attr<int64_t>(name));
      SetAttr(&seeds, name, seed);
    }
    stream_.emplace(seeds);
    return absl::OkStatus();
  }

  Status Compute(StructuralFrame* frame) override {
    const Shape shape = frame->input_shape(0);
    const int64_t rows = shape.rank() == 0 ? 1 : shape.dim(0);
    if (rows <= 1 || shape.num_elements() <= 1) return frame->PassOn(0, 0, shape);
    if (rows > std::numeric_limits<uint32_t>::max()) {
      return errors::InvalidArgument("argument 'value' has ", rows,
                                     " rows; more than 4294967295 cannot be shuffled");
    }
    const Tensor value = frame->BorrowInput(0);
    MS_ASSIGN_OR_RETURN(const Tensor output, frame->AllocateOutput(0, shape));
    return CopyRows(value, RandomOrder(rows), output);
  }

 private:
  // The shuffle of Fisher and Yates, from the first row to the last but one. The order of the
  // numbers and the way of drawing them are what graph programs know.
  std::vector<int64_t> RandomOrder(int64_t rows) {
    const auto num_draws = static_cast<uint64_t>(rows - 1);
    RandomNumbers numbers(&*stream_,
                          (num_draws + RandomNumbers::kPerBlock - 1) / RandomNumbers::kPerBlock);
    std::vector<int64_t> order(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    for (int64_t i = 0; i + 1 < rows; ++i) {
      std::swap(order[i], order[i + numbers.Below(static_cast<uint32_t>(rows - i))]);
    }
    return order;
  }

  std::optional<RandomStream> stream_;  // made by Init
};

MILLSTREAM_HOST_KERNEL("RandomShuffle", RandomShuffleKernel);

}  // namespace
}  // namespace millstream
