#include "distributed_runtime/payload.h"

#include <algorithm>
#include <cstring>

#include "distributed_runtime/streamed_copy.h"

namespace millstream {

void Payload::Append(std::string bytes) {
  auto* const kept = new std::string(std::move(bytes));
  Slice slice;
  slice.data = kept->data();
  slice.size = kept->size();
  slice.owner = BorrowBuffer(kept->data(), kept->size(), false, [kept] { delete kept; });
  Append(std::move(slice));
}

Status PayloadReader::Read(char* out, size_t size) {
  if (size > left()) {
    return errors::InvalidArgument("a message of a task ends too early: expected ", size,
                                   " further bytes, got ", left());
  }
  const bool is_streamed = size >= kLeastStreamed;
  while (size > 0) {
    const Slice& slice = payload_.slices()[slice_];
    const size_t part = std::min(size, slice.size - offset_);
    if (is_streamed) {
      StreamCopy(slice.data + offset_, part, out);
    } else {
      std::memcpy(out, slice.data + offset_, part);
    }
    out += part;
    size -= part;
    read_ += part;
    offset_ += part;
    if (offset_ < slice.size) continue;
    ++slice_;
    offset_ = 0;
  }
  if (is_streamed) EndStreaming();
  return absl::OkStatus();
}

const Slice* PayloadReader::TakeSlice(size_t size) {
  if (offset_ != 0 || slice_ >= payload_.slices().size()) return nullptr;
  const Slice& slice = payload_.slices()[slice_];
  if (slice.size != size) return nullptr;
  ++slice_;
  read_ += size;
  return &slice;
}

}  // namespace millstream
