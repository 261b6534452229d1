#include "device_plugins/sim/recorded_frame.h"

namespace millstream::sim {

RecordedFrame::RecordedFrame(const MS_Frame& frame, const Memory& memory)
    : frame_(frame),
      inputs_(Kept(frame.inputs, frame.n_in, memory)),
      outputs_(Kept(frame.outputs, frame.n_out, memory)),
      outputs_used_(frame.outputs_used, frame.outputs_used + (frame.n_out + 63) / 64) {}

std::vector<MS_TensorView> RecordedFrame::Kept(const MS_TensorView* views, uint32_t n,
                                               const Memory& memory) {
  std::vector<MS_TensorView> kept(views, views + n);
  for (MS_TensorView& view : kept) {
    view.handle = nullptr;
    if (view.rank != MS_UNKNOWN_RANK) {
      view.dims = dims_.emplace_back(view.dims, view.dims + view.rank).data();
    }
    if (view.mem.bytes == 0 || view.mem.base == nullptr || memory.Holds(view.mem)) continue;
    const char* const host = memory.Shown(view.mem);
    view.mem.base = host_arguments_.emplace_back(host, host + view.mem.bytes).data();
    view.mem.offset = 0;
  }
  return kept;
}

void RecordedFrame::Use(const Relocation& relocation,
                        const std::function<void(const MS_Frame&)>& use) const {
  std::vector<MS_TensorView> inputs = inputs_;
  std::vector<MS_TensorView> outputs = outputs_;
  for (MS_TensorView& input : inputs) input.mem = relocation(input.mem);
  for (MS_TensorView& output : outputs) output.mem = relocation(output.mem);
  MS_Frame frame = frame_;
  frame.inputs = inputs.data();
  frame.outputs = outputs.data();
  frame.outputs_used = outputs_used_.data();
  use(frame);
}

}  // namespace millstream::sim
