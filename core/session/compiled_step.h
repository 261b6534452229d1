// A step signature of a session, compiled: what callables and Session::Run execute.
#ifndef MILLSTREAM_CORE_SESSION_COMPILED_STEP_H_
#define MILLSTREAM_CORE_SESSION_COMPILED_STEP_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "core/step/run_options.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Thread-safe: many threads may run one step at once.
class CompiledStep {
 public:
  virtual ~CompiledStep() = default;

  // One step: feeds and fetches in the order of the signature. A fed tensor is borrowed until Run
  // returns. After an error `fetches` are unspecified, and the step stays usable.
  virtual Status Run(absl::Span<const Tensor> feeds, absl::Span<Tensor> fetches,
                     const RunOptions& options) = 0;
  // Instructions of the plan that ran last; 0 before the first run.
  virtual int64_t num_instructions() const = 0;
  // Where every node of the step runs and why, a line a node.
  virtual std::string placement_text() const = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_SESSION_COMPILED_STEP_H_
