// Writes PNG files (ISO/IEC 15948).
#ifndef MILLSTREAM_CORE_STRUCTURAL_PNG_H_
#define MILLSTREAM_CORE_STRUCTURAL_PNG_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "framework/status.h"

namespace millstream {

// Returns the bytes of a PNG file with 8 bits a channel. `pixels` has the image row by row, with
// the channels of a pixel together, in sRGB. INVALID_ARGUMENT for an image without pixels, for
// `channels` other than 1 (gray), 3 (RGB) or 4 (RGBA), and for sizes that the format does not
// allow. Thread-safe.
// REQUIRES: pixels.size() == height * width * channels.
StatusOr<std::string> EncodePng(int64_t height, int64_t width, int64_t channels,
                                absl::Span<const uint8_t> pixels);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_PNG_H_
