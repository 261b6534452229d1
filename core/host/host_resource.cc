// "ms.resource/1": variables for kernels.
#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/host/host_ctx.h"
#include "core/host/host_objects.h"
#include "core/resources/run_time_handle.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

void Unlock(MS_LockSet* locks) {
  for (size_t k = locks->entered.size(); k > 0; --k) locks->entered[k - 1]->gate().Leave();
  locks->held = false;
}

// Points `locks->variables` at those of the inputs and says whether they stood there already.
StatusOr<bool> FindVariables(const MS_Frame& frame, const uint32_t* inputs, uint32_t n,
                             MS_LockSet* locks) {
  bool same = locks->variables.size() == n;
  locks->variables.resize(n);
  for (uint32_t k = 0; k < n; ++k) {
    if (inputs[k] >= frame.n_in || frame.inputs[inputs[k]].dtype != MS_RESOURCE) {
      return errors::InvalidArgument("input ", inputs[k], " is no handle of a variable");
    }
    Variable* const variable = ResourceAs<Variable>(ResourceOf(frame.inputs[inputs[k]]));
    if (variable == nullptr) {
      return errors::InvalidArgument("input ", inputs[k],
                                     " is the handle of another resource, not of a variable");
    }
    same = same && locks->variables[k] == variable;
    locks->variables[k] = variable;
  }
  return same;
}

// Every writer enters gates in the order of their addresses, so that no two wait for each other.
MS_Status* VarsLock(MS_Frame* frame, const uint32_t* inputs, const uint32_t*, uint32_t n,
                    MS_LockSet** out) {
  MS_LockSet* locks = &frame->ctx->locks;
  if (locks->held) {
    return ToAbiStatus(errors::FailedPrecondition("the kernel holds a lock set already"));
  }
  const StatusOr<bool> same = FindVariables(*frame, inputs, n, locks);
  if (!same.ok()) {
    locks->variables.clear();
    locks->entered.clear();
    return ToAbiStatus(same.status());
  }
  if (!*same) {
    MS_LockSet::Variables& entered = locks->entered;
    entered = locks->variables;
    std::sort(entered.begin(), entered.end(), std::less<Variable*>());
    entered.erase(std::unique(entered.begin(), entered.end()), entered.end());
  }
  for (Variable* variable : locks->entered) variable->gate().Enter();
  locks->memory = frame->ctx->host->memory;
  // A set of nothing holds nothing: there is nothing to release, whatever the kernel does with it.
  locks->held = n > 0;
  *out = locks;
  return nullptr;
}

bool Holds(const MS_LockSet& locks, uint32_t k) { return locks.held && k < locks.variables.size(); }

MS_Status* HoldsNot(uint32_t k) {
  return ToAbiStatus(errors::InvalidArgument("the lock set has no variable ", k));
}

MS_Status* VarView(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  if (!Holds(*locks, k)) return HoldsNot(k);
  const Variable& variable = *locks->variables[k];
  if (!variable.value().has_value()) {
    return ToAbiStatus(
        errors::FailedPrecondition("Attempting to use uninitialized value ", variable.name()));
  }
  Status here = variable.CheckIsIn(locks->memory, variable.value());
  if (!here.ok()) return ToAbiStatus(here);
  *out = MakeView(variable.value(), nullptr);
  return nullptr;
}

MS_Status* VarPrepareWrite(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  if (!Holds(*locks, k)) return HoldsNot(k);
  Variable* const variable = locks->variables[k];
  Status prepared = variable->CheckIsIn(locks->memory, variable->value());
  if (prepared.ok()) prepared = variable->PrepareWrite();
  if (!prepared.ok()) return ToAbiStatus(prepared);
  *out = MakeView(variable->value(), nullptr);
  return nullptr;
}

// Whether the kernel's tensor may be the variable's value.
Status CheckValue(const Variable& variable, const MS_Tensor* tensor) {
  const bool fits = tensor != nullptr && tensor->tensor.dtype() == variable.dtype() &&
                    variable.shape().IsCompatibleWith(tensor->tensor.shape());
  if (fits) return absl::OkStatus();
  std::string given = "NULL";
  if (tensor != nullptr) {
    given = absl::StrCat(DataTypeName(tensor->tensor.dtype()), tensor->tensor.shape().ToString());
  }
  return errors::InvalidArgument("the value of variable '", variable.name(), "' must be ",
                                 DataTypeName(variable.dtype()), variable.shape().ToString(),
                                 ", the kernel gave ", given);
}

MS_Status* VarReplace(MS_LockSet* locks, uint32_t k, MS_Tensor* tensor) {
  if (!Holds(*locks, k)) return HoldsNot(k);
  Variable* const variable = locks->variables[k];
  Status fits = CheckValue(*variable, tensor);
  if (!fits.ok()) return ToAbiStatus(fits);
  variable->Replace(tensor->tensor);
  return nullptr;
}

}  // namespace

const MS_ResourceApi* ResourceApi() {
  static const MS_ResourceApi api = {
      {sizeof(MS_ResourceApi), 1, 0, MS_RESOURCE_API},
      &VarsLock,
      &VarView,
      &VarPrepareWrite,
      &VarReplace,
      &Unlock,
      &host_objects::HandleRead,
      &host_objects::Create,
      &host_objects::Lookup,
      &host_objects::LookupOrCreate,
      &host_objects::Release,
  };
  return &api;
}

bool ReleaseLeftLocks(MS_Ctx* ctx) {
  if (!ctx->locks.held) return false;
  Unlock(&ctx->locks);
  return true;
}

Status LeftLockedError() { return errors::Internal("the kernel left variables locked"); }

}  // namespace millstream
