// How long OpenMP threads that wait spin before they sleep.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPENMP_PATIENCE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPENMP_PATIENCE_H_

namespace millstream {

// GNU's OpenMP (libgomp) lets a waiting thread spin 300,000 times, milliseconds, before it gives
// its core away. When something else wants the cores, a team of two then waits for the scheduler at
// every turn, and a step of small kernels takes 100 times as long. 1,000 times, some 50
// microseconds, bridge the way from kernel to kernel as well.
//
// The runtime reads the number from the environment when it is loaded, and nowhere else. While an
// OpenMpPatience lives, it finds one there (GOMP_SPINCOUNT), unless the user set that or
// OMP_WAIT_POLICY. The environment itself is not changed: a copy with one entry more stands in its
// place, which other threads may read.
//
// One at a time: the caller serializes.
class OpenMpPatience {
 public:
  OpenMpPatience();
  ~OpenMpPatience();
  OpenMpPatience(const OpenMpPatience&) = delete;
  OpenMpPatience& operator=(const OpenMpPatience&) = delete;

 private:
  char** previous_ = nullptr;  // null: nothing was replaced
  char** replacement_ = nullptr;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_OPENMP_PATIENCE_H_
