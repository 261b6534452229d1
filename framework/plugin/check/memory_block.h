// Memory for tensors of kernels under test, in the host's memory or in a device's, between guards.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_MEMORY_BLOCK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_MEMORY_BLOCK_H_

#include <cstdint>
#include <functional>
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
  MS_Stream* stream = nullptr;     // of `device`, for copies
  bool has_pinned = false;         // the device has pinned host memory
  uint32_t ordinal = 0;            // of `device`
  int32_t dlpack_device_type = 0;  // of its memory; 0: DLPack does not know it
  bool on_host() const { return device == nullptr; }
};

// Bytes between guards, or memory of a plugin's own, which has none.
class Block {
 public:
  // `offset` bytes lie between a 64-byte boundary and the data. The bytes are those at `content`;
  // without it, all are `fill`.
  static StatusOr<std::unique_ptr<Block>> Make(const Place& place, uint64_t bytes, uint8_t fill,
                                               uint64_t offset = 0, const void* content = nullptr);
  // Memory that the plugin gave. The destructor calls `release`, when the stream's work is done.
  static std::unique_ptr<Block> Wrap(const Place& place, const MS_MemRef& memory, uint64_t bytes,
                                     std::function<void()> release);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  uint64_t bytes() const { return bytes_; }
  const Place& place() const { return place_; }
  MS_MemRef ref() const;
  // Waits for the place's stream.
  Status Write(const void* bytes) const;
  // `guards_intact`, if not null, is false when something was written right before or after the
  // data, or when reading fails.
  Status Read(void* bytes, bool* guards_intact = nullptr) const;

 private:
  Block(const Place& place, uint64_t bytes, uint64_t offset, uint64_t guard_bytes)
      : place_(place), bytes_(bytes), offset_(offset), guard_bytes_(guard_bytes) {}
  uint64_t total() const { return bytes_ + offset_ + 2 * guard_bytes_; }
  uint64_t start() const { return guard_bytes_ + offset_; }  // of the data
  Status CopyIn(const std::string& whole) const;
  StatusOr<std::string> CopyOut() const;

  const Place place_;
  const uint64_t bytes_;
  const uint64_t offset_;
  const uint64_t guard_bytes_;
  std::string storage_;            // on the host, with room for alignment
  MS_MemRef whole_ = {};           // with guards
  std::function<void()> release_;  // of the plugin's own memory
};

// A tensor of plain data in a block, or in a tensor of the host's, as strings are.
class PlacedTensor {
 public:
  // Elements are `fill`, strings are empty. RESOURCE_EXHAUSTED, INTERNAL for impossible dims.
  static StatusOr<std::unique_ptr<PlacedTensor>> Make(const Place& place, DataType dtype,
                                                      const Shape& shape, uint8_t fill,
                                                      uint64_t offset = 0);
  static StatusOr<std::unique_ptr<PlacedTensor>> CopyOf(const Place& place, const Tensor& value,
                                                        uint64_t offset = 0);
  // In a block that the plugin gave.
  static std::unique_ptr<PlacedTensor> In(std::unique_ptr<Block> block, DataType dtype,
                                          const Shape& shape, bool on_host);
  // In the memory of the tensor.
  static std::unique_ptr<PlacedTensor> Of(const Tensor& tensor);
  // The same memory under another shape of as many bytes.
  std::unique_ptr<PlacedTensor> Over(DataType dtype, const Shape& shape) const;

  DataType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  uint64_t bytes() const;
  bool on_host() const { return on_host_; }
  // Of its block. REQUIRES: it has one.
  const Place& place() const { return block_->place(); }
  // Whether it is in the memory of somebody else's tensor.
  bool is_shared() const { return is_shared_; }
  MS_MemRef memory() const;
  // Refers to this object's dims.
  MS_TensorView View(uint64_t flags) const;
  // As the read of a block.
  StatusOr<Tensor> Read(bool* guards_intact = nullptr) const;

 private:
  PlacedTensor(DataType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {}
  // As Block::Make.
  Status MakeBlock(const Place& place, uint8_t fill, uint64_t offset, const void* content);

  DataType dtype_;
  Shape shape_;
  bool on_host_ = true;
  bool is_shared_ = false;
  std::shared_ptr<Block> block_;
  Tensor tensor_;  // without a block
};

// Tensors of the host's over the memory, which goes with the last of them.
Tensor TensorOver(std::unique_ptr<PlacedTensor> placed);

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_MEMORY_BLOCK_H_
