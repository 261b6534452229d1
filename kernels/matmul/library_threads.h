// The one way in which kernels hand threads to oneDNN, whose Debian build uses OpenMP.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_

#include <omp.h>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/signal_stack.h"

namespace millstream::kernels {

// How many threads a library call of this execution may use. The library cuts sums by its number of
// threads, so an execution that must not depend on it gets one.
inline int LibraryThreadCount(const ms::Frame& frame) {
  return frame.deterministic() ? 1 : static_cast<int>(frame.num_threads());
}

// While it lives, OpenMP teams that the calling thread starts have `count` threads. oneDNN looks at
// that number when a primitive is made and again when it runs; both must see the same.
class LibraryThreads {
 public:
  explicit LibraryThreads(int count) : previous_(omp_get_max_threads()) {
    omp_set_num_threads(count);
    UseSignalStack(count);
  }
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;
  ~LibraryThreads() { omp_set_num_threads(previous_); }

 private:
  int previous_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_
