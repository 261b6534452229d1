// The list of ops with a gradient function.
#include "absl/strings/str_join.h"
#include "core/c_api/c_api.h"
#include "core/c_api/handles.h"
#include "core/gradients/gradient_registry.h"

void millstream_differentiable_ops(millstream_bytes* out) {
  *out = millstream::c_api::GiveBytes(absl::StrJoin(millstream::DifferentiableOps(), "\n"));
}
