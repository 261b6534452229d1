// Counts of values by interval, as Summary messages hold them.
#ifndef MILLSTREAM_CORE_STRUCTURAL_HISTOGRAM_H_
#define MILLSTREAM_CORE_STRUCTURAL_HISTOGRAM_H_

#include <limits>
#include <vector>

#include "millstream/framework/protos/summary.pb.h"

namespace millstream {

// Counts values in the intervals that viewers of event files expect: their ends are 0 and, on both
// sides of it, 1e-12 and on by factors of 1.1 as long as below 1e20, then the largest double. A
// value equal to an end belongs to the interval above it.
class Histogram {
 public:
  Histogram();

  // REQUIRES: `value` is finite.
  void Add(double value);
  // Neighbouring empty intervals are written as one.
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
