// Memory for machine code that is made at run time.
#ifndef MILLSTREAM_KERNELS_CODEGEN_CODE_MEMORY_H_
#define MILLSTREAM_KERNELS_CODEGEN_CODE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace millstream::kernels {

// Can be written first, and executed from then on. Freed with the object.
class CodeMemory {
 public:
  // At least so many bytes. Null where the system has none.
  static std::unique_ptr<CodeMemory> Make(size_t bytes);
  ~CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  uint8_t* data() { return data_; }
  size_t bytes() const { return bytes_; }
  // False where the system refuses executable memory.
  bool MakeExecutable();

 private:
  CodeMemory(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* const data_;
  const size_t bytes_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_CODEGEN_CODE_MEMORY_H_
