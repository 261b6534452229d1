// What a kernel's frame was when the kernel got it. The frame, its views and its bitmap are the
// host's: a kernel writes to none of them.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_FRAME_COPY_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_FRAME_COPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/plugin/plugin.h"

namespace millstream::plugin_check {

class FrameCopy {
 public:
  // Copies all but the outputs, which the host writes while the kernel runs.
  explicit FrameCopy(const MS_Frame& frame);
  // The parts that are different now: "n_in", "inputs[0]". `outputs` are the views that the host
  // has written.
  std::vector<std::string> Changes(const std::vector<MS_TensorView>& outputs) const;

 private:
  const MS_Frame& frame_;
  const MS_Frame copy_;
  const std::vector<MS_TensorView> inputs_;
  const std::vector<uint64_t> outputs_used_;
};

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_FRAME_COPY_H_
