// Memory for tensors of kernels under test, in the host's memory or in a device's, between guards.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_MEMORY_BLOCK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_MEMORY_BLOCK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/host_tensor.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream::plugin_check {

// Where memory lies: null `device`: in the host's memory.
struct Place {
  MS_Device* device = nullptr;
  const MS_DeviceApi* functions = nullptr;
  MS_Stream* stream = nullptr;  // of `device`, for copies
  bool on_host() const { return device == nullptr; }
};

// Bytes between guards.
class Block {
 public:
  // `offset` bytes lie between a 64-byte boundary and the data. All bytes are `fill`.
  static StatusOr<std::unique_ptr<Block>> Make(const Place& place, uint64_t bytes, uint8_t fill,
                                               uint64_t offset = 0);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  uint64_t bytes() const { return bytes_; }
  MS_MemRef ref() const;
  // Waits for the place's stream.
  Status Write(const void* bytes) const;
  Status Read(void* bytes) const;
  // False when something was written right before or after the data.
  StatusOr<bool> GuardsIntact() const;

 private:
  Block(const Place& place, uint64_t bytes, uint64_t offset)
      : place_(place), bytes_(bytes), offset_(offset) {}
  Status CopyIn(const std::string& whole) const;
  StatusOr<std::string> CopyOut() const;

  const Place place_;
  const uint64_t bytes_;
  const uint64_t offset_;
  std::string storage_;   // on the host, with room for alignment
  MS_MemRef whole_ = {};  // with guards
};

// A tensor of plain data in a block, or of strings in a tensor of the host's.
class PlacedTensor {
 public:
  // Elements are `fill`, strings are empty. RESOURCE_EXHAUSTED, INTERNAL for impossible dims.
  static StatusOr<std::unique_ptr<PlacedTensor>> Make(const Place& place, DataType dtype,
                                                      const Shape& shape, uint8_t fill,
                                                      uint64_t offset = 0);
  static StatusOr<std::unique_ptr<PlacedTensor>> CopyOf(const Place& place, const Tensor& value,
                                                        uint64_t offset = 0);
  // The same memory under another shape of as many bytes.
  std::unique_ptr<PlacedTensor> Over(DataType dtype, const Shape& shape) const;

  DataType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  uint64_t bytes() const;
  bool on_host() const { return on_host_; }
  // Refers to this object's dims.
  MS_TensorView View(uint64_t flags) const;
  StatusOr<Tensor> Read() const;
  StatusOr<bool> GuardsIntact() const;
  bool SharesWith(const PlacedTensor& other) const { return block_ && block_ == other.block_; }

 private:
  PlacedTensor(DataType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {}

  DataType dtype_;
  Shape shape_;
  bool on_host_ = true;
  std::shared_ptr<Block> block_;
  Tensor strings_;
};

// Tensors of the host's over memory of a device, which goes with the last of them.
Tensor TensorOver(std::unique_ptr<PlacedTensor> placed);
// What a tensor made so lies in, also one with a part of it; null for tensors in host memory.
const PlacedTensor* PlacedUnder(const Tensor& tensor);
// The tensor, copied when it is in a device's memory.
StatusOr<Tensor> ReadTensor(const Tensor& tensor);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_MEMORY_BLOCK_H_
