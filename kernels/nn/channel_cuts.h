// Images whose channels are summed or scaled each by itself, and how such sums are cut into tasks.
// The cuts depend on the shape alone, so that sums have the same bits for any number of threads.
#ifndef MILLSTREAM_KERNELS_NN_CHANNEL_CUTS_H_
#define MILLSTREAM_KERNELS_NN_CHANNEL_CUTS_H_

#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"

namespace millstream::kernels {

// Rows of `width` elements, `stride` apart. The lanes of a strip are the elements of one row.
struct Strip {
  int64_t offset;
  int64_t stride;
  int64_t rows;
  int64_t width;
};

// Images as [outer, channels, inner]. With the channels last, inner is 1.
class ChannelCuts {
 public:
  // The lanes of a strip at most. A task keeps its sums on the stack.
  static constexpr int64_t kMostLanes = 512;
  // Rows of fewer elements are packed to longer ones, so that loops fill vectors.
  static constexpr int64_t kPackedLanes = 64;

  ChannelCuts() = default;
  // REQUIRES: the shape has rank 4.
  ChannelCuts(const ms::Shape& images, bool channels_first);

  int64_t channels() const { return channels_; }
  int64_t inner() const { return inner_; }
  int64_t planes() const { return outer_ * channels_; }
  int64_t size() const { return outer_ * channels_ * inner_; }
  // Elements of one channel.
  int64_t count() const { return outer_ * inner_; }
  // The lanes of a loop over all elements. With the channels last, lane l is of channel
  // l % channels. Otherwise a loop is over one plane, of one channel.
  int64_t lanes() const { return tiles_ > 1 && inner_ == 1 ? channels_ : width_; }

  // ---- Sums: a task is one group of rows, or of images, of one tile of channels ----

  int64_t groups() const { return groups_; }
  int64_t tasks() const { return groups_ * tiles_; }
  int64_t elements_per_task() const {
    return std::min(outer_, outer_per_group_) * tile_channels_ * inner_;
  }
  int64_t group_of(int64_t task) const { return task / tiles_; }
  // The channels of a task are [first, first + number). Lane l is of channel first + l % number.
  int64_t first_channel(int64_t task) const { return task % tiles_ * tile_channels_; }
  int64_t channels_of(int64_t task) const {
    return std::min(tile_channels_, channels_ - first_channel(task));
  }
  int64_t lanes_of(int64_t task) const { return channels_of(task) * (width_ / tile_channels_); }

  // Calls fn(strip) for the strips of a task.
  template <typename Fn>
  void ForEachStrip(int64_t task, Fn&& fn) const {
    const int64_t begin = group_of(task) * outer_per_group_;
    const int64_t end = std::min(outer_, begin + outer_per_group_);
    const int64_t first = first_channel(task);
    if (inner_ > 1) {
      for (int64_t i = begin; i < end; ++i) {
        PackedStrips((i * channels_ + first) * inner_, inner_, fn);
      }
    } else if (tiles_ > 1) {
      fn(Strip{begin * channels_ + first, channels_, end - begin, channels_of(task)});
    } else {
      PackedStrips(begin * channels_, (end - begin) * channels_, fn);
    }
  }

 private:
  // Neighbours in rows of width_, and the rest as one shorter row.
  template <typename Fn>
  void PackedStrips(int64_t offset, int64_t size, Fn&& fn) const {
    const int64_t rows = size / width_;
    const int64_t rest = size % width_;
    if (rows > 0) fn(Strip{offset, width_, rows, width_});
    if (rest > 0) fn(Strip{offset + size - rest, width_, 1, rest});
  }

  int64_t outer_ = 0;
  int64_t channels_ = 0;
  int64_t inner_ = 0;
  int64_t width_ = 0;          // of the longest strip
  int64_t tile_channels_ = 0;  // of one task
  int64_t tiles_ = 0;
  int64_t outer_per_group_ = 0;
  int64_t groups_ = 0;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_NN_CHANNEL_CUTS_H_
