// Gradients of the ops that move blocks into the batch or the channels: each is the op back.
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

constexpr const char* kSpaceToBatchND = "SpaceToBatchND";
constexpr const char* kBatchToSpaceND = "BatchToSpaceND";
constexpr const char* kSpaceToBatch = "SpaceToBatch";
constexpr const char* kBatchToSpace = "BatchToSpace";
constexpr const char* kSpaceToDepth = "SpaceToDepth";
constexpr const char* kDepthToSpace = "DepthToSpace";

// What was padded is cropped and the reverse, so that the other inputs and attributes are the same.
template <const char* const* kBack>
Status MoveBack(GradientContext* context) {
  std::vector<Output> inputs = {context->dy(0)};
  for (int i = 1; i < context->num_inputs(); ++i) inputs.push_back(context->input(i));
  std::vector<const char*> attrs;
  for (const char* name : {"block_size", "data_format"}) {
    if (FindAttr(context->attrs(), name) != nullptr) attrs.push_back(name);
  }
  context->SetDx(0, context->builder()->OpWithAttrs(*kBack, inputs, context->attrs(), attrs));
  return absl::OkStatus();
}

MILLSTREAM_GRADIENT("SpaceToBatchND", MoveBack<&kBatchToSpaceND>);
MILLSTREAM_GRADIENT("BatchToSpaceND", MoveBack<&kSpaceToBatchND>);
MILLSTREAM_GRADIENT("SpaceToBatch", MoveBack<&kBatchToSpace>);
MILLSTREAM_GRADIENT("BatchToSpace", MoveBack<&kSpaceToBatch>);
MILLSTREAM_GRADIENT("SpaceToDepth", MoveBack<&kDepthToSpace>);
MILLSTREAM_GRADIENT("DepthToSpace", MoveBack<&kSpaceToDepth>);

}  // namespace
}  // namespace millstream
