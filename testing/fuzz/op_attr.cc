// An attribute of any op: a line says the op, another one the attribute, the rest is an AttrValue
// as text. The node is imported with that attribute, and with placeholders for inputs.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/message.h"
#include "framework/op_registry.h"
#include "framework/proto_conversion.h"
#include "millstream/framework/protos/graph.pb.h"
#include "testing/fuzz/graph_walk.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/target.h"

namespace {

using millstream::AttrDef;
using millstream::AttrMap;
using millstream::AttrValue;
using millstream::DataType;
using millstream::DataTypeList;
using millstream::MessagePtr;
using millstream::OpDef;
using millstream::OpRegistry;
using millstream::PartialShape;
using millstream::StatusOr;
using millstream::Tensor;
namespace proto = millstream::proto;

// What an attribute that is not under test has, where its op has no default.
AttrValue UsualValue(const AttrDef& attr) {
  if (attr.type == "type") {
    return attr.allowed_types.empty() ? DataType::kFloat : attr.allowed_types.front();
  }
  if (attr.type == "int") return std::max<int64_t>(attr.minimum.value_or(1), 1);
  if (attr.type == "shape") return PartialShape({2, -1});
  if (attr.type == "string") return std::string("x");
  if (attr.type == "tensor") return Tensor::Scalar<float>(1);
  if (attr.type == "list(type)") return DataTypeList{DataType::kFloat};
  if (attr.type == "list(int)") return std::vector<int64_t>{1, 1, 1, 1};
  return AttrValue();
}

// Whether inputs may depend on it; then it is small enough to be read here.
bool ShapesSignature(const proto::AttrValue& value) {
  return value.value_case() == proto::AttrValue::kI ||
         value.value_case() == proto::AttrValue::kType ||
         (value.has_list() && value.list().type_size() > 0);
}

AttrMap AttrsOf(const OpDef& op, const AttrDef& tested, const proto::AttrValue& value) {
  AttrMap attrs;
  for (const AttrDef& attr : op.attrs) {
    SetAttr(&attrs, attr.name, attr.default_value.value_or(UsualValue(attr)));
  }
  if (!ShapesSignature(value)) return attrs;
  StatusOr<AttrValue> read = millstream::AttrValueFromProto(value);
  if (read.ok()) SetAttr(&attrs, tested.name, *std::move(read));
  return attrs;
}

void AddPlaceholder(DataType type, const std::string& name, proto::GraphDef* graph) {
  proto::NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op("Placeholder");
  (*node->mutable_attr())["dtype"].set_type(millstream::DataTypeToProto(type));
}

proto::GraphDef GraphWith(const OpDef& op, const AttrDef& tested, const proto::AttrValue& value) {
  constexpr size_t kMaxInputs = 100;
  proto::GraphDef graph;
  const AttrMap attrs = AttrsOf(op, tested, value);
  proto::NodeDef node;
  node.set_name("node");
  node.set_op(op.name);
  const auto signature = millstream::ExpandSignature(op, attrs);
  const DataTypeList types = signature.ok() ? signature->input_types : DataTypeList();
  for (size_t i = 0; i < std::min(types.size(), kMaxInputs); ++i) {
    AddPlaceholder(types[i], absl::StrCat("input", i), &graph);
    node.add_input(absl::StrCat("input", i));
  }
  static_cast<void>(millstream::AttrsToProto(attrs, node.mutable_attr()));
  (*node.mutable_attr())[tested.name] = value;
  *graph.add_node() = std::move(node);
  return graph;
}

const OpDef& OpCalled(absl::string_view name) {
  if (const OpDef* op = OpRegistry::Global()->FindOrNull(name)) return *op;
  static const auto* const ops = new std::vector<const OpDef*>(OpRegistry::Global()->List());
  return *(*ops)[millstream::fuzz::AnyOf(name, ops->size())];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millstream::fuzz::Input input(data, size);
  const OpDef& op = OpCalled(input.Line());
  const absl::string_view name = input.Line();
  if (op.attrs.empty()) return 0;
  const AttrDef* const found = op.FindAttr(name);
  const AttrDef& attr =
      found != nullptr ? *found : op.attrs[millstream::fuzz::AnyOf(name, op.attrs.size())];
  const StatusOr<MessagePtr> message = millstream::ParseText("AttrValue", input.rest());
  if (!message.ok()) return 0;
  const proto::GraphDef graph =
      GraphWith(op, attr, static_cast<const proto::AttrValue&>(**message));
  const StatusOr<std::string> bytes = millstream::ToBinary(graph);
  if (bytes.ok()) millstream::fuzz::ImportAndWalk(*bytes);
  return 0;
}
