// The interface of a compiled step signature, which callables and Session::Run execute.
#ifndef MILLSTREAM_CORE_SESSION_COMPILED_STEP_H_
#define MILLSTREAM_CORE_SESSION_COMPILED_STEP_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "core/step/run_options.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Thread-safe: several threads may run one object at the same time.
class CompiledStep {
 public:
  virtual ~CompiledStep() = default;

  // Runs one step. Feeds and fetches are in the order of the signature. Run borrows the fed tensors
  // until it returns. After an error `fetches` are unspecified, and the object stays usable.
  virtual Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options) = 0;
  // Instructions of the plan that ran last; 0 before the first run.
  virtual int64_t num_instructions() const = 0;
  // The device of every node of the step, and the reason, one node a line.
  virtual std::string placement_text() const = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_COMPILED_STEP_H_
