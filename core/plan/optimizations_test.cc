// Each optimization that has a name can be switched off, whereupon it is off, and no bit of what
// steps give changes.
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/gradients/gradients.h"
#include "core/host/host_ctx.h"
#include "core/host/thread_team.h"
#include "core/passes/pass.h"
#include "core/step/plan_features.h"
#include "core/testing/kernel_bodies.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

constexpr int kClasses = 10;
constexpr int kBatch = 6;
constexpr int kSteps = 3;

// Numbers of both signs that are the same in every run, small where they are to be weights.
Tensor Numbers(const Shape& shape, float scale) {
  Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = scale * (static_cast<float>(i * 7919 % 2003) / 1000 - 1);
  }
  return tensor;
}

// ---- The same bits ----

class OptimizationsTest : public SessionTest {
 protected:
  Output Weight(const Shape& shape) {
    const std::string name = absl::StrCat("w", handles_.size());
    const Output handle = Variable(name, DataType::kFloat, PartialShape(shape.dims()));
    handles_.push_back(handle);
    start_.push_back(Assign(handle, Constant(Numbers(shape, 0.3f))));
    return Read(handle);
  }
  Output Conv(const Output& x, const Shape& filter) {
    const Output product = Op("Conv2D", {x, Weight(filter)},
                              {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
    const Output relu = Op("Relu", {Op("BiasAdd", {product, Weight({filter.dim(3)})})});
    return Op("MaxPool", {relu},
              {{"ksize", std::vector<int64_t>{1, 2, 2, 1}},
               {"strides", std::vector<int64_t>{1, 2, 2, 1}},
               {"padding", "VALID"}});
  }
  Output Dense(const Output& x, int64_t from, int64_t to) {
    return Op("Add", {Op("MatMul", {x, Weight({from, to})}), Weight({to})});
  }

  // A training step: softmax cross entropy of `logits` with decay, by gradient descent.
  void Train(const Output& logits) {
    labels_ = Placeholder("labels", DataType::kInt32);
    const Output losses = Op("SparseSoftmaxCrossEntropyWithLogits", {logits, labels_});
    const Output decay = Op("Mul", {Op("L2Loss", {Read(handles_[0])}), Constant(0.01f)});
    const Output mean = Op("Mean", {losses, Constant(Values<int32_t>({0}))});
    const Output loss = Op("Add", {mean, decay});
    const auto gradients = AddGradients(&graph, {loss}, handles_, {}, GradientOptions());
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    for (size_t i = 0; i < handles_.size(); ++i) {
      updates_.push_back(build.NodeOf("ResourceApplyGradientDescent",
                                      {handles_[i], Constant(0.1f), (*gradients)[i].values}));
    }
    ASSERT_TRUE(build.ok()) << build.status();
    fetches_ = {Op("Identity", {loss}), Op("Softmax", {logits}), loss, (*gradients)[0].values};
  }

  // Bytes of all that some steps give, and of the variables after them.
  std::string BytesWithout(const std::vector<std::string>& disabled) {
    SessionOptions options;
    options.disabled_passes = disabled;
    options.intra_op_threads = 2;
    StartSession(options);
    EXPECT_EQ(Execute(start_), absl::OkStatus());
    std::vector<int32_t> labels(kBatch);
    for (int i = 0; i < kBatch; ++i) labels[i] = i * 3 % kClasses;
    const std::vector<Feed> feeds = {{images_, values_}, {labels_, Values<int32_t>(labels)}};
    std::string bytes;
    for (int step = 0; step < kSteps; ++step) Append(Run(fetches_, feeds, updates_), &bytes);
    for (const Output& handle : handles_) Append(Run({Read(handle)}), &bytes);
    return bytes;
  }
  static void Append(const StatusOr<std::vector<Tensor>>& tensors, std::string* bytes) {
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    for (const Tensor& tensor : *tensors) {
      bytes->append(static_cast<const char*>(tensor.raw()), tensor.bytes());
    }
  }

  void ExpectTheSameBits() {
    const std::string expected = BytesWithout({});
    const std::vector<std::string> names = OptimizationNames();
    for (const std::string& name : names) EXPECT_TRUE(BytesWithout({name}) == expected) << name;
    EXPECT_TRUE(BytesWithout(names) == expected) << "all";
  }

  Output images_, labels_;
  Tensor values_;
  std::vector<Output> handles_;
  std::vector<const Node*> start_;
  std::vector<const Node*> updates_;
  std::vector<Output> fetches_;
};

TEST_F(OptimizationsTest, APerceptronLearnsTheSameBitsWithoutAnyOfThem) {
  images_ = Placeholder("images", DataType::kFloat, {-1, 40});
  values_ = Numbers({kBatch, 40}, 1);
  Train(Dense(Op("Relu", {Dense(images_, 40, 24)}), 24, kClasses));
  ExpectTheSameBits();
}

TEST_F(OptimizationsTest, AConvolutionalNetworkLearnsTheSameBitsWithoutAnyOfThem) {
  images_ = Placeholder("images", DataType::kFloat, {-1, 12, 12, 1});
  values_ = Numbers({kBatch, 12, 12, 1}, 1);
  const Output pooled = Conv(Conv(images_, {5, 5, 1, 4}), {5, 5, 4, 8});
  const Output flat = Op("Reshape", {pooled, Constant(Values<int32_t>({-1, 72}))});
  Train(Dense(Op("Relu", {Dense(flat, 72, 32)}), 32, kClasses));
  ExpectTheSameBits();
}

TEST(OptimizationNamesTest, ArePassesAndFeaturesOfPlans) {
  const std::vector<std::string> names = OptimizationNames();
  EXPECT_THAT(names, SizeIs(PassNames().size() + PlanFeatureNames().size()));
  EXPECT_THAT(names, Contains("fuse_products"));
  EXPECT_THAT(names, Contains("slab"));
}

// ---- What only a running step shows; the rest is in plan_test ----

class RunningTest : public SessionTest, public ::testing::WithParamInterface<bool> {
 protected:
  void StartWithout(const std::string& name) {
    SessionOptions options;
    options.intra_op_threads = 4;
    options.disabled_passes = {name};
    StartSession(options);
  }
  Output Body(const std::vector<Output>& inputs, KernelBody body) {
    return AddBody(&build, BodyKind::kPlain, inputs, std::move(body));
  }
  // `output` as it is, in a step that the dynamic executor runs if the test's parameter says so.
  Output Switched(const Output& output) {
    if (!GetParam()) return output;
    const Node* const branch =
        build.NodeOf("Switch", {output, Constant(Tensor::Scalar<bool>(true))});
    return Op("Identity", {branch->output(1)});
  }
  // Where the kernel of a step sees the tensor that it is fed.
  const void* AddressOfFeed(const Tensor& fed) {
    const void* address = nullptr;
    const Output x = Placeholder(graph.UniqueName("x", false), DataType::kFloat);
    const Output y = Body({x}, [&address](MS_Frame* frame) {
      address = frame->inputs[0].mem.base;
      return GiveScalar(frame, 1);
    });
    Value(Switched(y), {{x, fed}});
    return address;
  }
  // Where a kernel wrote what is fetched, and where the caller has it.
  std::pair<const void*, const void*> AddressesOfFetch() {
    const void* written = nullptr;
    const Output y = Switched(Body({}, [&written](MS_Frame* frame) -> Status {
      MS_RETURN_IF_ERROR(GiveScalar(frame, 1));
      written = frame->outputs[0].mem.base;
      return absl::OkStatus();
    }));
    const Tensor fetched = Value(y);
    return {written, fetched.raw()};
  }
};

using InPlaceTest = SessionTest;

INSTANTIATE_TEST_SUITE_P(Executors, RunningTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Dynamic" : "Plan"; });

TEST_P(RunningTest, FeedsAreReadWhereTheyAreOrCopied) {
  const Tensor fed = Values<float>({1, 2, 3});
  EXPECT_EQ(AddressOfFeed(fed), fed.raw());
  StartWithout("borrowed_feeds");
  EXPECT_NE(AddressOfFeed(fed), fed.raw());
}

TEST_P(RunningTest, FetchesAreMovedOutOrCopied) {
  const auto [written, moved] = AddressesOfFetch();
  EXPECT_EQ(written, moved);
  StartWithout("moved_fetches");
  const auto [written_first, copied] = AddressesOfFetch();
  EXPECT_NE(written_first, copied);
}

TEST_P(RunningTest, AStepGoesWithoutAPermitThatAnotherHolds) {
  std::atomic<uint32_t> threads{0};
  std::vector<std::atomic<int>> visits(10000);
  const Output y = Switched(Body({}, [&](MS_Frame* frame) {
    threads = ThreadsApi()->num_threads(frame);
    const auto visit = [](void* user, uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) ++static_cast<std::atomic<int>*>(user)[i];
    };
    ThreadsApi()->parallel_for(frame, visits.size(), 1000, visit, visits.data());
    return GiveScalar(frame, 1);
  }));
  const auto threads_beside_another = [&] {
    EXPECT_TRUE(ParallelPermit::TryAcquire());
    Value(y);
    ParallelPermit::Release();
    return threads.load();
  };
  StartWithout("slab");
  EXPECT_EQ(threads_beside_another(), 1u);
  StartWithout("parallelism_permit");
  EXPECT_EQ(threads_beside_another(), 4u);
  Value(y);
  EXPECT_EQ(threads, 4u);
  for (const std::atomic<int>& visit : visits) ASSERT_EQ(visit.load(), 3);
  // The step took the permit for its loop and gave it back.
  EXPECT_TRUE(ParallelPermit::TryAcquire());
  ParallelPermit::Release();
}

TEST_F(InPlaceTest, TensorsOfUnknownShapeAreTakenOverOrNot) {
  const Output sizes = Placeholder("sizes", DataType::kInt32);
  const Output read = Op("Fill", {sizes, Constant(2.0f)});
  int32_t taken = -1;
  const Output y = AddBody(&build, BodyKind::kPlain, {read}, [&taken](MS_Frame* frame) {
    const uint32_t candidate = 0;
    MS_TensorView view;
    const MS_Dims dims{frame->inputs[0].dims, frame->inputs[0].rank, 0};
    return Taken(CtxApi()->forward_or_allocate(frame, &candidate, 1, 0, dims, &view, &taken));
  });
  const std::vector<Feed> feeds = {{sizes, Values<int32_t>({4})}};
  ASSERT_EQ(Run({}, feeds, {y.node}).status(), absl::OkStatus());
  EXPECT_EQ(taken, 0);
  SessionOptions options;
  options.disabled_passes = {"in_place"};
  StartSession(options);
  ASSERT_EQ(Run({}, feeds, {y.node}).status(), absl::OkStatus());
  EXPECT_EQ(taken, -1);
}

}  // namespace
}  // namespace millstream
