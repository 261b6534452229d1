// Sets the number of threads of oneDNN, whose Debian build uses OpenMP. Kernels use no other way.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_

#include <omp.h>

#include <algorithm>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/signal_stack.h"

namespace millstream::kernels {

// The number of threads that a library call of this execution may use. The library divides sums by
// its number of threads, so an execution whose bits must not depend on the number gets one thread.
inline int LibraryThreadCount(const ms::Frame& frame) {
  return frame.deterministic() ? 1 : static_cast<int>(frame.num_threads());
}

// The number of threads of a team that the calling thread starts with `wanted` threads. OpenMP
// silently provides fewer if the environment limits them (OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS),
// and one inside another team. oneDNN does not check this: the results of missing threads would be
// missing.
inline int TeamThreads(int wanted) {
  if (omp_in_parallel() != 0 || omp_get_max_active_levels() == 0) return 1;
  return std::max(1, std::min(wanted, omp_get_thread_limit()));
}

// While an object lives, OpenMP teams that the calling thread starts have TeamThreads(count)
// threads, independent of the load of the machine (OMP_DYNAMIC). oneDNN reads the number when a
// primitive is created and when it runs; both must read the same number.
class LibraryThreads {
 public:
  explicit LibraryThreads(int count)
      : previous_(omp_get_max_threads()), was_dynamic_(omp_get_dynamic()) {
    const int threads = TeamThreads(count);
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
    UseSignalStack(threads);
  }
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;
  ~LibraryThreads() {
    omp_set_num_threads(previous_);
    omp_set_dynamic(was_dynamic_);
  }

 private:
  const int previous_;
  const int was_dynamic_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_
