// Where the cells of a fractional pooling begin: B. Graham, "Fractional Max-Pooling" (2014).
#ifndef MILLSTREAM_KERNELS_NN_POOLING_SEQUENCE_H_
#define MILLSTREAM_KERNELS_NN_POOLING_SEQUENCE_H_

#include <cstdint>
#include <vector>

#include "kernels/random/philox.h"

namespace millstream::kernels {

// The random numbers that one sequence of `cells` cells takes are in so many blocks.
uint64_t SequenceBlocks(int64_t cells, bool pseudo_random);

// cells + 1 positions from 0 to `length`: cell i begins at position i, and its size is
// floor(length / cells) or one more. A sequence is random if the larger cells are anywhere with the
// same probability. It is pseudo-random if cell i begins at about alpha * (i + u) for one random u.
// Streams are shared with other programs, so how numbers are drawn is part of the contract.
// REQUIRES: 0 < cells <= length.
std::vector<int64_t> PoolingSequence(int64_t length, int64_t cells, bool pseudo_random,
                                     const PhiloxPosition& position);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_POOLING_SEQUENCE_H_
