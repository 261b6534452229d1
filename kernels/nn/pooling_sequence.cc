#include "kernels/nn/pooling_sequence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/random/distributions.h"

namespace millstream::kernels {
namespace {

// Sizes in random order: Fisher and Yates, from the front.
std::vector<int64_t> RandomSizes(int64_t length, int64_t cells, const PhiloxPosition& position) {
  const int64_t smaller = length / cells;
  std::vector<int64_t> sizes(cells, smaller);
  std::fill_n(sizes.begin(), length % cells, smaller + 1);
  std::vector<uint32_t> words(4 * SequenceBlocks(cells, false));
  PhiloxFill(position, words.size() / 4, words.data());
  for (int64_t i = 0; i + 1 < cells; ++i) {
    std::swap(sizes[i], sizes[i + words[i] % static_cast<uint32_t>(cells - i)]);
  }
  return sizes;
}

// The positions count from 1. u is drawn from [0, limit), with the limit at which neither the first
// cell nor the last one is too large or too small.
std::vector<int64_t> PseudoRandomSizes(int64_t length, int64_t cells,
                                       const PhiloxPosition& position) {
  const double alpha = static_cast<double>(length) / static_cast<double>(cells);
  const int64_t smaller = length / cells;
  const double of_first = static_cast<double>(smaller + 2) / alpha - 1;
  const double of_last =
      static_cast<double>(length + 1 - smaller) / alpha - static_cast<double>(cells - 1);
  const PhiloxBlock words = PhiloxAt(position);
  const double u = UniformDouble(words[0], words[1]) * std::min(of_first, of_last);
  std::vector<int64_t> sizes(cells);
  int64_t begin = 1;
  for (int64_t i = 1; i <= cells; ++i) {
    const int64_t end = i == cells
                            ? length + 1
                            : static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i) + u)));
    sizes[i - 1] = end - begin;
    begin = end;
  }
  return sizes;
}

}  // namespace

uint64_t SequenceBlocks(int64_t cells, bool pseudo_random) {
  return pseudo_random ? 1 : static_cast<uint64_t>(cells + 3) / 4;
}

std::vector<int64_t> PoolingSequence(int64_t length, int64_t cells, bool pseudo_random,
                                     const PhiloxPosition& position) {
  const std::vector<int64_t> sizes = pseudo_random ? PseudoRandomSizes(length, cells, position)
                                                   : RandomSizes(length, cells, position);
  std::vector<int64_t> sequence = {0};
  for (const int64_t size : sizes) sequence.push_back(sequence.back() + size);
  return sequence;
}

}  // namespace millstream::kernels
