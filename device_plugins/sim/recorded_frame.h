// A kernel's frame that is kept after its compute has returned, to run the kernel again and again.
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_RECORDED_FRAME_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_RECORDED_FRAME_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "device_plugins/sim/memory.h"
#include "device_plugins/sim/relocation.h"
#include "framework/plugin/plugin.hpp"

namespace millstream::sim {

// Holds copies of all that the frame points to: views, shapes, host arguments. Device memory is
// named as the host named it. Constant after creation.
class RecordedFrame {
 public:
  RecordedFrame(const MS_Frame& frame, const Memory& memory);
  RecordedFrame(const RecordedFrame&) = delete;
  RecordedFrame& operator=(const RecordedFrame&) = delete;

  // Calls `use` with the frame, whose device memory is where the relocation says.
  void Use(const Relocation& relocation, const std::function<void(const MS_Frame&)>& use) const;

 private:
  std::vector<MS_TensorView> Kept(const MS_TensorView* views, uint32_t n, const Memory& memory);

  std::deque<std::vector<int64_t>> dims_;
  std::deque<std::vector<char>> host_arguments_;
  MS_Frame frame_;
  std::vector<MS_TensorView> inputs_;
  std::vector<MS_TensorView> outputs_;
  std::vector<uint64_t> outputs_used_;
};

}  // namespace millstream::sim

#endif  // MILLSTREAM_DEVICE_PLUGINS_SIM_RECORDED_FRAME_H_
