#include "core/gradients/frame_builder.h"

namespace millstream {

Output FrameBuilder::Noted(const Output& output) {
  if (region_ != nullptr && output) region_->NoteMade(output.node);
  return output;
}

Output FrameBuilder::Op(const char* op, const std::vector<Output>& inputs) {
  return Noted(builder_->Op(op, inputs));
}

Output FrameBuilder::Enter(const Output& value, bool is_constant) {
  return Noted(builder_->Op("Enter", {value},
                            {{"frame_name", frame_name_},
                             {"is_constant", is_constant},
                             {"parallel_iterations", parallel_iterations_}}));
}

Output FrameBuilder::Merged(const Output& first) {
  const Output entered = Enter(first, false);
  // The second input becomes that of the next iteration.
  const Node* const merge = builder_->Variadic("Merge", {{entered, entered}});
  return merge == nullptr ? Output() : Noted(merge->output(0));
}

FrameVariable FrameBuilder::Decided(const Output& merged) {
  FrameVariable variable;
  variable.merged = merged;
  const Output left = Op("Switch", {merged, condition_});
  variable.decision = left.node;
  return variable;
}

void FrameBuilder::SetNext(const FrameVariable& variable, const Output& next) {
  const Output following = Op("NextIteration", {next});
  if (!builder_->ok()) return;
  builder_->UpdateStatus(builder_->graph()->SetBackEdge(variable.merged.node, 1, following.node));
}

Output FrameBuilder::Exit(const FrameVariable& variable) {
  if (!builder_->ok()) return Output();
  return builder_->Op("Exit", {variable.decision->output(0)});
}

}  // namespace millstream
