#include "core/import/import_budget.h"

#include <limits>

#include "framework/proto_conversion.h"

namespace millstream {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
// What every import may take, and what more for each byte of it: the smallest encoding of an
// element, an empty string, is a sixteenth of the element.
constexpr int64_t kFreeBytes = int64_t{16} << 20;
constexpr int64_t kBytesPerEncodedByte = 16;
// Usual nodes have so many outputs; of those that have more each counts with what is kept of it.
constexpr int64_t kFreeOutputs = 4;
constexpr int64_t kBytesOfOutput = 512;

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kUnlimited : sum;
}

// What is encoded plainly takes about as much as its encoding, and is no expansion.
int64_t LimitFor(size_t encoded_bytes, int64_t max_expansion) {
  if (max_expansion < 0) return kUnlimited;
  if (max_expansion > 0) return Sum(static_cast<int64_t>(encoded_bytes), max_expansion);
  return kFreeBytes + kBytesPerEncodedByte * static_cast<int64_t>(encoded_bytes);
}

// What a tensor takes once it is read; 0 for one that is refused then.
int64_t BytesOf(const proto::TensorProto& tensor) {
  const StatusOr<DataType> dtype = DataTypeFromProto(tensor.dtype());
  if (!dtype.ok()) return 0;
  int64_t bytes = static_cast<int64_t>(DataTypeSize(*dtype));
  for (const auto& dim : tensor.tensor_shape().dim()) {
    if (dim.size() <= 0) return 0;
    if (__builtin_mul_overflow(bytes, dim.size(), &bytes)) bytes = kUnlimited;
  }
  return bytes;
}

int64_t BytesOf(const AttrProtoMap& attrs);

// No deeper than messages nest.
int64_t BytesOf(const proto::AttrValue& value) {
  if (value.has_tensor()) return BytesOf(value.tensor());
  if (value.has_func()) return BytesOf(value.func().attr());
  int64_t bytes = 0;
  for (const auto& tensor : value.list().tensor()) bytes = Sum(bytes, BytesOf(tensor));
  for (const auto& function : value.list().func()) bytes = Sum(bytes, BytesOf(function.attr()));
  return bytes;
}

int64_t BytesOf(const AttrProtoMap& attrs) {
  int64_t bytes = 0;
  for (const auto& [name, value] : attrs) bytes = Sum(bytes, BytesOf(value));
  return bytes;
}

// The tensors of an argument, where an attribute says how many they are.
int64_t CountOf(const ArgDef& argument, const AttrMap& attrs) {
  if (!argument.number_attr.empty()) {
    return GetAttr<int64_t>(attrs, argument.number_attr).value_or(0);
  }
  if (argument.type_list_attr.empty()) return 0;
  const StatusOr<DataTypeList> types = GetAttr<DataTypeList>(attrs, argument.type_list_attr);
  return types.ok() ? static_cast<int64_t>(types->size()) : 0;
}

}  // namespace

ImportBudget::ImportBudget(size_t encoded_bytes, int64_t max_expansion)
    : limit_(LimitFor(encoded_bytes, max_expansion)), is_given_(max_expansion > 0) {}

Status ImportBudget::Take(int64_t bytes) {
  taken_ = Sum(taken_, bytes);
  if (taken_ <= limit_) return absl::OkStatus();
  return errors::ResourceExhausted(
      "the constants, the outputs and what is known of them, of the nodes up to this one and of "
      "the "
      "functions that they call, take ",
      taken_, " bytes, and ", is_given_ ? "may" : "those of a GraphDef of its size may", " take ",
      limit_,
      is_given_ ? ", its size and the value of ConfigProto.max_import_expansion"
                : "; ConfigProto.max_import_expansion allows more");
}

Status ImportBudget::TakeConstants(const proto::NodeDef& node) {
  return Take(BytesOf(node.attr()));
}

Status ImportBudget::TakeNode(const proto::NodeDef& node) {
  // What a small node takes in the plan and then in the graph, beside its name and attributes.
  constexpr int64_t kBytesOfNode = 1024;
  return Take(Sum(kBytesOfNode, static_cast<int64_t>(node.ByteSizeLong())));
}

Status ImportBudget::TakeInputs(size_t count) {
  constexpr int64_t kBytesOfInput = 64;  // in the plan, in the graph, and in its reader's list
  return Take(static_cast<int64_t>(count) * kBytesOfInput);
}

Status ImportBudget::TakeOutputs(const OpDef& op, const AttrMap& attrs) {
  int64_t outputs = 0;
  for (const ArgDef& output : op.outputs) {
    outputs = Sum(outputs, CountOf(output, attrs));
  }
  if (outputs <= kFreeOutputs) return absl::OkStatus();
  return outputs > limit_ / kBytesOfOutput ? Take(kUnlimited) : Take(outputs * kBytesOfOutput);
}

Status ImportBudget::TakeFacts(const std::vector<OutputFacts>& facts) {
  // The plan has them for a time, then the graph, and that keeps old ones while it closes loops.
  constexpr int64_t kCopies = 3;
  constexpr int kRankWithoutHeap = 8;
  // Of each of them.
  constexpr int64_t kBookkeeping = 256;
  int64_t bytes = 0;
  for (const OutputFacts& of_output : facts) {
    const int rank = of_output.shape.rank();
    if (rank > kRankWithoutHeap) bytes += rank * static_cast<int64_t>(sizeof(int64_t));
    if (of_output.value.has_value()) {
      bytes += static_cast<int64_t>(of_output.value->size() * sizeof(of_output.value->front()));
    }
  }
  return bytes == 0 ? absl::OkStatus() : Take(kCopies * (bytes + kBookkeeping));
}

}  // namespace millstream
