// Where signal handlers run while oneDNN computes.
#ifndef MILLSTREAM_KERNELS_MATMUL_SIGNAL_STACK_H_
#define MILLSTREAM_KERNELS_MATMUL_SIGNAL_STACK_H_

namespace millstream::kernels {

// Gives the calling thread, and `team` - 1 threads of OpenMP's that it starts, a stack for signal
// handlers, unless they have one. The library's products for AVX-512 use the stack pointer for
// addresses of the heap (https://github.com/uxlfoundation/oneDNN/issues/4845): a handler that runs
// on the thread's own stack then writes over whatever lies there. Python's handlers ask for the
// other stack (SA_ONSTACK); those of a program in C++ must, too.
void UseSignalStack(int team);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_SIGNAL_STACK_H_
