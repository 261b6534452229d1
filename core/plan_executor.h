// Runs a plan, inline on the caller's thread.
#ifndef MILLSTREAM_CORE_PLAN_EXECUTOR_H_
#define MILLSTREAM_CORE_PLAN_EXECUTOR_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/plan.h"
#include "core/session.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// One step. `feeds` have the dtypes that the signature wants and the shapes of plan->feed_shapes.
// Thread-safe. After an error `fetches` are unspecified, and the plan stays usable. `device_name`
// is for messages.
Status ExecutePlan(Plan* plan, absl::string_view device_name, absl::Span<const Tensor> feeds,
                   absl::Span<Tensor> fetches, const RunOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_EXECUTOR_H_
