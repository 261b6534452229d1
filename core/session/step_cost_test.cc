// After warm-up a step takes no lock and allocates nothing from the heap in the runtime, so that
// small models train at the speed of their kernels.
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/gradients/gradients.h"
#include "core/session/session.h"
#include "core/testing/cost_counter.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kBatch = 32;
constexpr int kWarmUpSteps = 20;
constexpr int kCountedSteps = 50;

TEST(CostCounterTest, SeesAllocationsAndLocksOfThisThread) {
  absl::Mutex ours;
  std::mutex standard;
  CostCounter counter;
  auto* volatile number = new int(1);
  delete number;
  void* volatile block = aligned_alloc(64, 64);
  free(block);
  ours.Lock();
  ours.Unlock();
  standard.lock();
  standard.unlock();
  const std::vector<std::string> events = counter.Finish().runtime;
  EXPECT_EQ(events.size(), 4u);
  for (const char* what : {"malloc", "aligned_alloc", "absl::Mutex::Lock", "pthread_mutex_lock"}) {
    EXPECT_THAT(events, Contains(HasSubstr(absl::StrCat(what, " by")))) << what;
  }
}

TEST(CostCounterTest, TheAllocatorOfTensorsIsTheRuntimes) {
  CostCounter counter;
  const Tensor tensor = Values<float>({1, 2, 3});
  const CostCounter::Events events = counter.Finish();
  EXPECT_THAT(events.runtime, Not(IsEmpty()));
  EXPECT_THAT(events.backend, IsEmpty());
}

class StepCostTest : public SessionTest, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    SessionOptions options;
    options.intra_op_threads = GetParam();
    StartSession(options);
  }

  // A weight, drawn small, and the op that gives it its value.
  Output Weight(const std::string& name, const std::vector<int32_t>& sizes) {
    const std::vector<int64_t> dims(sizes.begin(), sizes.end());
    const Output handle = Variable(name, DataType::kFloat, PartialShape(absl::MakeConstSpan(dims)));
    const Output drawn = Op("TruncatedNormal", {Constant(Values<int32_t>(sizes))},
                            {{"dtype", DataType::kFloat}, {"seed", 1}});
    handles_.push_back(handle);
    initializers_.push_back(Assign(handle, Op("Mul", {drawn, Constant(0.05f)})));
    return Read(handle);
  }

  // One step of gradient descent of the 784-256-128-10 classifier; the loss is fetched.
  StepSignature TrainingStep() {
    const Output images = Placeholder("images", DataType::kFloat, {kBatch, 784});
    const Output labels = Placeholder("labels", DataType::kInt32, {kBatch});
    const std::vector<int32_t> sizes = {784, 256, 128, 10};
    Output hidden = images;
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      hidden = Op("MatMul", {hidden, Weight(absl::StrCat("w", i), {sizes[i], sizes[i + 1]})});
      hidden = Op("Add", {hidden, Weight(absl::StrCat("b", i), {sizes[i + 1]})});
      if (i + 2 < sizes.size()) hidden = Op("Relu", {hidden});
    }
    const Output losses = Op("SparseSoftmaxCrossEntropyWithLogits", {hidden, labels});
    const Output loss = Op("Mean", {losses, Constant(Values<int32_t>({0}))});
    StepSignature step{{images, labels}, {loss}, {}};
    const auto gradients = AddGradients(&graph, {loss}, handles_, {}, GradientOptions());
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    if (!gradients.ok()) return step;
    for (size_t i = 0; i < handles_.size(); ++i) {
      step.targets.push_back(build.NodeOf("ResourceApplyGradientDescent",
                                          {handles_[i], Constant(0.1f), (*gradients)[i].values}));
    }
    EXPECT_TRUE(build.ok()) << build.status();
    return step;
  }

  static std::vector<Tensor> Batch() {
    std::vector<float> pixels(kBatch * 784);
    std::vector<int32_t> labels(kBatch);
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<float>(i * 7919 % 1000) / 1000;
    }
    for (int i = 0; i < kBatch; ++i) labels[i] = i % 10;
    return {Tensor::FromValues<float>({kBatch, 784}, pixels), Values<int32_t>(labels)};
  }

  std::vector<Output> handles_;
  std::vector<const Node*> initializers_;
};

TEST_P(StepCostTest, ATrainingStepCostsTheRuntimeNoAllocationAndNoLock) {
  const StepSignature signature = TrainingStep();
  ASSERT_EQ(Execute(initializers_), absl::OkStatus());
  const std::unique_ptr<Callable> callable = MakeCallable(signature);
  const std::vector<Tensor> feeds = Batch();
  std::vector<Tensor> results(1);
  const RunOptions options;
  float first = 0;
  for (int i = 0; i < kWarmUpSteps; ++i) {
    ASSERT_EQ(callable->Run(feeds, absl::MakeSpan(results), options), absl::OkStatus());
    if (i == 0) first = *results[0].data<float>();
  }
  CostCounter counter;
  int failed = 0;
  for (int i = 0; i < kCountedSteps; ++i) {
    failed += !callable->Run(feeds, absl::MakeSpan(results), options).ok();
  }
  const CostCounter::Events events = counter.Finish();
  EXPECT_EQ(failed, 0);
  EXPECT_THAT(events.runtime, IsEmpty());
  // What libraries of a backend do inside is theirs; it is told, not judged.
  RecordProperty("backend_events", static_cast<int>(events.backend.size()));
  if (!events.backend.empty()) RecordProperty("backend_example", events.backend[0]);
  EXPECT_LT(*results[0].data<float>(), first);
}

TEST_P(StepCostTest, AFetchedTensorsMemoryComesBackWhenTheCallerDropsIt) {
  const Output x = Placeholder("x", DataType::kFloat);
  const std::unique_ptr<Callable> callable = MakeCallable({{x}, {Op("Neg", {x})}, {}});
  const std::vector<Tensor> feeds = {Values<float>(std::vector<float>(1000, 1))};
  Tensor held;
  const auto step = [&] {
    // As in `loss = run()`: the old result goes when the new one is there.
    std::array<Tensor, 1> results;
    EXPECT_TRUE(callable->Run(feeds, absl::MakeSpan(results), RunOptions()).ok());
    held = std::move(results[0]);
  };
  for (int i = 0; i < kWarmUpSteps; ++i) step();
  CostCounter counter;
  for (int i = 0; i < kCountedSteps; ++i) step();
  EXPECT_THAT(counter.Finish().runtime, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Threads, StepCostTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace millstream
