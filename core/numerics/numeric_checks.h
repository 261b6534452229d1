// The first-NaN mode of a session: a step fails at the first node that makes NaN or an infinity
// from finite inputs. The inputs of the node are saved, so that it can be run again.
//
// In this mode, executors call kernels through a function that scans their outputs. It costs
// nothing in other sessions. Plans of this mode have no operations that hide results of the
// program's nodes, and checked outputs never overwrite inputs, so that the inputs can be saved.
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

// Thread-safe. Must outlive the plans that call Compute.
class NumericChecks {
 public:
  // `folder` is the folder for saved inputs; empty: none are saved. `files` may be null if `folder`
  // is empty. REQUIRES: `files` outlives this object.
  NumericChecks(std::string folder, FileSystem* files);
  ~NumericChecks();

  // Executors call it instead of the kernel's function; it calls the kernel. INVALID_ARGUMENT if
  // the kernel succeeds, all inputs are finite, and an output or the new value of a variable is
  // not. Tensors in device memory are copied to the host, and this function waits for the copy; it
  // returns the step's error if the step must stop meanwhile.
  static MS_Status* Compute(void* state, MS_Frame* frame);
  // The `state` of Compute for this kernel. REQUIRES: the kernel is not asynchronous.
  void* StateFor(const KernelInstance* kernel) ABSL_LOCKS_EXCLUDED(mutex_);
  // Deletes the state of a kernel, if it has one. REQUIRES: Compute is not called for it any more.
  void Forget(const KernelInstance* kernel) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees cached memory for copies of variables.
  void DropKept() ABSL_LOCKS_EXCLUDED(mutex_);
  // The number of kernels that have a state.
  size_t num_kernels() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The checks that Compute runs after the kernel. For an asynchronous kernel, the executor calls
  // it after the kernel succeeded. A kernel that still holds locked variables is not checked.
  // `before` has the earlier values of variables, by input, if they are known.
  Status CheckResults(const KernelInstance& kernel, MS_Frame* frame,
                      absl::Span<const Tensor> before = {});

  // False for nodes whose outputs are finite if their inputs are: they move, select or count
  // elements.
  static bool Concern(const Node& node);
  // Adds to `passes` the names of the passes that hide results: those that fuse several operations,
  // and those that compute before the step.
  static void DisableFusion(std::vector<std::string>* passes);

  // INVALID_ARGUMENT if `value`, the fed value of `feed`, has NaN. Infinities are allowed, because
  // they may be intended.
  static Status CheckFeed(const Output& feed, const Tensor& value);

 private:
  struct BoundedUpdate;
  struct CheckedKernel;

  Status CheckOutputs(const KernelInstance& kernel, MS_Frame* frame);
  Status CheckVariables(const KernelInstance& kernel, MS_Frame* frame,
                        absl::Span<const Tensor> before);
  Status Describe(const MS_Frame& frame, const std::string& what,
                  absl::Span<const Tensor> before = {});
  // Writes a file with a new name, completely or not at all. Returns its path.
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
