// What tests of passes share: the same step with and without a pass.
#ifndef MILLSTREAM_CORE_PASSES_PASS_FIXTURE_H_
#define MILLSTREAM_CORE_PASSES_PASS_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/passes/pass.h"
#include "core/session.h"
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

class PassTest : public SessionTest {
 protected:
  struct Outcome {
    int64_t instructions = 0;
    std::vector<Tensor> values;
  };

  explicit PassTest(const char* pass) : pass_(pass) {}

  // A float tensor that every step is fed, of Numbers.
  Output Fed(const std::string& name, const Shape& shape) { return FedValue(name, Numbers(shape)); }
  Output FedValue(const std::string& name, const Tensor& value) {
    feeds_.push_back(Placeholder(name, value.dtype()));
    values_.push_back(value);
    return feeds_.back();
  }

  // One step in a session of its own.
  Outcome RunWith(const SessionOptions& options, const std::vector<Output>& fetches,
                  const std::vector<const Node*>& targets = {}) {
    Outcome outcome;
    EXPECT_TRUE(LoadCpuPlugin().ok());
    const StatusOr<std::unique_ptr<Session>> session = Session::Create(&graph, options);
    EXPECT_TRUE(session.ok()) << session.status();
    const auto callable = (*session)->MakeCallable({feeds_, fetches, targets});
    EXPECT_TRUE(callable.ok()) << callable.status();
    outcome.values.resize(fetches.size());
    const Status ran = (*callable)->Run(values_, absl::MakeSpan(outcome.values), RunOptions());
    EXPECT_TRUE(ran.ok()) << ran;
    outcome.instructions = (*callable)->num_instructions();
    return outcome;
  }

  // How many instructions the pass, and no other, saves. What the step gives must be the same to
  // the bit.
  int64_t Saved(const std::vector<Output>& fetches, const std::vector<const Node*>& targets = {}) {
    SessionOptions options;
    options.disabled_passes = PassNames();
    const Outcome plain = RunWith(options, fetches, targets);
    std::vector<std::string>& disabled = options.disabled_passes;
    disabled.erase(std::find(disabled.begin(), disabled.end(), pass_));
    const Outcome fused = RunWith(options, fetches, targets);
    for (size_t i = 0; i < fetches.size(); ++i) {
      EXPECT_EQ(plain.values[i].shape(), fused.values[i].shape());
      EXPECT_EQ(Bytes(plain.values[i]), Bytes(fused.values[i])) << fetches[i].name();
    }
    return plain.instructions - fused.instructions;
  }

 private:
  static std::string Bytes(const Tensor& tensor) {
    return std::string(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }

  const std::string pass_;
  std::vector<Output> feeds_;
  std::vector<Tensor> values_;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_PASSES_PASS_FIXTURE_H_
