#include "kernels/codegen/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace millstream::kernels {

std::unique_ptr<CodeMemory> CodeMemory::Make(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<CodeMemory>(new CodeMemory(static_cast<uint8_t*>(memory), bytes));
}

CodeMemory::~CodeMemory() { munmap(data_, bytes_); }

bool CodeMemory::MakeExecutable() { return mprotect(data_, bytes_, PROT_READ | PROT_EXEC) == 0; }

}  // namespace millstream::kernels
