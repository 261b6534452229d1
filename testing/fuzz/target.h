// What every fuzz target has: the entry that libFuzzer calls, and that corpus_test calls for each
// file of the corpus and for mutations of it.
#ifndef MILLSTREAM_TESTING_FUZZ_TARGET_H_
#define MILLSTREAM_TESTING_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>

// Returns 0. Whatever the bytes are, it must come back, within the limits of limits.h.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // MILLSTREAM_TESTING_FUZZ_TARGET_H_
