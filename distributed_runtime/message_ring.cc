#include "distributed_runtime/message_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>

namespace millstream {
namespace {

constexpr uint64_t kUnit = 8;  // messages begin at multiples of it
constexpr uint32_t kOneChange = RingHead::kSleepers + 1;

uint64_t Whole(uint64_t size) { return (size + kUnit - 1) / kUnit * kUnit; }

RingHead* HeadOf(char* memory) { return reinterpret_cast<RingHead*>(memory); }

// The futex is not private to the process: the kernel knows it by the shared memory that it is in.
void Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* limit,
           uint32_t who) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, limit, nullptr, who);
}

void WakeBits(std::atomic<uint32_t>* word, int count, uint32_t who) {
  Futex(word, FUTEX_WAKE_BITSET, static_cast<uint32_t>(count), nullptr, who);
}

}  // namespace

// ---- The writer ----

RingWriter::RingWriter(char* memory) : head_(*HeadOf(memory)), bytes_(memory + sizeof(RingHead)) {}

RingWriter::Result RingWriter::Write(absl::string_view message) {
  const uint64_t size = message.size();
  const uint64_t whole = Whole(sizeof(size) + size);
  const uint64_t used = written_ - head_.read.load(std::memory_order_acquire);
  if (used > RingHead::kBytes) return Result::kBroken;
  if (size > RingHead::kMostMessage || whole > RingHead::kBytes - used) return Result::kNoRoom;
  Copy(written_, reinterpret_cast<const char*>(&size), sizeof(size));
  Copy(written_ + sizeof(size), message.data(), size);
  written_ += whole;
  head_.written.store(written_, std::memory_order_seq_cst);
  return Result::kWritten;
}

void RingWriter::Copy(uint64_t to, const char* bytes, size_t size) {
  const uint64_t at = to % RingHead::kBytes;
  const size_t first = std::min<size_t>(size, RingHead::kBytes - at);
  std::memcpy(bytes_ + at, bytes, first);
  std::memcpy(bytes_, bytes + first, size - first);
}

void RingWriter::Wake() {
  if ((head_.sleeper.load(std::memory_order_seq_cst) & RingHead::kSleepers) == 0) return;
  const uint32_t before = head_.sleeper.fetch_and(~RingHead::kSleepers, std::memory_order_seq_cst);
  const uint32_t who = before & RingHead::kSleepers;
  if (who != 0) WakeBits(&head_.sleeper, 1, who);
}

// ---- The reader ----

RingReader::RingReader(char* memory) : head_(*HeadOf(memory)), bytes_(memory + sizeof(RingHead)) {}

StatusOr<bool> RingReader::Take(std::string* message) {
  const uint64_t read = read_.load(std::memory_order_relaxed);
  const uint64_t there = head_.written.load(std::memory_order_acquire) - read;
  if (there == 0) return false;
  uint64_t size = 0;
  const bool has_size = there <= RingHead::kBytes && there % kUnit == 0;
  if (has_size) Copy(read, reinterpret_cast<char*>(&size), sizeof(size));
  if (!has_size || size > there - sizeof(size)) {
    return errors::InvalidArgument("shared memory has bytes that are no message");
  }
  message->resize(size);
  Copy(read + sizeof(size), message->data(), size);
  const uint64_t next = read + Whole(sizeof(size) + size);
  read_.store(next, std::memory_order_relaxed);
  head_.read.store(next, std::memory_order_release);
  return true;
}

void RingReader::Copy(uint64_t from, char* out, size_t size) const {
  const uint64_t at = from % RingHead::kBytes;
  const size_t first = std::min<size_t>(size, RingHead::kBytes - at);
  std::memcpy(out, bytes_ + at, first);
  std::memcpy(out + first, bytes_, size - first);
}

bool RingReader::IsEmpty() const {
  return head_.written.load(std::memory_order_seq_cst) == read_.load(std::memory_order_relaxed);
}

// The writer may clear the bits at the same time.
uint32_t RingReader::SetSleeper(RingSleeper who) {
  uint32_t before = head_.sleeper.load(std::memory_order_relaxed);
  uint32_t number = 0;
  do {
    number = ((before & ~RingHead::kSleepers) + kOneChange) | static_cast<uint32_t>(who);
  } while (!head_.sleeper.compare_exchange_weak(before, number, std::memory_order_seq_cst));
  return number;
}

void RingReader::Sleep(RingSleeper who, uint32_t number, absl::Duration limit) {
  timespec end{};
  const bool has_limit = limit != absl::InfiniteDuration();
  if (has_limit) {
    clock_gettime(CLOCK_MONOTONIC, &end);
    end = absl::ToTimespec(absl::DurationFromTimespec(end) + limit);
  }
  Futex(&head_.sleeper, FUTEX_WAIT_BITSET, number, has_limit ? &end : nullptr,
        static_cast<uint32_t>(who));
}

void RingReader::Nudge() {
  head_.sleeper.fetch_add(kOneChange, std::memory_order_seq_cst);
  WakeBits(&head_.sleeper, 1, static_cast<uint32_t>(RingSleeper::kReader));
}

void RingReader::Rouse(uint32_t number) {
  const uint32_t next =
      ((number & ~RingHead::kSleepers) + kOneChange) | static_cast<uint32_t>(RingSleeper::kReader);
  if (!head_.sleeper.compare_exchange_strong(number, next, std::memory_order_seq_cst)) return;
  if (!IsEmpty()) Nudge();
}

void RingReader::WakeAll() {
  head_.sleeper.fetch_add(kOneChange, std::memory_order_seq_cst);
  WakeBits(&head_.sleeper, INT_MAX, RingHead::kSleepers);
}

}  // namespace millstream
