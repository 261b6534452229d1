// The inputs and results of a shape function.
#ifndef MILLSTREAM_FRAMEWORK_SHAPE_CONTEXT_H_
#define MILLSTREAM_FRAMEWORK_SHAPE_CONTEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "framework/attr_value.h"
#include "framework/op_call.h"
#include "framework/op_def.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A small integer tensor of rank 0 or 1 of which some elements may be unknown (nullopt).
using PartialValue = std::vector<std::optional<int64_t>>;

// The static dtype and shape of the value of a variable, from its handle.
struct HandleInfo {
  DataType dtype = DataType::kInvalid;
  PartialShape shape;
};

// The static facts about one input.
struct InputFacts {
  PartialShape shape;
  DataType dtype = DataType::kInvalid;
  const Tensor* constant = nullptr;             // its value if it is the same in every step
  const PartialValue* partial_value = nullptr;  // for small integer tensors
  const HandleInfo* handle = nullptr;           // for variable handles
};

// The inferred facts about one output.
struct OutputFacts {
  PartialShape shape;
  std::optional<PartialValue> value;
  std::optional<HandleInfo> handle;
};

// One inference for one call. Inputs and outputs are counted in tensors (variadic ones expanded).
// Numbers of inputs and outputs must be in range. Not thread-safe.
class ShapeContext {
 public:
  // What `call` is a view of must outlive the context.
  ShapeContext(const OpCall& call, std::vector<InputFacts> inputs);

  const OpCall& call() const { return call_; }
  const OpDef& op() const { return *call_.op; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const PartialShape& input(int i) const { return inputs_[i].shape; }
  DataType input_type(int i) const { return inputs_[i].dtype; }
  DataType output_type(int i) const { return call_.output_type(i); }
  // The argument's name, for messages.
  std::string InputName(int i) const { return call_.InputName(i); }
  // The value when it is known in full, else null.
  const Tensor* constant(int i) const { return inputs_[i].constant; }
  // The known elements of an integer input of rank 0 or 1; nullopt if not even their number is
  // known.
  std::optional<PartialValue> InputValue(int i) const;
  // The shape whose sizes input i has, a vector; -1 stands for unknown. The rank is unknown if the
  // length of the vector is. INVALID_ARGUMENT if the input is no vector or has sizes below -1.
  StatusOr<PartialShape> InputAsShape(int i) const;
  // The value of a scalar integer input; nullopt if it is not known. INVALID_ARGUMENT for no
  // scalar.
  StatusOr<std::optional<int64_t>> InputAsScalar(int i) const;
  const HandleInfo* handle(int i) const { return inputs_[i].handle; }

  const AttrMap& attrs() const { return *call_.attrs; }
  template <typename T>
  StatusOr<T> Attr(absl::string_view name) const {
    return call_.Attr<T>(name);
  }

  // Sets the shape of output i, which is unknown otherwise. A second call replaces the shape.
  // InferShapes checks the rank.
  void SetOutput(int i, PartialShape shape) { outputs_[i].shape = std::move(shape); }
  const PartialShape& output(int i) const { return outputs_[i].shape; }
  // For value functions: sets the known elements of a small integer output.
  void SetOutputValue(int i, PartialValue value) { outputs_[i].value = std::move(value); }
  // Declares that output i is the handle of a variable.
  void SetOutputHandle(int i, HandleInfo handle) { outputs_[i].handle = std::move(handle); }
  std::vector<OutputFacts> TakeOutputs() { return std::move(outputs_); }

  // ---- Checks that most shape functions need; messages name the argument ----
  // The input's shape with this rank, if necessary with unknown dimensions. INVALID_ARGUMENT if the
  // input has another rank.
  StatusOr<PartialShape> WithRank(int i, int rank) const;
  // The input's shape; of unknown rank if that is not known. INVALID_ARGUMENT if the input has a
  // lower rank, or a higher one.
  StatusOr<PartialShape> WithRankAtLeast(int i, int rank) const;
  StatusOr<PartialShape> WithRankAtMost(int i, int rank) const;
  // What is known of a tensor that has both shapes. INVALID_ARGUMENT, with the op, if there is
  // none: the ranks or two known sizes differ.
  StatusOr<PartialShape> Merge(const PartialShape& a, const PartialShape& b) const;
  // The common size of two dimensions that may be unknown. INVALID_ARGUMENT if they differ.
  StatusOr<int64_t> MergeDim(int64_t a, int64_t b) const;

 private:
  const OpCall call_;
  std::vector<InputFacts> inputs_;
  std::vector<OutputFacts> outputs_;
};

// Runs the op's shape and value functions, and takes the results out of the context. Without a
// shape function, output shapes are unknown. Errors are those of the shape function, and
// INVALID_ARGUMENT if an output would have more than kMaxRank dimensions.
StatusOr<std::vector<OutputFacts>> InferShapes(ShapeContext* context);

// ---- Shape functions that many ops share ----
Status UnchangedShape(ShapeContext* context);        // output 0 has the shape of input 0
Status ScalarShape(ShapeContext* context);           // every output is a scalar
Status NoOutputs(ShapeContext* context);             // for ops without outputs
Status BroadcastBinaryShape(ShapeContext* context);  // inputs 0 and 1 broadcast (NumPy's rule)
Status MergeAllInputsShape(ShapeContext* context);   // all inputs have one shape, so has output 0
// The broadcast of two shapes; unknown if a rank is unknown. INVALID_ARGUMENT if two sizes differ
// and neither is 1.
StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b);
// Converts `axis`, which counts from the end if negative, to [0, rank). INVALID_ARGUMENT if it is
// out of range.
StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_SHAPE_CONTEXT_H_
