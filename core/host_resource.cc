// "ms.resource/1": variables for kernels.
#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/host_ctx.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"

namespace millstream {
namespace {

void Unlock(MS_LockSet* locks) {
  for (uint32_t k = locks->num_entered; k > 0; --k) locks->entered[k - 1]->gate().Leave();
  locks->num_entered = 0;
  locks->count = 0;
  locks->held = false;
}

// Every writer enters gates in the order of their addresses, so that no two wait for each other.
MS_Status* VarsLock(MS_Frame* frame, const uint32_t* inputs, const uint32_t* modes, uint32_t n,
                    MS_LockSet** out) {
  MS_LockSet* locks = &frame->ctx->locks;
  if (locks->held) {
    return ToAbiStatus(errors::FailedPrecondition("the kernel holds a lock set already"));
  }
  if (n > kMaxLockedVariables) {
    return ToAbiStatus(errors::InvalidArgument("cannot lock ", n, " variables at once, at most ",
                                               kMaxLockedVariables));
  }
  for (uint32_t k = 0; k < n; ++k) {
    if (inputs[k] >= frame->n_in || frame->inputs[inputs[k]].dtype != MS_RESOURCE) {
      return ToAbiStatus(
          errors::InvalidArgument("input ", inputs[k], " is no handle of a variable"));
    }
    locks->variables[k] =
        ResourceAs<Variable>(static_cast<Resource*>(frame->inputs[inputs[k]].mem.base));
    if (locks->variables[k] == nullptr) {
      return ToAbiStatus(
          errors::InvalidArgument("input ", inputs[k], " is the handle of no variable"));
    }
  }
  std::copy(locks->variables, locks->variables + n, locks->entered);
  std::sort(locks->entered, locks->entered + n, std::less<Variable*>());
  Variable** const end = std::unique(locks->entered, locks->entered + n);
  locks->num_entered = static_cast<uint32_t>(end - locks->entered);
  for (uint32_t k = 0; k < locks->num_entered; ++k) locks->entered[k]->gate().Enter();
  locks->count = n;
  locks->held = true;
  *out = locks;
  return nullptr;
}

MS_Status* CheckIndex(const MS_LockSet* locks, uint32_t k) {
  if (locks->held && k < locks->count) return nullptr;
  return ToAbiStatus(errors::InvalidArgument("the lock set has no variable ", k));
}

MS_Status* VarView(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  if (MS_Status* bad = CheckIndex(locks, k)) return bad;
  const Variable& variable = *locks->variables[k];
  if (!variable.value().has_value()) {
    return ToAbiStatus(
        errors::FailedPrecondition("Attempting to use uninitialized value ", variable.name()));
  }
  *out = MakeView(variable.value(), nullptr);
  return nullptr;
}

MS_Status* VarPrepareWrite(MS_LockSet* locks, uint32_t k, MS_TensorView* out) {
  if (MS_Status* bad = CheckIndex(locks, k)) return bad;
  Status prepared = locks->variables[k]->PrepareWrite();
  if (!prepared.ok()) return ToAbiStatus(prepared);
  return VarView(locks, k, out);
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
  if (MS_Status* bad = CheckIndex(locks, k)) return bad;
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
