// How long a thread that waits for work looks for it before it sleeps. A thread that sleeps is
// woken by a system call, and on a virtual machine whose processor has stopped it takes 20 µs and
// more until it runs. A thread that looks takes the processor from others.
#ifndef MILLSTREAM_CORE_HOST_SPIN_PATIENCE_H_
#define MILLSTREAM_CORE_HOST_SPIN_PATIENCE_H_

#include <algorithm>
#include <cstdint>

namespace millstream {

// It learns from the waits before: whoever waits mostly for a short time looks for work that long,
// whoever has waited in vain several times sleeps at once. So does, for a while, whoever found that
// another thread wanted its processor. Times are in nanoseconds. Belongs to one thread.
class SpinPatience {
 public:
  static constexpr int64_t kLong = 50'000;
  static constexpr int64_t kShort = 1'000;
  // Waits in vain before it stops looking.
  static constexpr int kMostInVain = 4;
  // Waits for which it does not look after another thread wanted the processor.
  static constexpr int kWaitsAfterInterruption = 16;
  // A thread that gives way and does not run again for that long was interrupted.
  static constexpr int64_t kInterruption = 200'000;

  // How long the next wait may look.
  int64_t limit() const { return in_vain_ < kMostInVain && cautious_ == 0 ? kLong : kShort; }

  // The wait is over after that long. A thread that slept has waited longer than it would have
  // looked, by the time in which it woke up.
  void Ended(int64_t waited) {
    cautious_ = std::max(cautious_ - 1, 0);
    in_vain_ = waited <= 2 * kLong ? 0 : std::min(in_vain_ + 1, kMostInVain);
  }

  // Another thread wanted the processor.
  void Interrupted() { cautious_ = kWaitsAfterInterruption; }

 private:
  int in_vain_ = 0;
  int cautious_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_SPIN_PATIENCE_H_
