// The fixture of the passes' tests: runs the same step with and without a pass.
#ifndef MILLSTREAM_CORE_PASSES_PASS_FIXTURE_H_
#define MILLSTREAM_CORE_PASSES_PASS_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/passes/pass.h"
#include "core/session/session.h"
#include "core/testing/session_fixture.h"
#include "gtest/gtest.h"

namespace millstream {

// Numbers of both signs, the same in every run.
inline Tensor Numbers(const Shape& shape) {
  Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i * 7919) % 2003) / 1000.0f - 1.0f;
  }
  return tensor;
}

// Special values of floating-point arithmetic: zeros, infinities and the largest and smallest
// numbers of both signs, and NaNs with different bits.
inline Tensor SpecialNumbers() {
  const uint32_t bits[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7f7fffff,
                           0xff7fffff, 0x00800000, 0x80800000, 0x00000001, 0x80000001,
                           0x007fffff, 0x807fffff, 0x7fc00000, 0xffc00000, 0x7fc12345,
                           0xffe54321, 0x3f800000, 0xbf800000, 0x3eaaaaab, 0x4b800001};
  Tensor tensor = *Tensor::Create(DataType::kFloat, Shape({std::size(bits)}));
  std::memcpy(tensor.raw(), bits, sizeof(bits));
  return tensor;
}

class PassTest : public SessionTest {
 protected:
  struct Outcome {
    int64_t instructions = 0;
    std::vector<Tensor> values;
  };

  explicit PassTest(const std::string& pass) : PassTest(std::vector<std::string>{pass}) {}
  explicit PassTest(std::vector<std::string> passes) : passes_(std::move(passes)) {}

  // A float tensor that every step is fed, of Numbers.
  Output Fed(const std::string& name, const Shape& shape) { return FedValue(name, Numbers(shape)); }
  Output FedValue(const std::string& name, const Tensor& value) {
    return Feed(Placeholder(name, value.dtype()), value);
  }
  // Feeds `value` for this output in every step.
  Output Feed(const Output& output, const Tensor& value) {
    feeds_.push_back(output);
    values_.push_back(value);
    return output;
  }

  // One step in a session of its own.
  Outcome RunWith(const SessionOptions& options, const std::vector<Output>& fetches,
                  const std::vector<const Node*>& targets = {},
                  const RunOptions& run_options = RunOptions()) {
    Outcome outcome;
    EXPECT_TRUE(LoadCpuPlugin().ok());
    const StatusOr<std::unique_ptr<Session>> session = Session::Create(&graph, options);
    EXPECT_TRUE(session.ok()) << session.status();
    const auto callable = (*session)->MakeCallable({feeds_, fetches, targets});
    EXPECT_TRUE(callable.ok()) << callable.status();
    outcome.values.resize(fetches.size());
    const Status ran = (*callable)->Run(values_, absl::MakeSpan(outcome.values), run_options);
    EXPECT_TRUE(ran.ok()) << ran;
    outcome.instructions = (*callable)->num_instructions();
    return outcome;
  }

  // The ops that run with the passes of the test, and no others, in order.
  std::vector<std::string> ExecutedOps(const std::vector<Output>& fetches) {
    StepReport report;
    report.want_trace = true;
    RunOptions traced;
    traced.report = &report;
    RunWith(OnlyThePasses(), fetches, {}, traced);
    std::vector<std::string> ops;
    for (const TracedPart& part : report.trace.parts()) {
      for (const TracedNode& node : part.nodes) ops.push_back(node.op);
    }
    return ops;
  }

  // The number of instructions that the passes of the test save, without other passes. Expects the
  // results of the step to be equal bit for bit.
  int64_t Saved(const std::vector<Output>& fetches, const std::vector<const Node*>& targets = {}) {
    SessionOptions options;
    options.disabled_passes = PassNames();
    const Outcome plain = RunWith(options, fetches, targets);
    const Outcome fused = RunWith(OnlyThePasses(), fetches, targets);
    for (size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_EQ(plain.values[i].shape(), fused.values[i].shape());
      EXPECT_EQ(Bytes(plain.values[i]), Bytes(fused.values[i])) << fetches[i].name();
    }
    return plain.instructions - fused.instructions;
  }

 private:
  SessionOptions OnlyThePasses() const {
    SessionOptions options;
    options.disabled_passes = PassNames();
    for (const std::string& pass : passes_) {
      std::vector<std::string>& disabled = options.disabled_passes;
      disabled.erase(std::find(disabled.begin(), disabled.end(), pass));
    }
    return options;
  }
  static std::string Bytes(const Tensor& tensor) {
    return std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }

  const std::vector<std::string> passes_;
  std::vector<Output> feeds_;
  std::vector<Tensor> values_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_PASS_FIXTURE_H_
