// Limits the instruction sets that oneDNN uses.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_LIMIT_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_LIMIT_H_

#include "framework/plugin/plugin.hpp"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// oneDNN keeps to `most` in the whole process; no wider AVX-512 sets than the processor has are
// added. FAILED_PRECONDITION when the library has chosen already, because something in the process
// has used it.
ms::Status LimitLibrary(InstructionSet most);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_LIBRARY_LIMIT_H_
