// A reference-counted piece of memory that tensors view.
#ifndef MILLSTREAM_FRAMEWORK_BUFFER_H_
#define MILLSTREAM_FRAMEWORK_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "framework/allocator.h"
#include "framework/dtype.h"

namespace millstream {

// Where a buffer's bytes are.
enum class MemorySpace : uint8_t {
  kHost,    // in the process's own memory
  kPinned,  // likewise, but it belongs to a device, which copies from and to it; it goes with the
            // device, so it never leaves a step
  kDevice,  // in a device's memory: `data` is an address that only the device can use
};

// Intrusively counted. Counting is thread-safe; the bytes are guarded by whoever writes them.
class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Writes what is still to be written, see NewRepeatedBuffer.
  void* data() const {
    if (!is_filled_.load(std::memory_order_acquire)) Fill();
    return data_;
  }
  size_t size() const { return size_; }  // bytes
  void Ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // True when the caller holds the only reference.
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }
  // False for memory of somebody else (a fed array), which is never written.
  bool writable() const { return writable_; }
  MemorySpace space() const { return space_; }
  // The bytes of the element that all elements equal, as long as nobody has asked for data(); empty
  // for other buffers. They live as long as the buffer.
  absl::string_view repeated_element() const {
    return is_filled_.load(std::memory_order_acquire) ? absl::string_view() : Element();
  }

 protected:
  Buffer(void* data, size_t size, bool writable, MemorySpace space = MemorySpace::kHost)
      : data_(data), size_(size), writable_(writable), space_(space) {}
  virtual ~Buffer() = default;
  // The memory as it is.
  void* memory() const { return data_; }
  // Of a buffer that is filled when data() is first asked for.
  virtual void Fill() const {}
  virtual absl::string_view Element() const { return absl::string_view(); }
  bool is_filled() const { return is_filled_.load(std::memory_order_acquire); }
  void set_filled(bool filled) const { is_filled_.store(filled, std::memory_order_release); }

 private:
  mutable std::atomic<int32_t> references_{1};
  mutable std::atomic<bool> is_filled_{true};
  void* const data_;
  const size_t size_;
  const bool writable_;
  const MemorySpace space_;
};

// Owns one reference to a Buffer.
class BufferRef {
 public:
  BufferRef() = default;
  // Takes over the reference that the creator holds.
  static BufferRef Adopt(Buffer* buffer) {
    BufferRef ref;
    ref.buffer_ = buffer;
    return ref;
  }
  BufferRef(const BufferRef& other) : buffer_(other.buffer_) {
    if (buffer_ != nullptr) buffer_->Ref();
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr) buffer_->Unref();
  }
  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

// `count` elements of `dtype` from `allocator` (strings are constructed empty); null when there is
// no memory. The memory of plain data is not cleared.
BufferRef NewBuffer(Allocator* allocator, DataType dtype, int64_t count);
// `count` elements of plain data, each with the bytes of `element`; null when there is no memory.
// The memory is taken at once and written when data() is first asked for: until then it costs no
// pages.
// REQUIRES: IsPlainData(dtype), and `element` has its size.
BufferRef NewRepeatedBuffer(Allocator* allocator, DataType dtype, int64_t count,
                            absl::string_view element);
// Memory of somebody else; `release` runs when the last reference goes.
BufferRef BorrowBuffer(void* data, size_t size, bool writable, std::function<void()> release);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_BUFFER_H_
