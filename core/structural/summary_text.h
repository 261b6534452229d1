// Texts that summary ops take, and the one that they give.
#ifndef MILLSTREAM_CORE_STRUCTURAL_SUMMARY_TEXT_H_
#define MILLSTREAM_CORE_STRUCTURAL_SUMMARY_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "core/structural/structural.h"
#include "framework/status.h"
#include "framework/tensor.h"
#include "millstream/framework/protos/summary.pb.h"

namespace millstream {

// In all of them `name` is the argument's, for messages.

// Element i of a string tensor. INVALID_ARGUMENT unless it is UTF-8: no reader would take it.
StatusOr<std::string> TextElement(const Tensor& tensor, int64_t i, absl::string_view name);
// The only element. INVALID_ARGUMENT for any other shape, and unless it is UTF-8.
StatusOr<std::string> ScalarText(const Tensor& tensor, absl::string_view name);
// The only element, whatever it holds. It stays the tensor's.
StatusOr<absl::string_view> ScalarBytes(const Tensor& tensor, absl::string_view name);

// Gives the summary, in bytes, as output 0.
Status SetSummary(StructuralFrame* frame, const proto::Summary& summary);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_SUMMARY_TEXT_H_
