// What a long computation asks of the kernel that it belongs to.
#ifndef MILLSTREAM_KERNELS_LINALG_STOP_H_
#define MILLSTREAM_KERNELS_LINALG_STOP_H_

#include <cstdint>

#include "kernels/common/parallel.h"

namespace millstream::kernels {

// Asked before each column or block of columns of a large matrix: true ends the computation, and
// its result is not defined.
class Stop {
 public:
  virtual ~Stop() = default;
  virtual bool operator()() = 0;
  // Calls fn(begin, end) on ranges that cover [0, count), by the threads that the matrix may have.
  // A unit takes about `nanoseconds`.
  template <typename Fn>
  void Share(int64_t count, double nanoseconds, Fn&& fn) {
    ShareRanges(count, nanoseconds, RangeFunction(fn));
  }

 private:
  virtual void ShareRanges(int64_t count, double nanoseconds, RangeFunction fn) = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_STOP_H_
