#include "core/resources/collective_math.h"

#include <algorithm>
#include <cstring>

#include "framework/half.h"
#include "framework/tensor_sum.h"

namespace millstream {
namespace {

// Elements that one thread merges at a time: they stay in its cache.
constexpr int64_t kBlock = 16 * 1024;

// ---- What an operation does with two elements ----

struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

template <typename T, typename Op>
void MergeNumbers(Op op, const Tensor& more, const Tensor& result) {
  const T* const from = static_cast<const T*>(more.raw());
  T* const to = static_cast<T*>(result.raw());
  for (int64_t i = 0; i < result.num_elements(); ++i) to[i] = op(to[i], from[i]);
}

template <float (*widen)(uint16_t), uint16_t (*narrow)(float), typename Op>
void MergeNarrow(Op op, const Tensor& more, const Tensor& result) {
  const auto* const from = static_cast<const uint16_t*>(more.raw());
  auto* const to = static_cast<uint16_t*>(result.raw());
  for (int64_t i = 0; i < result.num_elements(); ++i) {
    to[i] = narrow(op(widen(to[i]), widen(from[i])));
  }
}

// Int32 and Int64: the integers that the operation works on.
template <typename Int32, typename Int64, typename Op>
void MergeBy(Op op, const Tensor& more, const Tensor& result) {
  switch (result.dtype()) {
    case DataType::kFloat: return MergeNumbers<float>(op, more, result);
    case DataType::kDouble: return MergeNumbers<double>(op, more, result);
    case DataType::kHalf: return MergeNarrow<HalfToFloat, FloatToHalf>(op, more, result);
    case DataType::kBFloat16:
      return MergeNarrow<BFloat16ToFloat, FloatToBFloat16>(op, more, result);
    case DataType::kInt32: return MergeNumbers<Int32>(op, more, result);
    case DataType::kInt64: return MergeNumbers<Int64>(op, more, result);
    default: return;
  }
}

}  // namespace

void SerialLoop(uint64_t total, uint64_t, const std::function<void(uint64_t)>& work) {
  for (uint64_t i = 0; i < total; ++i) work(i);
}

bool IsReducible(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kHalf:
    case DataType::kBFloat16:
    case DataType::kInt32:
    case DataType::kInt64: return true;
    default: return false;
  }
}

Tensor ElementsOf(const Tensor& tensor, int64_t begin, int64_t end) {
  const size_t offset = tensor.offset() + begin * DataTypeSize(tensor.dtype());
  return Tensor(tensor.dtype(), Shape({end - begin}), tensor.buffer(), offset);
}

Tensor PartOfRows(const Tensor& tensor, int64_t index, int64_t count) {
  Shape shape = tensor.shape();
  shape.set_dim(0, shape.dim(0) / count);
  const size_t offset = tensor.offset() + tensor.bytes() / count * index;
  return Tensor(tensor.dtype(), shape, tensor.buffer(), offset);
}

StatusOr<Tensor> CopyPartOfRows(const Tensor& tensor, int64_t index, int64_t count) {
  if (count == 1) return tensor;
  const Tensor part = PartOfRows(tensor, index, count);
  MS_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(part.dtype(), part.shape()));
  if (part.bytes() > 0) std::memcpy(copy.raw(), part.raw(), part.bytes());
  return copy;
}

void MergeElements(MergeOp op, const Tensor& more, const Tensor& result) {
  switch (op) {
    case MergeOp::kAdd: AddElements(more, result); return;
    // Without sign, products wrap around, with the same bits.
    case MergeOp::kMul: return MergeBy<uint32_t, uint64_t>(Product(), more, result);
    case MergeOp::kMax: return MergeBy<int32_t, int64_t>(Larger(), more, result);
    case MergeOp::kMin: return MergeBy<int32_t, int64_t>(Smaller(), more, result);
  }
}

StatusOr<Tensor> MergeTensors(MergeOp op, absl::Span<const Tensor> tensors, int64_t divisor,
                              ParallelLoop loop) {
  if (tensors.size() == 1 && divisor == 1) return tensors[0];
  MS_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(tensors[0].dtype(), tensors[0].shape()));
  MergeInto(op, tensors, divisor, loop, result);
  return result;
}

void MergeInto(MergeOp op, absl::Span<const Tensor> tensors, int64_t divisor, ParallelLoop loop,
               const Tensor& result) {
  const int64_t total = result.num_elements();
  const auto blocks = static_cast<uint64_t>((total + kBlock - 1) / kBlock);
  const uint64_t cost = kBlock / 4 * tensors.size();
  loop(blocks, cost, [&](uint64_t block) {
    const int64_t begin = static_cast<int64_t>(block) * kBlock;
    const int64_t end = std::min(begin + kBlock, total);
    const Tensor out = ElementsOf(result, begin, end);
    std::memcpy(out.raw(), ElementsOf(tensors[0], begin, end).raw(), out.bytes());
    for (const Tensor& more : tensors.subspan(1)) {
      MergeElements(op, ElementsOf(more, begin, end), out);
    }
    if (divisor != 1) DivideElements(out, divisor);
  });
}

StatusOr<Tensor> JoinRows(absl::Span<const Tensor> tensors) {
  if (tensors.size() == 1) return tensors[0];
  Shape shape = tensors[0].shape();
  int64_t rows = 0;
  for (const Tensor& tensor : tensors) rows += tensor.shape().dim(0);
  shape.set_dim(0, rows);
  MS_ASSIGN_OR_RETURN(Tensor joined, Tensor::Create(tensors[0].dtype(), shape));
  char* to = static_cast<char*>(joined.raw());
  for (const Tensor& tensor : tensors) {
    if (tensor.bytes() > 0) std::memcpy(to, tensor.raw(), tensor.bytes());
    to += tensor.bytes();
  }
  return joined;
}

}  // namespace millstream
