// Slices of the table as byte buffers of gRPC, without copies.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_BYTES_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_BYTES_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <vector>

#include "distributed_runtime/network_table.h"

namespace millstream::network {

// Takes over the slices.
inline grpc::ByteBuffer ToBytes(const millstream_slice* slices, size_t n) {
  std::vector<grpc::Slice> list;
  list.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    auto* const kept = new millstream_slice(slices[i]);
    list.emplace_back(
        const_cast<char*>(kept->data), kept->size,
        [](void* user) {
          auto* const slice = static_cast<millstream_slice*>(user);
          slice->release(slice->owner);
          delete slice;
        },
        kept);
  }
  return grpc::ByteBuffer(list.data(), list.size());
}

// The receiver takes over the slices.
inline std::vector<millstream_slice> ToSlices(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> list;
  std::vector<millstream_slice> slices;
  if (!bytes.Valid() || !bytes.Dump(&list).ok()) return slices;
  for (grpc::Slice& slice : list) {
    if (slice.size() == 0) continue;
    auto* const kept = new grpc::Slice(slice);
    slices.push_back({reinterpret_cast<const char*>(kept->begin()), kept->size(),
                      [](void* owner) { delete static_cast<grpc::Slice*>(owner); }, kept});
  }
  return slices;
}

}  // namespace millstream::network

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_GRPC_BYTES_H_
