#include "framework/buffer.h"

#include <limits>
#include <memory>
#include <string>

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

 private:
  ~OwnedBuffer() override {
    switch (dtype_) {
      case DataType::kString: std::destroy_n(static_cast<std::string*>(data()), count_); break;
      case DataType::kResource:
      case DataType::kVariant: std::destroy_n(static_cast<OpaqueCell*>(data()), count_); break;
      default: break;
    }
    allocator_->Deallocate(data(), size());
  }

  Allocator* const allocator_;
  const DataType dtype_;
  const int64_t count_;
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

}  // namespace

BufferRef NewBuffer(Allocator* allocator, DataType dtype, int64_t count) {
  const size_t element = DataTypeSize(dtype);
  if (element == 0 || count < 0 ||
      static_cast<uint64_t>(count) > std::numeric_limits<size_t>::max() / element) {
    return BufferRef();
  }
  const size_t size = count * element;
  void* data = allocator->Allocate(size);
  if (data == nullptr) return BufferRef();
  return BufferRef::Adopt(new OwnedBuffer(allocator, dtype, count, data, size));
}

BufferRef BorrowBuffer(void* data, size_t size, bool writable, std::function<void()> release) {
  return BufferRef::Adopt(new BorrowedBuffer(data, size, writable, std::move(release)));
}

}  // namespace millstream
