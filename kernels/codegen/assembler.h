// Xbyak, with errors that are asked for and no exceptions. Nothing where the compiler makes code
// for another architecture, for which Xbyak declares no 64-bit registers. For .cc files alone.
#ifndef MILLSTREAM_KERNELS_CODEGEN_ASSEMBLER_H_
#define MILLSTREAM_KERNELS_CODEGEN_ASSEMBLER_H_

#if defined(__x86_64__)
#define XBYAK_NO_EXCEPTION
#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>
#endif

#endif  // MILLSTREAM_KERNELS_CODEGEN_ASSEMBLER_H_
