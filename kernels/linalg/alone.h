// The Stop of what several threads compute at the same time, each of it alone.
#ifndef MILLSTREAM_KERNELS_LINALG_ALONE_H_
#define MILLSTREAM_KERNELS_LINALG_ALONE_H_

#include <cstdint>

#include "kernels/linalg/stop.h"

namespace millstream::kernels {

class Alone final : public Stop {
 public:
  bool operator()() override { return false; }

 private:
  void ShareRanges(int64_t count, double, RangeFunction fn) override { fn(0, count); }
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_LINALG_ALONE_H_
