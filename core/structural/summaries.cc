// Summary ops, whose outputs are stored in event files. Image summaries are in image_summary.cc.
#include <cmath>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "core/structural/histogram.h"
#include "core/structural/structural.h"
#include "core/structural/summary_text.h"
#include "framework/half.h"
#include "framework/message.h"
#include "framework/proto_conversion.h"
#include "millstream/framework/protos/summary.pb.h"

namespace millstream {
namespace {

// Element i of a real tensor.
StatusOr<double> RealElement(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DataType::kFloat: return tensor.data<float>()[i];
    case DataType::kDouble: return tensor.data<double>()[i];
    case DataType::kHalf: return HalfToFloat(tensor.data<uint16_t>()[i]);
    case DataType::kBFloat16: return BFloat16ToFloat(tensor.data<uint16_t>()[i]);
    case DataType::kInt8: return tensor.data<int8_t>()[i];
    case DataType::kInt16: return tensor.data<int16_t>()[i];
    case DataType::kInt32: return tensor.data<int32_t>()[i];
    case DataType::kInt64: return static_cast<double>(tensor.data<int64_t>()[i]);
    case DataType::kUInt8: return tensor.data<uint8_t>()[i];
    case DataType::kUInt16: return tensor.data<uint16_t>()[i];
    case DataType::kUInt32: return tensor.data<uint32_t>()[i];
    case DataType::kUInt64: return static_cast<double>(tensor.data<uint64_t>()[i]);
    default:
      return errors::InvalidArgument("'values' must be real numbers, got ",
                                     DataTypeName(tensor.dtype()));
  }
}

// One value a tag; both arguments have the same shape.
Status ScalarSummary(StructuralFrame* frame) {
  const Tensor tags = frame->BorrowInput(0);
  const Tensor values = frame->BorrowInput(1);
  if (tags.shape() != values.shape()) {
    return errors::InvalidArgument("'tags' and 'values' must have one shape, got ",
                                   tags.shape().ToString(), " and ", values.shape().ToString());
  }
  proto::Summary summary;
  for (int64_t i = 0; i < tags.num_elements(); ++i) {
    MS_ASSIGN_OR_RETURN(double value, RealElement(values, i));
    proto::Summary::Value* entry = summary.add_value();
    MS_ASSIGN_OR_RETURN(*entry->mutable_tag(), TextElement(tags, i, "tags"));
    entry->set_simple_value(static_cast<float>(value));
  }
  return SetSummary(frame, summary);
}

// The distribution of all elements.
Status HistogramSummary(StructuralFrame* frame) {
  MS_ASSIGN_OR_RETURN(const std::string tag, ScalarText(frame->BorrowInput(0), "tag"));
  const Tensor values = frame->BorrowInput(1);
  Histogram histogram;
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    MS_ASSIGN_OR_RETURN(const double value, RealElement(values, i));
    if (std::isnan(value)) {
      return errors::InvalidArgument("Nan in summary histogram for: ", frame->call().name);
    }
    if (std::isinf(value)) {
      return errors::InvalidArgument("Infinity in summary histogram for: ", frame->call().name);
    }
    histogram.Add(value);
  }
  proto::Summary summary;
  proto::Summary::Value* entry = summary.add_value();
  entry->set_tag(tag);
  histogram.ToProto(entry->mutable_histo());
  return SetSummary(frame, summary);
}

// The tensor itself. Readers find in the graph what the node says of it.
Status TensorSummary(StructuralFrame* frame) {
  proto::Summary summary;
  proto::Summary::Value* entry = summary.add_value();
  entry->set_node_name(std::string(frame->call().name));
  MS_RETURN_IF_ERROR(TensorToProto(frame->BorrowInput(0), entry->mutable_tensor()));
  return SetSummary(frame, summary);
}

// The tensor itself, for the viewer that the metadata names.
Status TensorSummaryV2(StructuralFrame* frame) {
  proto::Summary summary;
  proto::Summary::Value* entry = summary.add_value();
  MS_ASSIGN_OR_RETURN(*entry->mutable_tag(), ScalarText(frame->BorrowInput(0), "tag"));
  const Tensor metadata = frame->BorrowInput(2);
  MS_ASSIGN_OR_RETURN(const absl::string_view bytes,
                      ScalarBytes(metadata, "serialized_summary_metadata"));
  const StatusOr<MessagePtr> parsed = ParseBinary("SummaryMetadata", bytes);
  if (!parsed.ok()) return WithContext(parsed.status(), "'serialized_summary_metadata'");
  *entry->mutable_metadata() = static_cast<const proto::SummaryMetadata&>(**parsed);
  MS_RETURN_IF_ERROR(TensorToProto(frame->BorrowInput(1), entry->mutable_tensor()));
  return SetSummary(frame, summary);
}

// All values of all inputs; a tag may occur once.
Status MergeSummary(StructuralFrame* frame) {
  proto::Summary merged;
  absl::flat_hash_set<std::string> seen;
  for (uint32_t i = 0; i < frame->num_inputs(); ++i) {
    const Tensor input = frame->BorrowInput(i);
    for (int64_t k = 0; k < input.num_elements(); ++k) {
      const StatusOr<MessagePtr> summary = ParseBinary("Summary", input.data<std::string>()[k]);
      if (!summary.ok()) {
        return WithContext(summary.status(), absl::StrCat("'inputs': input ", i));
      }
      auto& values = *static_cast<proto::Summary&>(**summary).mutable_value();
      for (proto::Summary::Value& value : values) {
        if (!seen.insert(value.tag()).second) {
          return errors::InvalidArgument("Duplicate tag ", value.tag(), " found in input ", i);
        }
        merged.add_value()->Swap(&value);
      }
    }
  }
  return SetSummary(frame, merged);
}

MILLSTREAM_STRUCTURAL("ScalarSummary", StructuralRole::kKernel, ScalarSummary);
MILLSTREAM_STRUCTURAL("HistogramSummary", StructuralRole::kKernel, HistogramSummary);
MILLSTREAM_STRUCTURAL("TensorSummary", StructuralRole::kKernel, TensorSummary);
MILLSTREAM_STRUCTURAL("TensorSummaryV2", StructuralRole::kKernel, TensorSummaryV2);
MILLSTREAM_STRUCTURAL("MergeSummary", StructuralRole::kKernel, MergeSummary);

}  // namespace
}  // namespace millstream
