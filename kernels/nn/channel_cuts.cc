#include "kernels/nn/channel_cuts.h"

namespace millstream::kernels {
namespace {

// A task of so many elements is worth the waking of a thread.
constexpr int64_t kTaskElements = 32768;
// The results of groups are combined by one thread.
constexpr int64_t kMostGroups = 64;

int64_t DivideUp(int64_t a, int64_t b) { return (a - 1) / b + 1; }

}  // namespace

ChannelCuts::ChannelCuts(const ms::Shape& images, bool channels_first)
    : outer_(channels_first ? images[0] : images[0] * images[1] * images[2]),
      channels_(images[channels_first ? 1 : 3]),
      inner_(channels_first ? images[2] * images[3] : 1) {
  if (size() == 0) return;
  int64_t packed_rows = 1;
  if (inner_ > 1) {
    tile_channels_ = 1;
    width_ = std::min(inner_, kPackedLanes);
  } else {
    tile_channels_ = std::min(channels_, kMostLanes);
    packed_rows = std::min(outer_, DivideUp(kPackedLanes, tile_channels_));
    width_ = packed_rows * tile_channels_;
  }
  tiles_ = DivideUp(channels_, tile_channels_);
  const int64_t wanted =
      std::max(DivideUp(kTaskElements, tile_channels_ * inner_), DivideUp(outer_, kMostGroups));
  outer_per_group_ = DivideUp(wanted, packed_rows) * packed_rows;
  groups_ = DivideUp(outer_, outer_per_group_);
}

}  // namespace millstream::kernels
