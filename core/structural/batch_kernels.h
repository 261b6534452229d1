// What the kernels of batches have in common (batches.cc, unbatches.cc).
#ifndef MILLSTREAM_CORE_STRUCTURAL_BATCH_KERNELS_H_
#define MILLSTREAM_CORE_STRUCTURAL_BATCH_KERNELS_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/structural/host_kernel.h"
#include "core/structural/structural.h"
#include "framework/status.h"

namespace millstream {

// An index of a batch has a row for each step: its id, its first row in the batch and its end.
inline constexpr int64_t kIndexColumns = 3;

// A step waits so long for a time limit, even if no other step may help.
inline constexpr absl::Duration kSoon = absl::Minutes(10);

// "more tensors for batcher 'b'", or "more tensors for batch 'b', or the time limit of 1ms": such a
// wait ends by itself.
inline std::string WaitText(const char* what, const char* kind, const std::string& name,
                            absl::Duration limit) {
  if (limit > kSoon) return absl::StrCat(what, " ", kind, "er '", name, "'");
  return absl::StrCat(what, " ", kind, " '", name, "', or the time limit of ",
                      absl::FormatDuration(limit));
}

// The time limit that an attribute has in microseconds.
inline StatusOr<absl::Duration> LimitOf(const HostKernelInfo& info, const char* attr) {
  MS_ASSIGN_OR_RETURN(const int64_t micros, info.Attr<int64_t>(attr));
  if (micros >= 0) return absl::Microseconds(micros);
  return errors::InvalidArgument("attribute '", attr, "' must be non-negative; was ", micros);
}

// Sets an output to the empty tensor that goes with rows like those of an input.
inline Status SetNoRows(StructuralFrame frame, uint32_t input, uint32_t output) {
  Shape shape = frame.input_shape(input);
  shape.set_dim(0, 0);
  return frame.AllocateOutput(output, shape).status();
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STRUCTURAL_BATCH_KERNELS_H_
