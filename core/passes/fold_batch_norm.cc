// fold_batch_norm: puts a batch normalization with constant statistics into the constant filter of
// the convolution before it. Such a normalization multiplies each channel by a number and adds one:
//
//   f = scale / sqrt(variance + epsilon)
//   norm(conv(x, filter) + bias) = conv(x, filter * f) + (offset + (bias - mean) * f)
//
// Only the convolution and a BiasAdd remain. Results are rounded in another order.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "core/passes/known_values.h"
#include "core/passes/pass.h"

namespace millstream {
namespace {

constexpr absl::string_view kConvolutions[] = {"Conv2D", "DepthwiseConv2dNative"};
constexpr absl::string_view kNorms[] = {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"};

// What a normalization does to each channel.
struct ChannelMap {
  std::vector<double> factors;
  std::vector<double> addends;

  int64_t channels() const { return static_cast<int64_t>(factors.size()); }
};

std::string FormatOf(const StepOp& op) {
  const StatusOr<std::string> format = op.node->Attr<std::string>("data_format");
  return format.ok() ? *format : "NHWC";
}

// The elements of a constant vector of float; null for anything else.
const float* ConstantVector(const StepOps& ops, const Output& value, int64_t size) {
  const Tensor* const constant = ops.constant(value);
  if (constant == nullptr || constant->dtype() != DataType::kFloat ||
      constant->shape() != Shape({size})) {
    return nullptr;
  }
  return constant->data<float>();
}

// True if nobody reads the statistics that the normalization also gives.
bool GivesImagesOnly(const StepOps& ops, const StepOp& norm) {
  for (size_t k = 1; k < norm.outputs.size(); ++k) {
    if (ops.IsVisible(norm.outputs[k]) || !ops.Readers(norm.outputs[k]).empty()) return false;
  }
  return true;
}

// None unless operation `i` is a normalization with statistics that are the same in every step, and
// finite.
std::optional<ChannelMap> MapOf(const StepOps& ops, int i) {
  if (i < 0 || !absl::c_linear_search(kNorms, ops.op(i).type())) return std::nullopt;
  const StepOp& norm = ops.op(i);
  const StatusOr<bool> is_training = norm.node->Attr<bool>("is_training");
  const StatusOr<float> epsilon = norm.node->Attr<float>("epsilon");
  const PartialShape* const scales = ops.KnownShape(norm.inputs[1]);
  if (!is_training.ok() || *is_training || !epsilon.ok() || scales == nullptr ||
      scales->rank() != 1 || norm.names_kernel() || !GivesImagesOnly(ops, norm)) {
    return std::nullopt;
  }
  const int64_t channels = scales->dim(0);
  const float* vectors[4];  // scale, offset, mean, variance
  for (int k = 0; k < 4; ++k) {
    vectors[k] = ConstantVector(ops, norm.inputs[k + 1], channels);
    if (vectors[k] == nullptr) return std::nullopt;
  }
  ChannelMap map;
  for (int64_t c = 0; c < channels; ++c) {
    const double variance = double{vectors[3][c]} + double{*epsilon};
    const double factor = vectors[0][c] / std::sqrt(variance);
    const double addend = vectors[1][c] - vectors[2][c] * factor;
    if (!std::isfinite(factor) || !std::isfinite(addend)) return std::nullopt;
    map.factors.push_back(factor);
    map.addends.push_back(addend);
  }
  return map;
}

// The filter with output channel c multiplied by factor c. The output channels are the last
// dimension of a filter, or the last two if each channel is convolved alone.
StatusOr<Tensor> Scaled(const Tensor& filter, const ChannelMap& map) {
  MS_ASSIGN_OR_RETURN(Tensor scaled, Tensor::Create(DataType::kFloat, filter.shape()));
  const float* const from = filter.data<float>();
  float* const to = scaled.data<float>();
  const int64_t channels = map.channels();
  for (int64_t row = 0; row < filter.num_elements(); row += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      to[row + c] = static_cast<float>(from[row + c] * map.factors[c]);
    }
  }
  return scaled;
}

// What is added to the convolution with the scaled filter; `bias` may be null.
StatusOr<Tensor> NewBias(const ChannelMap& map, const float* bias) {
  MS_ASSIGN_OR_RETURN(Tensor added, Tensor::Create(DataType::kFloat, Shape({map.channels()})));
  for (int64_t c = 0; c < map.channels(); ++c) {
    const double scaled = bias == nullptr ? 0.0 : bias[c] * map.factors[c];
    added.data<float>()[c] = static_cast<float>(map.addends[c] + scaled);
  }
  return added;
}

// The constant filter of a convolution, if it can be scaled.
const Tensor* FilterOf(const StepOps& ops, const StepOp& conv) {
  if (!absl::c_linear_search(kConvolutions, conv.type()) || conv.names_kernel() ||
      conv.outputs[0].dtype() != DataType::kFloat) {
    return nullptr;
  }
  const Tensor* const filter = ops.constant(conv.inputs[1]);
  return filter != nullptr && filter->num_elements() > 0 ? filter : nullptr;
}

int64_t OutputChannels(const StepOp& conv, const Tensor& filter) {
  const Shape& shape = filter.shape();
  const int64_t last = shape.dim(shape.rank() - 1);
  return conv.type() == "DepthwiseConv2dNative" ? last * shape.dim(2) : last;
}

// Operation i may be a convolution with a normalization behind it, perhaps after a bias.
Status FoldFrom(StepOps* ops, int i) {
  const StepOp conv = ops->op(i);
  const Tensor* const filter = FilterOf(*ops, conv);
  if (filter == nullptr) return absl::OkStatus();
  const int64_t channels = OutputChannels(conv, *filter);
  int last = ops->OnlyReader(conv.outputs[0]);
  std::vector<int> replaced;
  const float* bias = nullptr;
  if (last >= 0 && ops->op(last).type() == "BiasAdd" && !ops->op(last).names_kernel() &&
      FormatOf(ops->op(last)) == FormatOf(conv)) {
    bias = ConstantVector(*ops, ops->op(last).inputs[1], channels);
    if (bias == nullptr) return absl::OkStatus();
    replaced.push_back(last);
    last = ops->OnlyReader(ops->op(last).outputs[0]);
  }
  const std::optional<ChannelMap> map = MapOf(*ops, last);
  if (!map.has_value() || map->channels() != channels ||
      FormatOf(ops->op(last)) != FormatOf(conv)) {
    return absl::OkStatus();
  }
  const StepOp norm = ops->op(last);
  MS_ASSIGN_OR_RETURN(Tensor scaled, Scaled(*filter, *map));
  MS_ASSIGN_OR_RETURN(Tensor added, NewBias(*map, bias));
  MS_ASSIGN_OR_RETURN(const Output new_filter, ops->NewConstant(std::move(scaled)));
  MS_ASSIGN_OR_RETURN(const Output new_bias, ops->NewConstant(std::move(added)));
  MS_RETURN_IF_ERROR(ops->Replace(i, {i}, conv.type(), conv.node->attrs(), *conv.node,
                                  {conv.inputs[0], new_filter}, conv.outputs));
  AttrMap attrs;
  SetAttr(&attrs, "T", DataType::kFloat);
  SetAttr(&attrs, "data_format", FormatOf(conv));
  replaced.push_back(last);
  return ops->Replace(last, replaced, "BiasAdd", std::move(attrs), *norm.node,
                      {conv.outputs[0], new_bias}, {norm.outputs[0]});
}

Status FoldBatchNorm(StepOps* ops) {
  for (int i = 0; i < ops->size(); ++i) {
    if (!ops->IsGone(i)) MS_RETURN_IF_ERROR(FoldFrom(ops, i));
  }
  return absl::OkStatus();
}

// Before fuse_products, which takes the bias.
MILLSTREAM_PASS("fold_batch_norm", 16, FoldBatchNorm);

}  // namespace
}  // namespace millstream
