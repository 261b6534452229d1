// The beam search of CTCBeamSearchDecoder for one sequence.
#ifndef MILLSTREAM_KERNELS_NN_CTC_BEAMS_H_
#define MILLSTREAM_KERNELS_NN_CTC_BEAMS_H_

#include <cstdint>
#include <vector>

#include "kernels/nn/ctc_sequences.h"

namespace millstream::kernels {

// Prefixes of labels with the largest probabilities. A prefix's probability is that of all paths
// that are it once repeated classes are merged and blanks are left out.
class CtcBeams {
 public:
  // `width`: how many prefixes are followed.
  CtcBeams(int64_t classes, int64_t width);

  // Goes on by a time step with these logarithms of the classes' probabilities.
  void Step(const double* log_probabilities);

  struct Path {
    std::vector<int64_t> labels;
    double log_probability = kLogZero;
  };
  // The best paths, the best one first; fewer where fewer are followed. `merge_repeated`: of equal
  // labels that follow each other one is kept.
  std::vector<Path> Best(int64_t count, bool merge_repeated) const;

 private:
  // Logarithms of the probabilities of a prefix with a path that ends in a blank, in its last
  // label, or in either.
  struct Probability {
    double total = kLogZero;
    double blank = kLogZero;
    double label = kLogZero;
  };
  struct Prefix {
    int64_t parent = -1;
    int64_t label = -1;
    int64_t first_child = -1;  // a child for each label, if they were made
    Probability before;        // at the last step
    Probability now;
  };

  bool IsFollowed(const Prefix& prefix) const { return prefix.now.total > kLogZero; }
  // Whether a prefix of this probability is among the best so far.
  bool IsCandidate(const Probability& probability) const;
  void Continue(Prefix* prefix, const double* log_probabilities) const;
  void Extend(int64_t parent, const double* log_probabilities);
  void Follow(int64_t prefix);
  // Prefixes with larger probabilities first, older ones among equals.
  bool IsBetter(int64_t a, int64_t b) const;

  const int64_t blank_;
  const int64_t width_;
  std::vector<Prefix> prefixes_;
  std::vector<int64_t> followed_;  // a heap with the worst one in front
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CTC_BEAMS_H_
