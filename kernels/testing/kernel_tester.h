// Runs one node's kernel against the fake host and compares the ways that a host may run it.
//
//   KernelTester t("AddV2");
//   t.Attr("T", MS_FLOAT32);
//   t.Input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).Input<float>({3}, {10, 20, 30});
//   ASSERT_TRUE(IsOk(t.Run()));
//   EXPECT_EQ(t.Output<float>(0), (std::vector<float>{11, 22, 33, 14, 25, 36}));
//
// Run executes the kernel several times from the same start and returns INTERNAL when they do not
// give the same bits (or the same within Tolerance):
//   1. dynamic: one thread, the kernel allocates its outputs;
//   2. dynamic: several threads, inputs at odd addresses, outputs may take over input buffers;
//   3. planned: Specialize first, outputs and scratch preset, several threads;
//   4. planned, with outputs laid over the inputs that the registration declares as in-place pairs
//      (only where one fits).
// Where the test is linked with a test device (fake_host.h), the same once more on that, after
// which host arguments and frames are overwritten while the device may still have the work before
// it. A failing must be the same there. It also fails when the kernel writes outside its outputs,
// changes an input that it was not given, leaves a consumed output unmade or keeps variables
// locked. Unwritten elements show because every execution starts from other garbage.
#ifndef MILLSTREAM_KERNELS_TESTING_KERNEL_TESTER_H_
#define MILLSTREAM_KERNELS_TESTING_KERNEL_TESTER_H_

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/testing/fake_host.h"

namespace millstream::kernels::testing {

class KernelTester {
 public:
  explicit KernelTester(std::string op);
  KernelTester(const KernelTester&) = delete;
  KernelTester& operator=(const KernelTester&) = delete;
  ~KernelTester();

  // An attribute. MS_DType values (uint32_t) are dtypes, bool is bool, other integers are int,
  // floating-point numbers are float, texts are string. A real node has every attribute of its op:
  // set all that the kernel reads. Attributes seed and seed2 start the Philox stream.
  template <typename Value>
  KernelTester& Attr(const std::string& name, const Value& value);
  KernelTester& Attr(const std::string& name, std::vector<int64_t> values);
  KernelTester& Attr(const std::string& name, std::vector<float> values);
  KernelTester& Attr(const std::string& name, std::vector<MS_DType> values);
  KernelTester& Attr(const std::string& name, std::vector<std::string> values);
  KernelTester& ShapeAttr(const std::string& name, std::vector<int64_t> dims);
  template <typename T>
  KernelTester& TensorAttr(const std::string& name, std::vector<int64_t> dims,
                           const std::vector<T>& values);

  // The next input. A ConstInput's value is also shown to Specialize. With std::string as T,
  // tensors of strings.
  template <typename T>
  KernelTester& Input(std::vector<int64_t> dims, const std::vector<T>& values);
  template <typename T>
  KernelTester& ConstInput(std::vector<int64_t> dims, const std::vector<T>& values);
  // The next input is the handle of a variable with this value. Runs change it.
  template <typename T>
  KernelTester& Variable(std::vector<int64_t> dims, const std::vector<T>& values);
  KernelTester& UnassignedVariable(MS_DType dtype);
  // Replaces the value of an input (or of the variable behind it) before the next Run.
  template <typename T>
  KernelTester& SetInput(uint32_t index, std::vector<int64_t> dims, const std::vector<T>& values);
  // Inputs, outputs [begin, end) form the argument `name`. Only needed where the kernel asks.
  KernelTester& InputRange(const std::string& name, uint32_t begin, uint32_t end);
  KernelTester& OutputRange(const std::string& name, uint32_t begin, uint32_t end);

  // How many outputs, of which dtypes. Without it: one, of attribute T or else of input 0.
  KernelTester& Outputs(std::vector<MS_DType> dtypes);
  // Nobody consumes this output: it is not compared and may be left unmade.
  KernelTester& Unused(uint32_t output);
  // Threads of executions 2 to 4; 3 without it.
  KernelTester& Threads(uint32_t threads);
  // |a - b| <= absolute + relative * |b| between executions instead of equal bits (floats only).
  KernelTester& Tolerance(double relative, double absolute);
  // Between executions any NaN is like any other (floats only): for kernels of which a planned
  // execution may pass on another one of two NaNs.
  KernelTester& NaNsAreAlike();
  // Starts the Philox stream here instead of from seed and seed2.
  KernelTester& Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high);
  // Executes with shapes unknown in advance only: for ops whose output shape depends on values.
  KernelTester& DynamicOnly();

