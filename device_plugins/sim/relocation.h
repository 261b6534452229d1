// Where recorded work finds memory that has moved since it was recorded.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_RELOCATION_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_RELOCATION_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// All changes are simultaneous: each is of the memory as it was recorded. Constant after creation.
class Relocation {
 public:
  Relocation() = default;  // nothing has moved
  // `is_opaque`: the memory is known by handles.
  Relocation(std::vector<MS_MemChange> changes, bool is_opaque)
      : changes_(std::move(changes)), is_opaque_(is_opaque) {}

  // Where the recorded place is now.
  MS_MemRef operator()(const MS_MemRef& recorded) const {
    MS_MemRef moved = recorded;
    for (const MS_MemChange& change : changes_) {
      if (change.from.space != recorded.space) continue;
      const uint64_t distance = Distance(change.from, recorded);
      if (distance > change.from.bytes || recorded.bytes > change.from.bytes - distance) continue;
      moved.base = change.to.base;
      moved.offset = change.to.offset + distance;
      break;
    }
    return moved;
  }

 private:
  // From `a` to `b`; larger than any block if they are not in one.
  uint64_t Distance(const MS_MemRef& a, const MS_MemRef& b) const {
    if (is_opaque_) return a.base == b.base ? b.offset - a.offset : UINT64_MAX;
    return (reinterpret_cast<uint64_t>(b.base) + b.offset) -
           (reinterpret_cast<uint64_t>(a.base) + a.offset);
  }

  std::vector<MS_MemChange> changes_;
  bool is_opaque_ = false;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_RELOCATION_H_
