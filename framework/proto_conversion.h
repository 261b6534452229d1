// Between our types and the wire formats of framework/protos (namespace millstream::proto).
//
// Protos come from files and other programs, so the functions that read them accept any contents:
// malformed ones are INVALID_ARGUMENT, with the expected and the found value, before any memory
// is allocated for them. UNIMPLEMENTED: values of the format that Millstream does not support.
#ifndef MILLSTREAM_FRAMEWORK_PROTO_CONVERSION_H_
#define MILLSTREAM_FRAMEWORK_PROTO_CONVERSION_H_

#include <string>

#include "framework/attr_value.h"
#include "framework/dtype.h"
#include "framework/op_def.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/attr_value.pb.h"
#include "millstream/framework/protos/op_def.pb.h"
#include "millstream/framework/protos/tensor.pb.h"
#include "millstream/framework/protos/tensor_shape.pb.h"
#include "millstream/framework/protos/types.pb.h"

namespace millstream {

// The most bytes of a tensor that is read from a message: the size of the largest message. A short
// message may repeat its last value, so without a limit it could allocate any number of bytes.
inline constexpr int64_t kMaxTensorProtoBytes = int64_t{1} << 31;

proto::DataType DataTypeToProto(DataType dtype, bool is_ref = false);
// The base type of a ref type. `is_ref` may be null. DT_INVALID gives kInvalid.
StatusOr<DataType> DataTypeFromProto(int number, bool* is_ref = nullptr);

void ShapeToProto(const PartialShape& shape, proto::TensorShapeProto* message);
StatusOr<PartialShape> PartialShapeFromProto(const proto::TensorShapeProto& message);
// INVALID_ARGUMENT also if the rank or a dimension is unknown.
StatusOr<Shape> ShapeFromProto(const proto::TensorShapeProto& message);

// Writes one value if all elements are equal; else tensor_content, or a list for strings, booleans
// and complex numbers, as readers of such messages expect. UNIMPLEMENTED for resource and variant.
Status TensorToProto(const Tensor& tensor, proto::TensorProto* message);
// Writes all elements into the *_val list of the dtype, and neither the dtype nor the shape. Errors
// as TensorToProto.
Status TensorValuesToProto(const Tensor& tensor, proto::TensorProto* message);
// Reads tensor_content or a *_val list, and repeats the last value of a short list.
// INVALID_ARGUMENT for a message that does not fit its shape or dtype, RESOURCE_EXHAUSTED if memory
// is short.
StatusOr<Tensor> TensorFromProto(const proto::TensorProto& message,
                                 Allocator* allocator = HostAllocator());

Status AttrValueToProto(const AttrValue& value, proto::AttrValue* message);
// A message without value gives an AttrValue without value.
StatusOr<AttrValue> AttrValueFromProto(const proto::AttrValue& message);
using AttrProtoMap = google::protobuf::Map<std::string, proto::AttrValue>;
// Errors name the attribute.
Status AttrsToProto(const AttrMap& attrs, AttrProtoMap* messages);
StatusOr<AttrMap> AttrsFromProto(const AttrProtoMap& messages);

// The first line of the doc becomes the summary, the rest the description.
Status OpDefToProto(const OpDef& op, proto::OpDef* message);
// The result has no shape and value functions.
StatusOr<OpDef> OpDefFromProto(const proto::OpDef& message);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PROTO_CONVERSION_H_
