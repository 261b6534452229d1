// Limits how long waiting OpenMP threads spin before they sleep.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_OPENMP_PATIENCE_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_OPENMP_PATIENCE_H_

namespace millstream {

// In GNU's OpenMP (libgomp), a waiting thread spins 300,000 times, which takes milliseconds, before
// it releases its core. If other processes use the cores, a team of two threads then waits for the
// scheduler at each synchronization, and a step of small kernels takes 100 times as long. With
// 1,000 spins, about 50 microseconds, a thread is still awake when the next kernel starts.
//
// libgomp reads the number from the environment, only when it is loaded. While an OpenMpPatience
// lives, the environment contains it (GOMP_SPINCOUNT), unless the user set it or OMP_WAIT_POLICY.
// The environment is not modified but replaced by a copy with one more entry, which other threads
// may read.
//
// Not thread-safe. REQUIRES: only one object at a time.
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
