// Tensors of tests of kernels: plain memory between guard bytes.
#ifndef MILLSTREAM_KERNELS_TESTING_TENSOR_VALUE_H_
#define MILLSTREAM_KERNELS_TESTING_TENSOR_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels::testing {

// Where buffers are made.
class BufferMemory {
 public:
  virtual ~BufferMemory() = default;
  // 64-byte aligned memory that the test may touch, until the last of its owners goes. *shown is
  // where views say it is.
  virtual std::shared_ptr<uint8_t> Allocate(uint64_t bytes, uint8_t** shown) = 0;
};

// While it lives, buffers are made in `memory`, or in the heap where it is null.
class BuffersIn {
 public:
  explicit BuffersIn(BufferMemory* memory);
  ~BuffersIn();
  BuffersIn(const BuffersIn&) = delete;
  BuffersIn& operator=(const BuffersIn&) = delete;

 private:
  BufferMemory* const previous_;
};

// Memory between guards. `offset` bytes lie between the 64-byte aligned base and the data.
class Buffer {
 public:
  explicit Buffer(uint64_t bytes, uint8_t fill = 0, uint64_t offset = 0);

  char* data() { return base_ + offset_; }
  const char* data() const { return base_ + offset_; }
  uint64_t bytes() const { return bytes_; }
  // False when something was written right before or after the data.
  bool GuardsIntact() const;
  MS_MemRef Ref() const { return MS_MemRef{shown_base_, offset_, bytes_, MS_SPACE_HOST, 0}; }

 private:
  std::shared_ptr<uint8_t> storage_;
  uint64_t storage_bytes_;
  char* base_;
  char* shown_base_;
  uint64_t offset_;
  uint64_t bytes_;
};

// A string cell is a number that stands for its text: equal texts have equal cells, so that tensors
// of strings compare by their bytes, too. Plugins know nothing of this and see cells of no size.
uint64_t CellBytes(MS_DType dtype);  // of one element of any dtype
uint64_t CellOf(std::string_view text);
const std::string* CellText(uint64_t cell);  // null for a cell that was never set

// A dense tensor of plain memory.
struct TensorValue {
  MS_DType dtype = 0;
  std::vector<int64_t> dims;
  std::shared_ptr<Buffer> buffer;

  static TensorValue Make(MS_DType dtype, std::vector<int64_t> dims, uint8_t fill = 0,
                          uint64_t offset = 0);
  TensorValue Copy(uint64_t offset = 0) const;
  int64_t size() const;
  // Refers to this object's dims: valid while it lives and stays where it is.
  MS_TensorView View(uint64_t flags) const;
};

}  // namespace millstream::kernels::testing

#endif  // MILLSTREAM_KERNELS_TESTING_TENSOR_VALUE_H_