  // NOT_FOUND when no registered kernel fits op, type attributes and label; else what the kernel
  // says, or INTERNAL for the failings listed above. Later Runs go on with the same kernel object,
  // variables and random stream.
  ms::Status Run();

  // Results of the last successful Run.
  template <typename T>
  std::vector<T> Output(uint32_t index) const;
  const std::vector<int64_t>& OutputShape(uint32_t index) const;
  template <typename T>
  std::vector<T> VariableValue(uint32_t input) const;
  // Blocks of the Philox stream reserved by the last Run.
  uint64_t reserved_blocks() const { return reserved_blocks_; }

 private:
  struct InputSpec {
    TensorValue value;  // a variable's value when is_variable
    bool is_variable = false;
    bool is_const = false;
  };
  struct Mode {
    const char* name;
    bool planned;
    bool share;  // outputs may lie over inputs
    uint32_t threads;
    uint8_t fill;
    uint64_t input_offset;
    bool on_device;
  };
  struct Execution {
    std::vector<TensorValue> outputs;
    std::vector<TensorValue> variables;  // one an input; those that are no variables have no buffer
    std::array<uint64_t, 2> philox_counter{};
    bool shared = false;  // some output lay over an input
  };

  template <typename T>
  static TensorValue MakeTensor(std::vector<int64_t> dims, const std::vector<T>& values);
  template <typename T>
  static std::vector<T> Values(const TensorValue& tensor);
  AttrValue& NewAttr(const std::string& name, MS_AttrKind kind);
  KernelTester& AddInput(TensorValue value, bool is_variable, bool is_const);

  ms::Status CreateKernel();
  bool HasDeviceKernel() const;
  ms::Status FailOnDevice(const ms::Status& expected);
  ms::Status Execute(const Mode& mode, const Execution* planned_as, Execution* result);
  std::vector<MS_TensorView> MakeInputs(const Mode& mode, MS_Ctx* ctx, Execution* result) const;
  std::vector<MS_TensorView> MakeOutputs(const Mode& mode, const Execution* planned_as, MS_Ctx* ctx,
                                         std::vector<bool>* input_shared) const;
  ms::Status Specialize(const Mode& mode, const Execution& planned_as,
                        MS_Specialization* specialization);
  ms::Status CallOnDevice(MS_Ctx* ctx, MS_Frame* frame, std::vector<MS_TensorView>* inputs);
  ms::Status Call(const Mode& mode, MS_Ctx* ctx, const MS_Specialization& specialization,
                  std::vector<MS_TensorView>* inputs, std::vector<MS_TensorView>* outputs);
  void ShareBuffers(MS_Ctx* ctx, std::vector<bool>* input_shared) const;
  ms::Status CheckAfter(const MS_Ctx& ctx, const std::vector<bool>& input_shared) const;
  ms::Status Compare(const Mode& mode, const Execution& expected, const Execution& actual) const;
  ms::Status CompareTensors(const std::string& what, const TensorValue& expected,
                            const TensorValue& actual) const;
  bool Used(uint32_t output) const;

  MS_KernelInfo info_;
  std::vector<InputSpec> inputs_;
  std::vector<bool> unused_;
  bool outputs_declared_ = false;
  bool dynamic_only_ = false;
  uint32_t threads_ = 3;
  bool nans_are_alike_ = false;
  double relative_ = 0;
  double absolute_ = 0;
  bool philox_set_ = false;
  uint64_t philox_key_ = 0;
  std::array<uint64_t, 2> philox_counter_{};
  uint64_t reserved_blocks_ = 0;
  const RegisteredKernel* kernel_ = nullptr;
  void* state_ = nullptr;
  void* device_state_ = nullptr;  // the device kernel's, where there is one
  std::vector<bool> in_host_;     // inputs, on the device
  Execution last_;
};

// gtest predicates that say what is wrong.
::testing::AssertionResult IsOk(const ms::Status& status);

// |actual - expected| <= absolute + relative * |expected| for every element; NaN equals NaN.
template <typename T>
::testing::AssertionResult IsNear(const std::vector<T>& actual, const std::vector<T>& expected,
                                  double relative, double absolute);

// ---- Implementation of the templates
// -------------------------------------------------------------

