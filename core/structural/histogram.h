// The histogram of Summary messages.
#ifndef MILLSTREAM_CORE_STRUCTURAL_HISTOGRAM_H_
#define MILLSTREAM_CORE_STRUCTURAL_HISTOGRAM_H_

#include <limits>
#include <vector>

#include "millstream/framework/protos/summary.pb.h"

namespace millstream {

// Counts values in the intervals that viewers of event files expect. The limits of the intervals
// are 0, and on both sides of it 1e-12 times the powers of 1.1 below 1e20, then the largest double.
// A value equal to a limit belongs to the interval above it. Not thread-safe.
class Histogram {
 public:
  Histogram();

  // REQUIRES: `value` is finite.
  void Add(double value);
  // Writes neighbouring empty intervals as one.
  void ToProto(proto::HistogramProto* message) const;

 private:
  std::vector<double> counts_;  // by interval
  double min_ = std::numeric_limits<double>::max();
  double max_ = std::numeric_limits<double>::lowest();
  double count_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_HISTOGRAM_H_
