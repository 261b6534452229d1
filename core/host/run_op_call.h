// Runs one call of an op on tensors: there is no node, graph, plan or session.
//
//   MS_ASSIGN_OR_RETURN(const OwnedOpCall sum, MakeOpCall(*add, {}, {kFloat, kFloat}, {1, 1}));
//   MS_ASSIGN_OR_RETURN(std::vector<Tensor> values, RunOpCall(sum.call(), {x, y}, setting));
//
// The kernel is found, created and specialized as a step does it, and sees the same host.
#ifndef MILLSTREAM_CORE_HOST_RUN_OP_CALL_H_
#define MILLSTREAM_CORE_HOST_RUN_OP_CALL_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/step/run_options.h"
#include "core/step/session_settings.h"
#include "framework/op_call.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// What a call runs with. Borrows all of it.
struct OpCallSetting {
  absl::string_view device_type;  // of the kernel; of a device that works in host memory
  absl::string_view device_name;
  const MS_DeviceContext& device;
  const SessionSettings& settings;                          // threads, determinism
  const RunOptions& run;                                    // what may stop the call
  int64_t max_bytes = std::numeric_limits<int64_t>::max();  // of all outputs
  bool names_call = true;  // in errors; false: for a kernel, which has a node that is named
};

// What the call gives for these inputs. The outputs of a call that only renames (Identity, Reshape)
// share the memory of its inputs. A kernel is created for the call and destroyed after it; a call
// with a random kernel draws another stream each time unless its attributes have seeds.
//
// Errors name the call, its inputs and the device. INVALID_ARGUMENT: inputs that are not as many
// as the signature has, or of other types; shapes that do not fit; no kernel for the attributes on
// the device type. UNIMPLEMENTED: the call gives resource handles (it may take those of
// MakeRunTimeHandle), or its kernel ends later than it returns. OUT_OF_RANGE: the outputs take more
// than `max_bytes`; known before the kernel runs where shape inference finds the shapes. The
// kernel's own. CANCELLED and DEADLINE_EXCEEDED as they are: the call was to stop. Thread-safe.
StatusOr<std::vector<Tensor>> RunOpCall(const OpCall& call, absl::Span<const Tensor> inputs,
                                        const OpCallSetting& setting);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_RUN_OP_CALL_H_
