// Looking for a message for some microseconds before a thread sleeps.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_BRIEF_LOOK_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_BRIEF_LOOK_H_

#include "absl/functional/function_ref.h"
#include "distributed_runtime/look_time.h"

namespace millstream {

// Looks into memory for as long as LookTime says: 40 µs at most, or once. Not thread-safe.
class BriefLook {
 public:
  // Returns true as soon as `found` does.
  bool Look(absl::FunctionRef<bool()> found);

 private:
  LookTime time_{/*most_nanos=*/40'000, /*least_nanos=*/1'000};
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_BRIEF_LOOK_H_
