#include "framework/plugin/check/check_host.h"

#include <cstring>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "framework/plugin/check/check_ctx.h"
#include "framework/plugin/check/check_tables.h"
#include "framework/plugin/check/check_trace.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/plugin_text.h"

namespace millstream::plugin_check {
namespace {

// What is returned or freed is never deleted: so its address is not given out again, and whoever
// gives it back once more is found.
struct Statuses {
  std::mutex mutex;
  std::unordered_set<const MS_Status*> live;
  std::unordered_set<const MS_Status*> gone;
};
Statuses& AllStatuses() {
  static auto* const statuses = new Statuses;
  return *statuses;
}

thread_local bool are_uncounted = false;

MS_Status* Count(MS_Status* status) {
  if (status == nullptr || are_uncounted) return status;
  Statuses& all = AllStatuses();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.live.insert(status);
  return status;
}

void GiveBack(const MS_Status* status) {
  if (status == nullptr) return;
  Statuses& all = AllStatuses();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.live.erase(status);
  if (!all.gone.insert(status).second) {
    NoteMisuse("KERNEL-STATUS", "a status was freed or returned twice");
  }
}

// ---- ms.core/1, ms.registry/1 -------------------------------------------------------------------

const MS_CoreApi& RealCore() {
  return *reinterpret_cast<const MS_CoreApi*>(FindHostInterface(MS_CORE_API));
}

void StatusFree(MS_Status* status) { GiveBack(status); }

const MS_CoreApi* CoreApi() {
  static const MS_CoreApi api = [] {
    MS_CoreApi table = RealCore();
    table.status_free = &StatusFree;
    return table;
  }();
  return &api;
}

std::atomic<int> registrations_until_failure{0};

const MS_RegistryApi& RealRegistry() {
  return *reinterpret_cast<const MS_RegistryApi*>(FindHostInterface(MS_REGISTRY_API));
}

MS_Status* KernelRegister(MS_Registrar* registrar, const MS_KernelDef* definition) {
  if (registrations_until_failure > 0 && --registrations_until_failure == 0) {
    return Give(errors::ResourceExhausted("the check refuses this registration on purpose"));
  }
  return Count(RealRegistry().kernel_register(registrar, definition));
}

const MS_RegistryApi* RegistryApi() {
  static const MS_RegistryApi api = [] {
    MS_RegistryApi table = RealRegistry();
    table.kernel_register = &KernelRegister;
    return table;
  }();
  return &api;
}

// ---- MS_HostBase --------------------------------------------------------------------------------

const MS_Table* GetInterface(const MS_HostBase*, const char* id) {
  if (id == nullptr) return nullptr;
  for (const MS_Table* table :
       {&CoreApi()->head, &RegistryApi()->head, &CheckCtxApi()->head, &CheckTensorApi()->head,
        &CheckResourceApi()->head, &CheckThreadsApi()->head, &CheckGradApi()->head,
        &CheckTraceApi()->head}) {
    if (std::strcmp(table->id, id) == 0) return table;
  }
  return FindHostInterface(id);
}

MS_Status* StatusMake(MS_Code code, MS_Str message) {
  const absl::string_view text = FromAbi(message);
  if (Printable(text) != text) {
    NoteMisuse("KERNEL-STATUS",
               absl::StrCat("a status has a message that is no text: ", Excerpt(text)));
  }
  return Count(MakeAbiStatus(code, text));
}

}  // namespace

const MS_HostBase* CheckHost() {
  static const MS_HostBase host = [] {
    MS_HostBase base = *HostBase();
    base.get_interface = &GetInterface;
    base.status_make = &StatusMake;
    return base;
  }();
  return &host;
}

size_t LiveStatuses() {
  Statuses& all = AllStatuses();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.live.size();
}

Status Take(MS_Status* status) {
  GiveBack(status);
  return status == nullptr ? absl::OkStatus() : status->status;
}

MS_Status* Give(const Status& status) { return Count(ToAbiStatus(status)); }

UncountedStatuses::UncountedStatuses() { are_uncounted = true; }

UncountedStatuses::~UncountedStatuses() { are_uncounted = false; }

int FailRegistration(int n) { return registrations_until_failure.exchange(n); }

}  // namespace millstream::plugin_check