template <typename Value>
KernelTester& KernelTester::Attr(const std::string& name, const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    NewAttr(name, MS_ATTR_BOOL).boolean = value;
  } else if constexpr (std::is_same_v<Value, MS_DType>) {
    NewAttr(name, MS_ATTR_DTYPE).dtype = value;
  } else if constexpr (std::is_integral_v<Value>) {
    NewAttr(name, MS_ATTR_I64).i64 = static_cast<int64_t>(value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    NewAttr(name, MS_ATTR_F32).f32 = static_cast<float>(value);
  } else {
    NewAttr(name, MS_ATTR_STR).text = std::string(std::string_view(value));
  }
  return *this;
}

// The dtype of tensors whose elements the tester takes and gives as T.
template <typename T>
constexpr MS_DType TesterDType() {
  if constexpr (std::is_same_v<T, std::string>) {
    return MS_STRING;
  } else {
    return ms::DTypeOf<T>();
  }
}

template <typename T>
TensorValue KernelTester::MakeTensor(std::vector<int64_t> dims, const std::vector<T>& values) {
  TensorValue tensor = TensorValue::Make(TesterDType<T>(), std::move(dims));
  if (static_cast<int64_t>(values.size()) != tensor.size()) {
    ADD_FAILURE() << "the tester got " << values.size() << " values for a tensor of "
                  << tensor.size() << " elements";
    return tensor;
  }
  if constexpr (std::is_same_v<T, std::string>) {
    auto* cells = reinterpret_cast<uint64_t*>(tensor.buffer->data());
    for (size_t i = 0; i < values.size(); ++i) cells[i] = CellOf(values[i]);
  } else {
    T* data = reinterpret_cast<T*>(tensor.buffer->data());
    for (size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  }
  return tensor;
}

template <typename T>
std::vector<T> KernelTester::Values(const TensorValue& tensor) {
  if (tensor.buffer == nullptr || tensor.dtype != TesterDType<T>()) {
    ADD_FAILURE() << "a value was asked for that does not exist or has another dtype";
    return {};
  }
  if constexpr (std::is_same_v<T, std::string>) {
    const auto* cells = reinterpret_cast<const uint64_t*>(tensor.buffer->data());
    std::vector<T> texts;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const std::string* text = CellText(cells[i]);
      if (text == nullptr) ADD_FAILURE() << "string cell " << i << " was never set";
      texts.push_back(text == nullptr ? "" : *text);
    }
    return texts;
  } else {
    const T* data = reinterpret_cast<const T*>(tensor.buffer->data());
    return std::vector<T>(data, data + tensor.size());
  }
}

template <typename T>
KernelTester& KernelTester::TensorAttr(const std::string& name, std::vector<int64_t> dims,
                                       const std::vector<T>& values) {
  NewAttr(name, MS_ATTR_TENSOR).tensor = MakeTensor<T>(std::move(dims), values);
  return *this;
}
template <typename T>
KernelTester& KernelTester::Input(std::vector<int64_t> dims, const std::vector<T>& values) {
  return AddInput(MakeTensor<T>(std::move(dims), values), false, false);
}
template <typename T>
KernelTester& KernelTester::ConstInput(std::vector<int64_t> dims, const std::vector<T>& values) {
  return AddInput(MakeTensor<T>(std::move(dims), values), false, true);
}
template <typename T>
KernelTester& KernelTester::Variable(std::vector<int64_t> dims, const std::vector<T>& values) {
  return AddInput(MakeTensor<T>(std::move(dims), values), true, false);
}
template <typename T>
KernelTester& KernelTester::SetInput(uint32_t index, std::vector<int64_t> dims,
                                     const std::vector<T>& values) {
  inputs_.at(index).value = MakeTensor<T>(std::move(dims), values);
  return *this;
}
template <typename T>
std::vector<T> KernelTester::Output(uint32_t index) const {
  return Values<T>(last_.outputs.at(index));
}
template <typename T>
std::vector<T> KernelTester::VariableValue(uint32_t input) const {
  return Values<T>(inputs_.at(input).value);
}

template <typename T>
::testing::AssertionResult IsNear(const std::vector<T>& actual, const std::vector<T>& expected,
                                  double relative, double absolute) {
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure()
           << actual.size() << " elements, expected " << expected.size();
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = static_cast<double>(actual[i]);
    const double b = static_cast<double>(expected[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= absolute + relative * std::abs(b))) {
      return ::testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << b
                                           << " (off by " << std::abs(a - b) << ")";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace millstream::kernels::testing

#endif  // MILLSTREAM_KERNELS_TESTING_KERNEL_TESTER_H_
