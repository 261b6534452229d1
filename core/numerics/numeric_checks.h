// The first-NaN mode of a session: a step fails at the first node that makes NaN or an infinity of
// inputs without, and what it was given is saved, to run the node again.
//
// Kernels are called through a function that looks at what they gave; steps of other sessions have
// no word of it. A plan of this mode has no operation that hides a result of the program's nodes,
// and what is looked at writes nothing over its inputs, which are there when they are asked for.
#ifndef MILLSTREAM_CORE_NUMERICS_NUMERIC_CHECKS_H_
#define MILLSTREAM_CORE_NUMERICS_NUMERIC_CHECKS_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/device/kernel_instance.h"
#include "core/graph/graph.h"
#include "core/io/file_system.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// Thread-safe. Outlives the plans that call Compute.
class NumericChecks {
 public:
  // `folder`: where inputs are saved; empty: they are not. `files`: has that folder, and outlives
  // the checks; may be null when `folder` is empty.
  NumericChecks(std::string folder, FileSystem* files);
  ~NumericChecks();

  // What an executor calls in the place of the kernel's function. INVALID_ARGUMENT when the kernel
  // went well and a number that it gave, or that a variable of its inputs then holds, is not finite
  // while all that it was given are. What lies in a device's memory is copied to the host's, and
  // waited for; the error is the step's when it is to stop meanwhile.
  static MS_Status* Compute(void* state, MS_Frame* frame);
  // The state for it. REQUIRES: `kernel` has a function that returns when it is done.
  void* StateFor(const KernelInstance* kernel) ABSL_LOCKS_EXCLUDED(mutex_);
  // The kernel goes; nobody calls Compute for it any more. Nothing when it has no state.
  void Forget(const KernelInstance* kernel) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees what is kept for further steps: memory for copies of variables.
  void DropKept() ABSL_LOCKS_EXCLUDED(mutex_);
  // That have a state.
  size_t num_kernels() const ABSL_LOCKS_EXCLUDED(mutex_);

  // What Compute does behind the kernel; for one that ends by itself, once it went well. A kernel
  // that still holds variables is not looked at. `before`: what variables among the inputs held
  // before, by input, where it is known.
  Status CheckResults(const KernelInstance& kernel, MS_Frame* frame,
                      absl::Span<const Tensor> before = {});

  // False for nodes that give finite numbers whenever they get them: they move, choose, count.
  static bool Concern(const Node& node);
  // Adds to `passes` those that make one operation of several, of which only the last result would
  // be seen, or that compute before the step.
  static void DisableFusion(std::vector<std::string>* passes);

  // INVALID_ARGUMENT when `value`, which the caller feeds for `feed`, holds NaN. Infinities may be
  // meant.
  static Status CheckFeed(const Output& feed, const Tensor& value);

 private:
  struct BoundedUpdate;
  struct CheckedKernel;

  Status CheckOutputs(const KernelInstance& kernel, MS_Frame* frame);
  Status CheckVariables(const KernelInstance& kernel, MS_Frame* frame,
                        absl::Span<const Tensor> before);
  Status Describe(const MS_Frame& frame, const std::string& what,
                  absl::Span<const Tensor> before = {});
  // Writes a file that has no other's name, whole or not at all, and returns its path.
  StatusOr<std::string> Save(const Node& node, absl::Span<const MS_TensorView> inputs);

  const std::string folder_;
  FileSystem* const files_;
  std::atomic<int> num_saved_{0};
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<const KernelInstance*, std::unique_ptr<CheckedKernel>> kernels_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_NUMERICS_NUMERIC_CHECKS_H_
