// The bytes of a request or a response: a list of slices, so that the elements of tensors go in and
// out without copies.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_PAYLOAD_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_PAYLOAD_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "framework/buffer.h"
#include "framework/status.h"

namespace millstream {

// Some bytes of a buffer.
struct Slice {
  const char* data = nullptr;
  size_t size = 0;
  BufferRef owner;  // keeps the bytes alive
};

class Payload {
 public:
  Payload() = default;

  void Append(Slice slice) {
    size_ += slice.size;
    if (slice.size > 0) slices_.push_back(std::move(slice));
  }
  void Append(std::string bytes);
  const std::vector<Slice>& slices() const { return slices_; }
  size_t size() const { return size_; }  // of all slices

 private:
  std::vector<Slice> slices_;
  size_t size_ = 0;
};

// Reads a payload from its beginning. A transport may have cut it into other slices.
class PayloadReader {
 public:
  explicit PayloadReader(Payload payload) : payload_(std::move(payload)) {}

  size_t left() const { return payload_.size() - read_; }
  // INVALID_ARGUMENT if fewer bytes are left.
  Status Read(char* out, size_t size);
  // The next slice if it has exactly this size, and goes past it; else null. It is valid as long as
  // the reader.
  const Slice* TakeSlice(size_t size);

 private:
  Payload payload_;
  size_t slice_ = 0;   // of the next byte
  size_t offset_ = 0;  // in that slice
  size_t read_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_PAYLOAD_H_
