#include "core/structural/summary_text.h"

#include <utility>

#include "framework/message.h"

namespace millstream {

StatusOr<std::string> TextElement(const Tensor& tensor, int64_t i, absl::string_view name) {
  const std::string& text = tensor.data<std::string>()[i];
  if (IsUtf8(text)) return text;
  return errors::InvalidArgument("'", name, "' must be UTF-8, but element ", i, " is not");
}

StatusOr<std::string> ScalarText(const Tensor& tensor, absl::string_view name) {
  MS_RETURN_IF_ERROR(ScalarBytes(tensor, name).status());
  return TextElement(tensor, 0, name);
}

StatusOr<absl::string_view> ScalarBytes(const Tensor& tensor, absl::string_view name) {
  if (tensor.shape().rank() == 0) return *tensor.data<std::string>();
  return errors::InvalidArgument("'", name, "' must be a scalar, got ", tensor.shape().ToString());
}

Status SetSummary(StructuralFrame* frame, const proto::Summary& summary) {
  MS_ASSIGN_OR_RETURN(std::string bytes, ToBinary(summary));
  MS_ASSIGN_OR_RETURN(const Tensor text, frame->AllocateOutput(0, Shape()));
  *text.data<std::string>() = std::move(bytes);
  return absl::OkStatus();
}

}  // namespace millstream
