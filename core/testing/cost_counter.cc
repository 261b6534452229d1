// Redefines the functions that are counted. The dynamic linker prefers the program's definitions to
// those of shared libraries, also for calls from the libraries.
#include "core/testing/cost_counter.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/base/config.h"
#include "absl/container/flat_hash_map.h"
#include "absl/debugging/symbolize.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"

// glibc's own names of the functions that are defined below.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace millstream {
namespace {

constexpr int kMaxFrames = 24;

struct Event {
  const char* what;
  std::array<void*, kMaxFrames> frames;
  int num_frames;
};

struct Record {
  bool counting = false;
  int count = 0;
  std::array<Event, CostCounter::kMaxEvents> events;
};

// A thread's record, made by its first counter; null while there was none.
thread_local Record* record = nullptr;

// Neither allocates nor locks: unwinding was warmed up by the counter.
void Note(const char* what) {
  Record* const mine = record;
  if (mine == nullptr || !mine->counting) return;
  mine->counting = false;
  if (mine->count++ < CostCounter::kMaxEvents) {
    Event& event = mine->events[mine->count - 1];
    event.what = what;
    event.num_frames = backtrace(event.frames.data(), kMaxFrames);
  }
  mine->counting = true;
}

// The definition that this program's replaces.
template <typename Function>
Function* Next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

// The same for a method of absl::Mutex, whose mangled name holds that of Abseil's version.
void (*NextOfMutex(const char* method))(absl::Mutex*) {
  constexpr char kVersion[] = ABSL_INTERNAL_TOKEN_STR(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  char name[128];
  std::snprintf(name, sizeof(name), "_ZN4absl%zu%s5Mutex%zu%sEv", std::strlen(kVersion), kVersion,
                std::strlen(method), method);
  return Next<void(absl::Mutex*)>(name);
}

const char* FileName(const char* path) {
  const char* name = path;
  for (const char* p = path; *p != 0; ++p) {
    if (*p == '/') name = p + 1;
  }
  return name;
}

bool IsGeneralLibrary(absl::string_view file) {
  for (const char* name : {"libc.so", "libstdc++", "libabsl_", "libgcc_s", "ld-linux"}) {
    if (absl::StrContains(file, name)) return true;
  }
  return false;
}

bool IsBackend(absl::string_view file) {
  for (const char* name : {"millstream_cpu", "libdnnl", "libgomp"}) {
    if (absl::StrContains(file, name)) return true;
  }
  return false;
}

std::string FunctionAt(void* address) {
  char name[512];
  const bool found = absl::Symbolize(static_cast<char*>(address) - 1, name, sizeof(name));
  return found ? name : "?";
}

// What stands at an address of code.
struct Place {
  std::string text;
  bool general = false;
  bool backend = false;
};

const Place& PlaceOf(void* address, absl::flat_hash_map<void*, Place>* known) {
  auto [found, is_new] = known->try_emplace(address);
  Place& place = found->second;
  if (!is_new) return place;
  Dl_info info = {};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    place.general = true;
    return place;
  }
  const char* const file = FileName(info.dli_fname);
  const std::string function = FunctionAt(address);
  place.text = absl::StrCat(file, ": ", function);
  place.general = IsGeneralLibrary(file) || absl::StartsWith(function, "absl::") ||
                  absl::StartsWith(function, "std::");
  place.backend = IsBackend(file);
  return place;
}

// Who caused the event, and whether that is a backend.
std::string Cause(const Event& event, absl::flat_hash_map<void*, Place>* known, bool* backend) {
  // The first frames are Note and the replaced function.
  for (int i = 2; i < event.num_frames; ++i) {
    const Place& place = PlaceOf(event.frames[i], known);
    if (place.general) continue;
    *backend = place.backend;
    return absl::StrCat(event.what, " by ", place.text);
  }
  *backend = false;
  return absl::StrCat(event.what, " by somebody unknown");
}

}  // namespace

CostCounter::CostCounter() {
  if (record == nullptr) record = new Record();
  std::array<void*, 4> frames;
  backtrace(frames.data(), frames.size());  // loads the unwinder, which allocates
  record->count = 0;
  record->counting = true;
}

CostCounter::~CostCounter() { record->counting = false; }

CostCounter::Events CostCounter::Finish() {
  record->counting = false;
  EXPECT_LE(record->count, kMaxEvents) << "too many events to attribute";
  Events events;
  absl::flat_hash_map<void*, Place> known;
  for (int i = 0; i < std::min(record->count, kMaxEvents); ++i) {
    bool backend = false;
    std::string cause = Cause(record->events[i], &known, &backend);
    (backend ? events.backend : events.runtime).push_back(std::move(cause));
  }
  return events;
}

}  // namespace millstream

extern "C" {

void* malloc(size_t size) {
  millstream::Note("malloc");
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  millstream::Note("calloc");
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, size_t size) {
  millstream::Note("realloc");
  return __libc_realloc(pointer, size);
}
void* memalign(size_t alignment, size_t size) {
  millstream::Note("memalign");
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  millstream::Note("aligned_alloc");
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** pointer, size_t alignment, size_t size) {
  millstream::Note("posix_memalign");
  *pointer = __libc_memalign(alignment, size);
  return *pointer == nullptr ? ENOMEM : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const next = millstream::Next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  millstream::Note("pthread_mutex_lock");
  return next(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static auto* const next = millstream::Next<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  millstream::Note("pthread_rwlock_rdlock");
  return next(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static auto* const next = millstream::Next<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  millstream::Note("pthread_rwlock_wrlock");
  return next(lock);
}

}  // extern "C"

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const next = millstream::NextOfMutex("Lock");
  millstream::Note("absl::Mutex::Lock");
  next(this);
}
void Mutex::ReaderLock() {
  static auto* const next = millstream::NextOfMutex("ReaderLock");
  millstream::Note("absl::Mutex::ReaderLock");
  next(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
