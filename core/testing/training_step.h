// A training step of every kind of memory there is: planned and escaping tensors, outputs whose
// shape the kernel finds, temporary pieces, strings, rows of gradients, what is fed, fetched and
// folded, variables with slots of three optimizers; and, when asked for, a loop and a conditional.
#ifndef MILLSTREAM_CORE_TESTING_TRAINING_STEP_H_
#define MILLSTREAM_CORE_TESTING_TRAINING_STEP_H_

#include <string>
#include <vector>

#include "core/graph/graph_builder.h"
#include "core/session/session.h"

namespace millstream {

// The nodes, to be run by sessions of their graph.
class TrainingStep {
 public:
  // Errors are the builder's.
  TrainingStep(GraphBuilder* builder, bool with_control_flow);

  const StepSignature& initialize() const { return initialize_; }
  const StepSignature& train() const { return train_; }
  // What `train` is fed.
  std::vector<Tensor> Batch() const;
  // Fetches every variable.
  const StepSignature& read() const { return read_; }
  // Is fed a value for every variable, in the order in which `read` gives them.
  const StepSignature& restore() const { return restore_; }

 private:
  // A handle; its variable begins with numbers that `seed` decides.
  Output Variable(const std::string& name, const std::vector<int64_t>& dims, int seed);
  Output Placeholder(const std::string& name, DataType dtype, const PartialShape& shape);
  Output Read(const Output& handle);
  Output Numbers(const std::vector<int64_t>& dims, int seed);
  Output Logits();
  void AddUpdates(const Output& loss);
  void AddSummaries(const Output& loss, const Output& logits);
  // tanh(state * weights) a few times, and its absolute value where the loss is large.
  void AddControlFlow(const Output& loss, const Output& logits);
  // while (count < 3) { ++count; state = tanh(state * weights) }
  Output Loop(const Output& initial, const Output& weights);

  GraphBuilder& build_;
  StepSignature initialize_;
  StepSignature train_;
  StepSignature read_;
  StepSignature restore_;
  Output images_;
  Output labels_;
  Output ids_;
  Output filter_;
  Output bias_;
  Output table_;
  Output weights_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_TESTING_TRAINING_STEP_H_
