#include "framework/plugin/check/frame_page.h"

#include <sys/mman.h>

namespace millstream::plugin_check {
namespace {

constexpr size_t kBytes = 64 << 10;

}  // namespace

FramePage::FramePage() {
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  start_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

void* FramePage::Room(size_t bytes) {
  const size_t rounded = (bytes + 15) / 16 * 16;
  if (start_ == nullptr || used_ + rounded > kBytes) return nullptr;
  void* const room = start_ + used_;
  used_ += rounded;
  return room;
}

void FramePage::Close() {
  if (start_ == nullptr) return;
  // The range stays reserved, without memory.
  madvise(start_, kBytes, MADV_DONTNEED);
  mprotect(start_, kBytes, PROT_NONE);
  start_ = nullptr;
}

}  // namespace millstream::plugin_check
