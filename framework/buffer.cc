#include "framework/buffer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "framework/opaque_cell.h"

namespace millstream {
namespace {

class OwnedBuffer : public Buffer {
 public:
  OwnedBuffer(Allocator* allocator, DataType dtype, int64_t count, void* data, size_t size)
      : Buffer(data, size, /*writable=*/true), allocator_(allocator), dtype_(dtype), count_(count) {
    switch (dtype_) {
      case DataType::kString:
        std::uninitialized_default_construct_n(static_cast<std::string*>(data), count_);
        break;
      case DataType::kResource:
      case DataType::kVariant:
        std::uninitialized_default_construct_n(static_cast<OpaqueCell*>(data), count_);
        break;
      default: break;
    }
  }

 protected:
  ~OwnedBuffer() override {
    switch (dtype_) {
      case DataType::kString: std::destroy_n(static_cast<std::string*>(memory()), count_); break;
      case DataType::kResource:
      case DataType::kVariant: std::destroy_n(static_cast<OpaqueCell*>(memory()), count_); break;
      default: break;
    }
    allocator_->Deallocate(memory(), size());
  }

 private:
  Allocator* const allocator_;
  const DataType dtype_;
  const int64_t count_;
};

// Copies of one element, which are written when data() is first called.
class RepeatedBuffer : public OwnedBuffer {
 public:
  RepeatedBuffer(Allocator* allocator, DataType dtype, int64_t count, void* data, size_t size,
                 absl::string_view element)
      : OwnedBuffer(allocator, dtype, count, data, size), element_(element) {
    set_filled(false);
  }

 private:
  ~RepeatedBuffer() override = default;
  absl::string_view Element() const override { return element_; }

  void Fill() const override {
    absl::MutexLock lock(&mutex_);
    if (is_filled()) return;
    char* const bytes = static_cast<char*>(memory());
    // What is written so far is the source of what follows, up to what caches hold.
    constexpr size_t kLongestCopy = size_t{1} << 18;
    size_t written = element_.copy(bytes, std::min(element_.size(), size()));
    while (written < size()) {
      const size_t more = std::min({written, kLongestCopy, size() - written});
      std::memcpy(bytes + written, bytes, more);
      written += more;
    }
    set_filled(true);
  }

  const std::string element_;
  mutable absl::Mutex mutex_;  // who fills
};

class BorrowedBuffer : public Buffer {
 public:
  BorrowedBuffer(void* data, size_t size, bool writable, std::function<void()> release)
      : Buffer(data, size, writable), release_(std::move(release)) {}

 private:
  ~BorrowedBuffer() override {
    if (release_) release_();
  }

  const std::function<void()> release_;
};

struct Memory {
  void* data = nullptr;
  size_t size = 0;
};

// Null where there is none, or where the size is no number.
Memory Allocate(Allocator* allocator, DataType dtype, int64_t count) {
  const size_t element = DataTypeSize(dtype);
  if (element == 0 || count < 0 ||
      static_cast<uint64_t>(count) > std::numeric_limits<size_t>::max() / element) {
    return Memory();
  }
  return Memory{allocator->Allocate(count * element), count * element};
}

}  // namespace

BufferRef NewBuffer(Allocator* allocator, DataType dtype, int64_t count) {
  const Memory memory = Allocate(allocator, dtype, count);
  if (memory.data == nullptr) return BufferRef();
  return BufferRef::Adopt(new OwnedBuffer(allocator, dtype, count, memory.data, memory.size));
}

BufferRef NewRepeatedBuffer(Allocator* allocator, DataType dtype, int64_t count,
                            absl::string_view element) {
  assert(IsPlainData(dtype) && element.size() == DataTypeSize(dtype));
  const Memory memory = Allocate(allocator, dtype, count);
  if (memory.data == nullptr) return BufferRef();
  return BufferRef::Adopt(
      new RepeatedBuffer(allocator, dtype, count, memory.data, memory.size, element));
}

BufferRef BorrowBuffer(void* data, size_t size, bool writable, std::function<void()> release) {
  return BufferRef::Adopt(new BorrowedBuffer(data, size, writable, std::move(release)));
}

}  // namespace millstream
