// Hashes of texts whose bits programs rely on: they choose rows of embedding tables that were
// trained with them.
#ifndef MILLSTREAM_KERNELS_STRINGS_HASHES_H_
#define MILLSTREAM_KERNELS_STRINGS_HASHES_H_

#include <cstdint>
#include <string_view>

namespace millstream::kernels {

// FarmHash's Fingerprint64, by Geoff Pike.
uint64_t FarmFingerprint64(std::string_view text);

// MurmurHash64A, by Austin Appleby, with a fixed seed.
uint64_t MurmurHash64(std::string_view text);

// SipHash-2-4 of Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
uint64_t SipHash(uint64_t key0, uint64_t key1, std::string_view text);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_STRINGS_HASHES_H_
