// The inputs and outputs of a node with graphs of its own.
#ifndef MILLSTREAM_CORE_PLAN_INNER_VALUES_H_
#define MILLSTREAM_CORE_PLAN_INNER_VALUES_H_

#include <cstdint>
#include <vector>

#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// The inputs from `first` on, valid until the node has run: plain data is borrowed. What may be
// changed in place (lists) is taken from who gave it, if nobody else reads it.
StatusOr<std::vector<Tensor>> TakeInputs(MS_Frame* frame, uint32_t first);

// Sets an output; copies what is borrowed.
Status GiveOutput(MS_Frame* frame, uint32_t output, Tensor value);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PLAN_INNER_VALUES_H_
