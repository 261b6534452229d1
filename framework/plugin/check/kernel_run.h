// Executes one kernel on one case in the ways that a host may, and looks after it.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_RUN_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_RUN_H_

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_def.h"
#include "framework/plugin/check/check_host.h"
#include "framework/plugin/check/check_session.h"
#include "framework/plugin/check/checked_plugin.h"
#include "framework/plugin/check/frame_page.h"
#include "framework/plugin/check/kernel_cases.h"

namespace millstream::plugin_check {

struct RunMode {
  const char* name;
  bool planned = false;  // specialized, with outputs and scratch preset
  bool share = false;    // outputs may lie over inputs
  uint32_t threads = 1;
  uint8_t fill = 0xA5;        // of memory that is not yet written
  uint64_t input_offset = 0;  // bytes between an aligned address and each input
  int fail_allocation = 0;    // the n-th allocation fails
  bool is_cancelled = false;  // the step is stopping
  bool is_traced = false;
  bool is_deterministic = false;  // frames ask for the same bits
};

struct RunResult {
  Status status;
  std::vector<Tensor> outputs;    // without value: not there
  std::vector<Tensor> variables;  // one an input, without value for those that are none
  std::array<uint64_t, 2> philox_counter{};
  bool specialized = true;   // false: specialize refused, and nothing ran
  bool has_wrapped = false;  // memory of its own
  int allocations = 0;
  int done_calls = 1;  // of an asynchronous kernel
  BrokenRules broken;
};

// Whether the kernel has in host memory what is tensor `index` of the arguments. `starts` are of a
// NodeSignature.
bool IsHostArg(const KernelRegistration& kernel, const std::vector<ArgDef>& args,
               const std::vector<int>& starts, size_t index);

// A kernel with the state that create made for one node. Run may be called by several threads.
class KernelRun {
 public:
  // `device` may be null: a kernel that is for a device whose memory is the host's.
  static StatusOr<std::unique_ptr<KernelRun>> Create(const KernelRegistration& kernel,
                                                     const CheckedDevice* device,
                                                     const KernelCase& kernel_case);
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;
  ~KernelRun();

  const KernelRegistration& kernel() const { return kernel_; }
  const NodeSignature& signature() const { return signature_; }
  // `planned_as`: the outputs whose shapes are planned; null unless the mode is planned.
  RunResult Run(const RunMode& mode, const std::vector<Tensor>* planned_as) const;
  // Destroys the kernel, and looks for what it has not given back. Nothing runs afterwards.
  BrokenRules Destroy();

 private:
  struct Execution;

  KernelRun(const KernelRegistration& kernel, const CheckedDevice* device,
            const KernelCase& kernel_case)
      : kernel_(kernel), device_(device), case_(kernel_case) {}
  Status PlaceInputs(const RunMode& mode, Execution* execution) const;
  Status PlaceOutputs(const RunMode& mode, const std::vector<Tensor>* planned_as,
                      Execution* execution) const;
  void ShareBuffers(Execution* execution) const;
  Status Specialize(const RunMode& mode, const std::vector<Tensor>& planned_as,
                    Execution* execution) const;
  MS_Frame* MakeFrame(const RunMode& mode, Execution* execution) const;
  void Call(const RunMode& mode, Execution* execution, RunResult* result) const;
  void ExpectNoLateWrites(const MS_Ctx& ctx, const char* rule, absl::string_view after,
                          RunResult* result) const;
  void CallAsync(Execution* execution, RunResult* result) const;
  void LookAfter(Execution* execution, RunResult* result) const;
  void LookAtTensors(Execution* execution, RunResult* result) const;

  const KernelRegistration& kernel_;
  const CheckedDevice* const device_;
  const KernelCase& case_;
  const OpDef* op_ = nullptr;
  NodeSignature signature_;
  MS_DeviceContext context_ = {};  // for create, specialize and frames
  void* state_ = nullptr;
  bool is_alive_ = false;
  mutable CheckSession session_;
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_KERNEL_RUN_H_
