#include "kernels/matmul/library_limit.h"

#include <dnnl.hpp>

namespace millstream::kernels {
namespace {

dnnl_cpu_isa_t LibrarySet(InstructionSet set) {
  switch (set) {
    case InstructionSet::kBaseline: return dnnl_cpu_isa_sse41;  // the narrowest that it has
    case InstructionSet::kAvx2: return dnnl_cpu_isa_avx2;
    case InstructionSet::kAvx512: break;
  }
  return dnnl_cpu_isa_all;
}

}  // namespace

ms::Status LimitLibrary(InstructionSet most) {
  if (dnnl_set_max_cpu_isa(LibrarySet(most)) == dnnl_success) return ms::Status();
  return ms::Status(
      MS_FAILED_PRECONDITION,
      "oneDNN's instruction set can no longer be limited: something in this process has "
      "used the library already; set ONEDNN_MAX_CPU_ISA in its environment instead");
}

}  // namespace millstream::kernels
