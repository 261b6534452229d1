// Tells ThreadSanitizer what Debian's Abseil does, whose libraries are not compiled for it: without
// this it sees neither that a mutex was locked nor that a notification was waited for, and reports
// what they guard. The functions stand before those of Abseil's library, call them, and add the
// annotations of <sanitizer/tsan_interface.h>. Linked by --config=tsan only.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <mutex>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

// Names of Abseil's functions as the linker sees them, in the inline namespace of its release.
#define MS_TEXT_OF(name) #name
#define MS_TEXT(name) MS_TEXT_OF(name)
#define MS_MANGLED(prefix, rest) prefix "4absl7" MS_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME) rest
static_assert(sizeof(MS_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME)) == 8, "the 7 above");

namespace millstream {
namespace {

constexpr unsigned kMutex = __tsan_mutex_linker_init;
constexpr unsigned kReader = __tsan_mutex_linker_init | __tsan_mutex_read_lock;

// The function behind the one of this file.
template <typename Function>
Function* Behind(const char* mangled) {
  void* const found = dlsym(RTLD_NEXT, mangled);
  if (found == nullptr) __builtin_trap();
  return reinterpret_cast<Function*>(found);
}

// Around what unlocks and locks again: Await, CondVar::Wait. The lock held is taken for a writer's,
// which all are that wait here. Between pre_unlock and post_unlock accesses do not count: whoever
// unlocks or waits evaluates conditions there, of other threads too, with the mutex locked indeed.
class Unlocked {
 public:
  explicit Unlocked(absl::Mutex* mutex) : mutex_(mutex) { __tsan_mutex_pre_unlock(mutex_, kMutex); }
  ~Unlocked() {
    __tsan_mutex_post_unlock(mutex_, kMutex);
    __tsan_mutex_pre_lock(mutex_, kMutex);
    __tsan_mutex_post_lock(mutex_, kMutex, 0);
  }

 private:
  absl::Mutex* const mutex_;
};

// The flag that Notification::HasBeenNotified reads, behind the mutex.
void* FlagOf(const absl::Notification* notification) {
  const char* const object = reinterpret_cast<const char*>(notification);
  return const_cast<char*>(object) + sizeof(absl::Mutex);
}

}  // namespace
}  // namespace millstream

using millstream::Behind;

