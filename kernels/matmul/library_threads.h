// The one way in which kernels hand threads to oneDNN, whose Debian build uses OpenMP.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_THREADS_H_

#include <omp.h>

#include <algorithm>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/signal_stack.h"

namespace millstream::kernels {

// How many threads a library call of this execution may use. The library cuts sums by its number of
// threads, so an execution that must not depend on it gets one.
inline int LibraryThreadCount(const ms::Frame& frame) {
  return frame.deterministic() ? 1 : static_cast<int>(frame.num_threads());
}

// How many threads a team gets that the calling thread starts and that asks for `wanted`. OpenMP
// gives fewer without a word where the environment says so (OMP_THREAD_LIMIT,
// OMP_MAX_ACTIVE_LEVELS), and one inside of another team. oneDNN does not look: what threads that
// are not there were to compute is missing in the result.
inline int TeamThreads(int wanted) {
  if (omp_in_parallel() != 0 || omp_get_max_active_levels() == 0) return 1;
  return std::max(1, std::min(wanted, omp_get_thread_limit()));
}

// While it lives, OpenMP teams that the calling thread starts have TeamThreads(count) threads,
// whatever the load of the machine (OMP_DYNAMIC). oneDNN looks at that number when a primitive is
// made and again when it runs; both must see the same.
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
