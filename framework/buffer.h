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
#include "framework/status.h"

namespace millstream {

// The memory of a buffer's bytes.
enum class MemorySpace : uint8_t {
  kHost,    // in the process's own memory
  kPinned,  // host memory that belongs to a device, for copies; it is freed with the device, so it
            // never leaves a step
  kDevice,  // in a device's memory: `data` is an address that only the device can use, or a handle
            // of its plugin (Buffer::is_opaque)
};

// Has an intrusive reference count. Counting is thread-safe. Writers must synchronize access to the
// bytes.
class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // The address of the bytes. The first call writes the elements of a NewRepeatedBuffer.
  void* data() const {
    if (!is_filled_.load(std::memory_order_acquire)) Fill();
    return data_;
  }
  size_t size() const { return size_; }  // bytes
  void Ref() const { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // True if the caller holds the only reference.
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }
  // False for borrowed memory (a fed array), which must not be written.
  bool writable() const { return writable_; }
  MemorySpace space() const { return space_; }
  // The ordinal of the device whose memory it is; 0 for host memory.
  uint32_t device_ordinal() const { return device_ordinal_; }

  // ---- Memory of a device; host memory has the defaults ----
  // True if data() is a handle of the plugin and no address. The bytes begin at `handle_offset`
  // within the memory of the handle.
  bool is_opaque() const { return is_opaque_; }
  size_t handle_offset() const { return handle_offset_; }
  // The number by which DLPack knows the kind of memory (DLDeviceType); 0: it does not.
  virtual int32_t dlpack_device_type() const { return 0; }
  // Waits until the device has completed the work that may still write the bytes.
  virtual Status AwaitWritten() const { return absl::OkStatus(); }

  // For a NewRepeatedBuffer before the first call of data(): the bytes of its element, which live
  // as long as the buffer. Otherwise empty.
  absl::string_view repeated_element() const {
    return is_filled_.load(std::memory_order_acquire) ? absl::string_view() : Element();
  }

 protected:
  Buffer(void* data, size_t size, bool writable, MemorySpace space = MemorySpace::kHost,
         uint32_t device_ordinal = 0)
      : data_(data),
        size_(size),
        writable_(writable),
        space_(space),
        device_ordinal_(device_ordinal) {}
  // Of a device, `offset` bytes into the memory of the handle `base`, or at the address `base`.
  Buffer(void* base, size_t offset, bool is_opaque, size_t size, bool writable,
         uint32_t device_ordinal)
      : data_(base),
        size_(size),
        writable_(writable),
        space_(MemorySpace::kDevice),
        is_opaque_(is_opaque),
        device_ordinal_(device_ordinal),
        handle_offset_(offset) {}
  virtual ~Buffer() = default;
  // The address, without filling the buffer.
  void* memory() const { return data_; }
  // Fills the buffer when data() is first called, and returns the repeated element.
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
  const bool is_opaque_ = false;
  const uint32_t device_ordinal_;
  const size_t handle_offset_ = 0;
};

// Owns one reference to a Buffer.
class BufferRef {
 public:
  BufferRef() = default;
  // Takes over the reference of the creator.
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

// Allocates `count` elements of `dtype`. Strings are empty, plain data is not initialized. Null if
// memory is exhausted.
BufferRef NewBuffer(Allocator* allocator, DataType dtype, int64_t count);
// Allocates `count` elements of plain data, each with the bytes of `element`. Null if memory is
// exhausted. The memory is written when data() is first called, and uses no pages before.
// REQUIRES: IsPlainData(dtype), and `element` has its size.
BufferRef NewRepeatedBuffer(Allocator* allocator, DataType dtype, int64_t count,
                            absl::string_view element);
// A buffer on memory of the caller. `release` runs when the last reference is released.
BufferRef BorrowBuffer(void* data, size_t size, bool writable, std::function<void()> release);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_BUFFER_H_
