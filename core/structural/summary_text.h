// The string inputs and the output of summary ops.
#ifndef MILLSTREAM_CORE_STRUCTURAL_SUMMARY_TEXT_H_
#define MILLSTREAM_CORE_STRUCTURAL_SUMMARY_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/structural/structural.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/summary.pb.h"

namespace millstream {

// In all functions, `name` is that of the argument, for messages.

// Element i of a string tensor. INVALID_ARGUMENT unless it is UTF-8, because readers would reject
// it.
StatusOr<std::string> TextElement(const Tensor& tensor, int64_t i, absl::string_view name);
// The only element. INVALID_ARGUMENT for any other shape, and unless it is UTF-8.
StatusOr<std::string> ScalarText(const Tensor& tensor, absl::string_view name);
// The only element, with any bytes. The tensor owns it. INVALID_ARGUMENT for any other shape.
StatusOr<absl::string_view> ScalarBytes(const Tensor& tensor, absl::string_view name);

// Sets output 0 to the serialized summary.
Status SetSummary(StructuralFrame* frame, const proto::Summary& summary);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_SUMMARY_TEXT_H_
