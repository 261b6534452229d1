#include "distributed_runtime/grpc/bytes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace millstream::network {
namespace {

// About 10 µs to copy it. To wake another thread takes as long.
constexpr size_t kLarge = size_t{64} << 10;

// One that gRPC frees.
grpc_slice Lend(const millstream_slice& slice) {
  auto* const kept = new millstream_slice(slice);
  return grpc_slice_new_with_user_data(
      const_cast<char*>(kept->data), kept->size,
      [](void* user) {
        const auto* const slice = static_cast<const millstream_slice*>(user);
        slice->release(slice->owner);
        delete slice;
      },
      kept);
}

// Releases the slices. `size` is that of all.
grpc_slice Copy(const std::string& front, const millstream_slice* slices, size_t n, size_t size) {
  grpc_slice all = grpc_slice_malloc(size);
  uint8_t* out = GRPC_SLICE_START_PTR(all);
  out = std::copy(front.begin(), front.end(), out);
  for (size_t i = 0; i < n; ++i) {
    out = std::copy_n(slices[i].data, slices[i].size, out);
    slices[i].release(slices[i].owner);
  }
  return all;
}

// Takes over the slices.
Bytes Join(std::vector<grpc_slice> slices) {
  Bytes bytes(grpc_raw_byte_buffer_create(slices.data(), slices.size()));  // refers to them
  for (const grpc_slice& slice : slices) grpc_slice_unref(slice);
  return bytes;
}

// The first byte, where the slices have one. Goes past it.
bool TakeByte(std::vector<millstream_slice>* slices, char* out) {
  while (!slices->empty() && slices->front().size == 0) {
    slices->front().release(slices->front().owner);
    slices->erase(slices->begin());
  }
  if (slices->empty()) return false;
  millstream_slice& first = slices->front();
  *out = *first.data;
  ++first.data;
  --first.size;
  return true;
}

}  // namespace

Bytes ToBytes(const std::string& front, const millstream_slice* slices, size_t n) {
  size_t size = front.size();
  for (size_t i = 0; i < n; ++i) size += slices[i].size;
  if (size > kMostBytes) {
    for (size_t i = 0; i < n; ++i) slices[i].release(slices[i].owner);
    return nullptr;
  }
  if (size <= kMostCopied) return Join({Copy(front, slices, n, size)});
  std::vector<grpc_slice> list;
  list.reserve(n + 1);
  if (!front.empty()) list.push_back(grpc_slice_from_copied_buffer(front.data(), front.size()));
  for (size_t i = 0; i < n; ++i) list.push_back(Lend(slices[i]));
  return Join(std::move(list));
}

bool KeepsMemory(const grpc_byte_buffer* bytes) {
  return bytes->data.raw.slice_buffer.length > kMostCopied;
}

bool IsLarge(const grpc_byte_buffer* bytes) {
  return bytes->data.raw.slice_buffer.length >= kLarge;
}

std::string FrontFor(const char* method) {
  const std::string name = method;
  return static_cast<char>(name.size()) + name;
}

std::vector<millstream_slice> ToSlices(Bytes bytes) {
  std::vector<millstream_slice> slices;
  if (bytes == nullptr) return slices;
  const grpc_slice_buffer& buffer = bytes->data.raw.slice_buffer;
  slices.reserve(buffer.count);
  for (size_t i = 0; i < buffer.count; ++i) {
    if (GRPC_SLICE_LENGTH(buffer.slices[i]) == 0) continue;
    // A short slice has its bytes in itself.
    auto* const kept = new grpc_slice(grpc_slice_ref(buffer.slices[i]));
    const auto release = [](void* owner) {
      auto* const slice = static_cast<grpc_slice*>(owner);
      grpc_slice_unref(*slice);
      delete slice;
    };
    slices.push_back({reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(*kept)),
                      GRPC_SLICE_LENGTH(*kept), release, kept});
  }
  return slices;
}

bool TakeMethod(std::vector<millstream_slice>* slices, std::string* method) {
  char size = 0;
  if (!TakeByte(slices, &size)) return false;
  method->resize(static_cast<uint8_t>(size));
  return std::all_of(method->begin(), method->end(),
                     [slices](char& letter) { return TakeByte(slices, &letter); });
}

void Release(const std::vector<millstream_slice>& slices) {
  for (const millstream_slice& slice : slices) slice.release(slice.owner);
}

}  // namespace millstream::network
