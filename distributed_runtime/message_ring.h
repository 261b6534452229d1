// A queue of messages in memory that two processes share, from one of them to the other.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_MESSAGE_RING_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_MESSAGE_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "framework/status.h"

namespace millstream {

// Who sleeps until a message comes. Each is a bit, so that each can be woken alone.
enum class RingSleeper : uint32_t { kNobody = 0, kReader = 1, kHelper = 2 };

// What both processes see. Behind it are `kBytes` bytes, which are used round and round. A message
// is its size (8 bytes), its bytes, and what is missing to a multiple of 8.
//
// Memory order. The writer copies a message and then stores `written`; the reader loads `written`
// and then copies the message (release and acquire). The reader stores `read` when it has the copy,
// and the writer loads `read` before it writes there again (release and acquire).
// Who goes to sleep stores `sleeper` and then loads `written`; the writer stores `written` and then
// loads `sleeper`. These four are sequentially consistent, so that one of both sees the other: no
// message waits for a sleeper that nobody wakes. The counter in `sleeper` grows with each change by
// the reader's process, so that a sleeper that comes too late finds another number and stays awake.
struct RingHead {
  static constexpr uint64_t kBytes = uint64_t{256} << 10;
  // Longer ones take another way: they would leave no room for others.
  static constexpr uint64_t kMostMessage = kBytes / 2;
  static constexpr uint32_t kSleepers = 3;  // the bits of RingSleeper; above them a counter

  alignas(64) std::atomic<uint64_t> written;  // bytes, since the beginning
  alignas(64) std::atomic<uint64_t> read;     // likewise
  alignas(64) std::atomic<uint32_t> sleeper;  // a futex
};
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

// The size of the memory of a ring, which begins with zeros.
constexpr size_t kRingSize = sizeof(RingHead) + RingHead::kBytes;

// The end that writes. One thread at a time, but for Wake, which is thread-safe.
class RingWriter {
 public:
  // REQUIRES: the memory, of kRingSize bytes at a multiple of 64, outlives the object.
  explicit RingWriter(char* memory);

  enum class Result {
    kWritten,
    kNoRoom,  // at the moment, or ever: the message is too long
    kBroken,  // the reader has written into the head what cannot be
  };
  // Call Wake afterwards.
  Result Write(absl::string_view message);
  // Wakes who sleeps. A system call only if somebody does.
  void Wake();

 private:
  void Copy(uint64_t to, const char* bytes, size_t size);

  RingHead& head_;
  char* const bytes_;
  uint64_t written_ = 0;  // the head's number, which the other process could change
};

// The end that reads. Take and SetSleeper are for one thread at a time, the rest is thread-safe.
class RingReader {
 public:
  // As RingWriter.
  explicit RingReader(char* memory);

  // Copies the next message. False: there is none. INVALID_ARGUMENT if what the writer wrote is no
  // message.
  StatusOr<bool> Take(std::string* message);
  bool IsEmpty() const;
  // Says who sleeps from now on. Returns the number for Sleep. A thread that is about to sleep
  // calls it, then IsEmpty, then Sleep.
  uint32_t SetSleeper(RingSleeper who);
  // The number for Sleep of a thread that does not say who sleeps.
  uint32_t sleeper() const { return head_.sleeper.load(std::memory_order_seq_cst); }
  // Sleeps until who is woken, `limit` at the longest; not at all if the number is not the present
  // one. May also return without a reason.
  void Sleep(RingSleeper who, uint32_t number, absl::Duration limit);
  // Wakes a reader of this process, or makes one that is about to sleep stay awake.
  void Nudge();
  // After SetSleeper(kNobody), whose result is `number`, and while nobody reads: says that a reader
  // sleeps, and nudges it if there is a message. Does nothing if the number is not the present one:
  // who has changed it looks for messages.
  void Rouse(uint32_t number);
  // The same for all sleepers.
  void WakeAll();

 private:
  void Copy(uint64_t from, char* out, size_t size) const;

  RingHead& head_;
  const char* const bytes_;
  std::atomic<uint64_t> read_{0};  // as RingWriter's
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_MESSAGE_RING_H_