namespace absl {
ABSL_NAMESPACE_BEGIN

// Counts there who still holds an error. Who deletes it comes after all that let go of it; a lock
// says so, since between the count and the deletion nothing can be said.
void Status::UnrefNonInlined(uintptr_t rep) {
  static auto* const unref =
      Behind<void(uintptr_t)>(MS_MANGLED("_ZN", "6Status15UnrefNonInlinedEm"));
  static std::recursive_mutex mutex;
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  unref(rep);
}

// Its constructor is in the header, and tells.
Mutex::~Mutex() {
  static auto* const destroy = Behind<void(Mutex*)>(MS_MANGLED("_ZN", "5MutexD1Ev"));
  __tsan_mutex_destroy(this, __tsan_mutex_not_static);
  destroy(this);
}

void Mutex::Lock() {
  static auto* const lock = Behind<void(Mutex*)>(MS_MANGLED("_ZN", "5Mutex4LockEv"));
  __tsan_mutex_pre_lock(this, millstream::kMutex);
  lock(this);
  __tsan_mutex_post_lock(this, millstream::kMutex, 0);
}

void Mutex::Unlock() {
  static auto* const unlock = Behind<void(Mutex*)>(MS_MANGLED("_ZN", "5Mutex6UnlockEv"));
  __tsan_mutex_pre_unlock(this, millstream::kMutex);
  unlock(this);
  __tsan_mutex_post_unlock(this, millstream::kMutex);
}

void Mutex::LockWhen(const Condition& condition) {
  static auto* const lock = Behind<void(Mutex*, const Condition&)>(
      MS_MANGLED("_ZN", "5Mutex8LockWhenERKNS0_9ConditionE"));
  __tsan_mutex_pre_lock(this, millstream::kMutex);
  lock(this, condition);
  __tsan_mutex_post_lock(this, millstream::kMutex, 0);
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  return LockWhenWithDeadline(condition, Now() + timeout);
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  static auto* const lock = Behind<bool(Mutex*, const Condition&, Time)>(
      MS_MANGLED("_ZN", "5Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE"));
  __tsan_mutex_pre_lock(this, millstream::kMutex);
  const bool is_true = lock(this, condition, deadline);
  __tsan_mutex_post_lock(this, millstream::kMutex, 0);
  return is_true;
}

bool Mutex::TryLock() {
  static auto* const try_lock = Behind<bool(Mutex*)>(MS_MANGLED("_ZN", "5Mutex7TryLockEv"));
  __tsan_mutex_pre_lock(this, millstream::kMutex | __tsan_mutex_try_lock);
  const bool locked = try_lock(this);
  const unsigned failed = locked ? 0 : __tsan_mutex_try_lock_failed;
  __tsan_mutex_post_lock(this, millstream::kMutex | __tsan_mutex_try_lock | failed, 0);
  return locked;
}

void Mutex::ReaderLock() {
  static auto* const lock = Behind<void(Mutex*)>(MS_MANGLED("_ZN", "5Mutex10ReaderLockEv"));
  __tsan_mutex_pre_lock(this, millstream::kReader);
  lock(this);
  __tsan_mutex_post_lock(this, millstream::kReader, 0);
}

void Mutex::ReaderUnlock() {
  static auto* const unlock = Behind<void(Mutex*)>(MS_MANGLED("_ZN", "5Mutex12ReaderUnlockEv"));
  __tsan_mutex_pre_unlock(this, millstream::kReader);
  unlock(this);
  __tsan_mutex_post_unlock(this, millstream::kReader);
}

void Mutex::Await(const Condition& condition) {
  static auto* const await =
      Behind<void(Mutex*, const Condition&)>(MS_MANGLED("_ZN", "5Mutex5AwaitERKNS0_9ConditionE"));
  const millstream::Unlocked unlocked(this);
  await(this, condition);
}

bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  return AwaitWithDeadline(condition, Now() + timeout);
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static auto* const await = Behind<bool(Mutex*, const Condition&, Time)>(
      MS_MANGLED("_ZN", "5Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE"));
  const millstream::Unlocked unlocked(this);
  return await(this, condition, deadline);
}

void CondVar::Wait(Mutex* mutex) {
  static auto* const wait =
      Behind<void(CondVar*, Mutex*)>(MS_MANGLED("_ZN", "7CondVar4WaitEPNS0_5MutexE"));
  const millstream::Unlocked unlocked(mutex);
  wait(this, mutex);
}

bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  return WaitWithDeadline(mutex, Now() + timeout);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const wait = Behind<bool(CondVar*, Mutex*, Time)>(
      MS_MANGLED("_ZN", "7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"));
  const millstream::Unlocked unlocked(mutex);
  return wait(this, mutex, deadline);
}

void Notification::Notify() {
  static auto* const notify =
      Behind<void(Notification*)>(MS_MANGLED("_ZN", "12Notification6NotifyEv"));
  __tsan_release(millstream::FlagOf(this));
  notify(this);
}

void Notification::WaitForNotification() const {
  static auto* const wait = Behind<void(const Notification*)>(
      MS_MANGLED("_ZNK", "12Notification19WaitForNotificationEv"));
  wait(this);
  __tsan_acquire(millstream::FlagOf(this));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  return WaitForNotificationWithDeadline(Now() + timeout);
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  static auto* const wait = Behind<bool(const Notification*, Time)>(
      MS_MANGLED("_ZNK", "12Notification31WaitForNotificationWithDeadlineENS0_4TimeE"));
  const bool notified = wait(this, deadline);
  if (notified) __tsan_acquire(millstream::FlagOf(this));
  return notified;
}

ABSL_NAMESPACE_END
}  // namespace absl
