// The stack of signal handlers while oneDNN computes.
#ifndef MILLSTREAM_KERNELS_MATMUL_SIGNAL_STACK_H_
#define MILLSTREAM_KERNELS_MATMUL_SIGNAL_STACK_H_

namespace millstream::kernels {

// Sets an alternate signal stack for the calling thread and the `team` - 1 OpenMP threads that it
// starts, unless they have one. The library's products for AVX-512 use the stack pointer for heap
// addresses (https://github.com/uxlfoundation/oneDNN/issues/4845), so a handler on the thread's own
// stack would overwrite heap memory. Python's handlers request the alternate stack (SA_ONSTACK).
// Handlers of C++ programs must do so too.
void UseSignalStack(int team);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_SIGNAL_STACK_H_
