// Limits the instruction sets that oneDNN uses.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_LIMIT_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_LIMIT_H_

#include "framework/plugin/plugin.hpp"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {

// Limits oneDNN to `most` in the whole process; does not add AVX-512 sets that the processor lacks.
// FAILED_PRECONDITION if the process has used the library before, because it has chosen already.
ms::Status LimitLibrary(InstructionSet most);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_LIBRARY_LIMIT_H_
