// The distributions that candidate samplers draw classes from.
#ifndef MILLSTREAM_KERNELS_RANDOM_CLASS_DISTRIBUTION_H_
#define MILLSTREAM_KERNELS_RANDOM_CLASS_DISTRIBUTION_H_

#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"
#include "kernels/random/philox_words.h"

namespace millstream::kernels {

// A distribution over the classes [0, range). Only Learn changes it, which its owner guards.
class ClassDistribution {
 public:
  virtual ~ClassDistribution() = default;

  // Draws a class.
  virtual int64_t Sample(PhiloxWords* words) const = 0;
  virtual float Probability(int64_t value) const = 0;
  // How many classes have a probability above 0.
  virtual int64_t CountPossible() const = 0;

  // True for a distribution that Learn changes.
  virtual bool learns() const { return false; }
  // Counts a class that occurred. REQUIRES: it is in the range.
  virtual void Learn(int64_t /*value*/) {}
};

// All classes alike.
std::unique_ptr<ClassDistribution> MakeUniform(int64_t range);
// Class c has the probability log((c + 2) / (c + 1)) / log(range + 1).
std::unique_ptr<ClassDistribution> MakeLogUniform(int64_t range);
// Each class has one count at first. REQUIRES: range < 2^31.
std::unique_ptr<ClassDistribution> MakeLearned(int64_t range);
// Given weights: what attributes of FixedUnigramCandidateSampler say. INVALID_ARGUMENT if they are
// not `range` many, negative or not finite, or all 0; NOT_FOUND if the file cannot be
// opened.
ms::Status MakeFixed(const ms::KernelInfo& info, int64_t range,
                     std::unique_ptr<ClassDistribution>* out);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_RANDOM_CLASS_DISTRIBUTION_H_
