#include "framework/plugin/host_interfaces.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "framework/plugin/host_shape.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "framework/plugin/kernel_info.h"
#include "framework/plugin/plugin_text.h"
#include "framework/plugin/registrar.h"

namespace millstream {
namespace {

std::atomic<int32_t> log_level{MS_LOG_WARNING};

// Read by the crash handler, so a plain array.
struct Breadcrumb {
  char text[255];
  uint8_t size;
};
thread_local Breadcrumb breadcrumb = {};

// The thread's own, once it has set one. In a library that was opened while the process runs, the
// first use of a thread_local allocates, which a crash inside of malloc would wait for without end;
// this pointer is part of the thread from its start.
__thread const Breadcrumb* set_breadcrumb __attribute__((tls_model("initial-exec"))) = nullptr;

// ---- ms.core/1 ----------------------------------------------------------------------------------

MS_Code StatusCode(const MS_Status* status) {
  return status == nullptr ? MS_OK : static_cast<MS_Code>(status->status.code());
}
MS_Str StatusMessage(const MS_Status* status) {
  return status == nullptr ? MS_Str{nullptr, 0} : ToAbi(status->status.message());
}
void StatusFree(MS_Status* status) { delete status; }
void BufAppend(MS_Buf* buffer, MS_Bytes bytes) {
  buffer->bytes.append(static_cast<const char*>(bytes.data), bytes.size);
}
uint64_t NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}
void BreadcrumbSet(MS_Str text) { SetHostBreadcrumb(FromAbi(text)); }
void StatusAddPayload(MS_Status* status, MS_Str type, MS_Bytes payload) {
  if (status == nullptr) return;
  const absl::string_view bytes(static_cast<const char*>(payload.data), payload.size);
  status->status.SetPayload(FromAbi(type), absl::Cord(bytes));
}
void Log(int32_t level, MS_Str message) { HostLog(level, Printable(FromAbi(message))); }
uint8_t LogEnabled(int32_t level) {
  return level >= log_level.load(std::memory_order_relaxed) ? 1 : 0;
}

// Stores strings that were returned to plugins. They are never freed, also if the environment
// changes.
absl::string_view KeepText(absl::string_view text) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const texts = new std::set<std::string, std::less<>>;
  absl::MutexLock lock(&mutex);
  return *texts->emplace(text).first;
}

uint8_t EnvGet(MS_Str name, MS_Str* out) {
  const std::string variable(FromAbi(name));
  const bool is_ours = absl::StartsWith(variable, "MILLSTREAM_");
  const char* const value = is_ours ? std::getenv(variable.c_str()) : nullptr;
  if (value == nullptr) return 0;
  *out = ToAbi(KeepText(value));
  return 1;
}

constexpr MS_CoreApi kCoreApi = {
    {sizeof(MS_CoreApi), 1, MS_ABI_MINOR, MS_CORE_API},
    &StatusCode,
    &StatusMessage,
    &StatusFree,
    &BufAppend,
    &NowNs,
    &BreadcrumbSet,
    &StatusAddPayload,
    &Log,
    &LogEnabled,
    &EnvGet,
};

// ---- Interfaces by id ---------------------------------------------------------------------------

struct Interfaces {
  Interfaces() {
    for (const MS_Table* table : {&kCoreApi.head, RegistryInterface(), KernelInterface(),
                                  ShapeInterface(), TensorInterface()}) {
      tables.emplace(table->id, table);
    }
  }
  static Interfaces* Global() {
    static Interfaces* const interfaces = new Interfaces;
    return interfaces;
  }

  absl::Mutex mutex;
  absl::flat_hash_map<std::string, const MS_Table*> tables ABSL_GUARDED_BY(mutex);
};

// ---- MS_HostBase --------------------------------------------------------------------------------

const MS_Table* GetInterface(const MS_HostBase*, const char* id) {
  return id == nullptr ? nullptr : FindHostInterface(id);
}
void LogForPlugin(const MS_HostBase*, int32_t level, MS_Str message) {
  HostLog(level, Printable(FromAbi(message)));
}
MS_Status* StatusMake(MS_Code code, MS_Str message) {
  return MakeAbiStatus(code, FromAbi(message));
}

constexpr uint32_t HostFlags() {
  uint32_t flags = 0;
  if (MS_BUILT_SANITIZER != 0) flags |= MS_HOST_SANITIZER;
#ifndef NDEBUG
  flags |= MS_HOST_DEBUG;
#endif
  return flags;
}

constexpr MS_HostBase kHostBase = {
    MS_HOST_MAGIC,
    sizeof(MS_HostBase),
    MS_ABI_MAJOR,
    MS_ABI_MINOR,
    HostFlags(),
    0,
    {kHostVersion, sizeof(kHostVersion) - 1},
    &GetInterface,
    &StatusMake,
    &LogForPlugin,
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

const MS_HostBase* HostBase() { return &kHostBase; }

Status RegisterHostInterface(const MS_Table* table) {
  Interfaces* interfaces = Interfaces::Global();
  absl::MutexLock lock(&interfaces->mutex);
  auto [entry, added] = interfaces->tables.emplace(table->id, table);
  if (!added && entry->second != table) {
    return errors::AlreadyExists("host interface ", table->id, " has a table already");
  }
  return absl::OkStatus();
}

const MS_Table* FindHostInterface(absl::string_view id) {
  Interfaces* interfaces = Interfaces::Global();
  absl::MutexLock lock(&interfaces->mutex);
  auto entry = interfaces->tables.find(id);
  return entry == interfaces->tables.end() ? nullptr : entry->second;
}

void SetHostLogLevel(int32_t level) { log_level.store(level, std::memory_order_relaxed); }

void HostLog(int32_t level, absl::string_view message) {
  if (level < log_level.load(std::memory_order_relaxed)) return;
  const char* name = level >= MS_LOG_ERROR     ? "error"
                     : level == MS_LOG_WARNING ? "warning"
                     : level == MS_LOG_INFO    ? "info"
                                               : "debug";
  const std::string line = absl::StrCat("millstream ", name, ": ", message, "\n");
  // One write, so that lines of several threads do not mix. An error cannot be reported.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

void SetHostBreadcrumb(absl::string_view text) {
  const size_t size = std::min(text.size(), sizeof(breadcrumb.text));
  // A crash in between finds no text rather than half of one.
  breadcrumb.size = 0;
  if (size > 0) std::memcpy(breadcrumb.text, text.data(), size);
  breadcrumb.size = static_cast<uint8_t>(size);
  set_breadcrumb = &breadcrumb;
}

absl::string_view HostBreadcrumb() {
  const Breadcrumb* const set = set_breadcrumb;
  return set == nullptr ? absl::string_view() : absl::string_view(set->text, set->size);
}

}  // namespace millstream
