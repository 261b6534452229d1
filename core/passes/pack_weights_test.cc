// pack_weights shows kernels the weights that never change, and changes no bit of what they give.
#include <mutex>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "core/testing/kernel_bodies.h"
#include "framework/op_registry.h"
#include "framework/plugin/kernel_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

MILLSTREAM_OP("TestShown")
    .Input("inputs: T")
    .Output("output: float")
    .Attr("T: list(type) >= 0")
    .Shape(ScalarShape)
    .Doc("Its kernel keeps which of its inputs it was shown when the plan was made.");

// Of the latest plan.
std::vector<bool>& Shown() {
  static auto* const shown = new std::vector<bool>;
  return *shown;
}

MS_Status* KeepWhatIsShown(void*, MS_Specialization* specialization) {
  Shown().clear();
  for (uint32_t i = 0; i < specialization->n_in; ++i) {
    Shown().push_back(specialization->constants[i].mem.base != nullptr);
  }
  return nullptr;
}

MS_Status* GiveZero(void*, MS_Frame* frame) {
  *static_cast<float*>(frame->outputs[0].mem.base) = 0;
  return nullptr;
}

void RegisterKernel() {
  static std::once_flag once;
  std::call_once(once, [] {
    KernelRegistration kernel;
    kernel.op = "TestShown";
    kernel.device_type = kAnyDevice;
    kernel.plugin = "pack_weights_test";
    kernel.compute = &GiveZero;
    kernel.specialize = &KeepWhatIsShown;
    kernel.unspecialize = [](void*, void*) {};
    EXPECT_EQ(KernelRegistry::Global()->Commit({kernel}), absl::OkStatus());
  });
}

class PackWeightsTest : public PassTest {
 protected:
  PackWeightsTest() : PassTest("pack_weights") { RegisterKernel(); }

  Output ShownOf(const std::vector<Output>& inputs) {
    const Node* const node = build.Variadic("TestShown", {inputs}, {});
    EXPECT_TRUE(build.ok()) << build.status();
    return node->output(0);
  }
  SessionOptions WithoutPass() {
    SessionOptions options;
    options.disabled_passes = {"pack_weights"};
    return options;
  }
};

TEST_F(PackWeightsTest, KernelsSeeConstants) {
  const Output weights = Constant(Numbers({2, 3}));
  const Output axes = Constant(Tensor::Vector<int32_t>({0}));
  const Output shown = ShownOf({Fed("x", {4, 2}), weights, Op("Identity", {weights}), axes});
  RunWith(SessionOptions(), {shown});
  EXPECT_THAT(Shown(), ElementsAre(false, true, true, true));
  RunWith(WithoutPass(), {shown});
  EXPECT_THAT(Shown(), ElementsAre(false, false, false, true));
}

TEST_F(PackWeightsTest, AConstantThatIsFedIsNone) {
  const Output weights = Constant(Numbers({2, 3}));
  StartSession();
  ASSERT_TRUE(Run({ShownOf({weights})}, {{weights, Numbers({2, 3})}}).ok());
  EXPECT_THAT(Shown(), ElementsAre(false));
}

TEST_F(PackWeightsTest, VariablesAreNeverShown) {
  const Output handle = Variable("weights", DataType::kFloat, {2, 3});
  const Node* const assign = Assign(handle, Constant(Numbers({2, 3})));
  StartSession();
  ASSERT_TRUE(Run({ShownOf({Read(handle, {assign})})}).ok());
  EXPECT_THAT(Shown(), ElementsAre(false));
}

TEST_F(PackWeightsTest, ProductsKeepTheirBits) {
  const Output x = Fed("x", {9, 300});
  const Output row = Fed("row", {1, 1100});
  const Output images = Fed("images", {2, 9, 8, 20});
  const std::vector<int64_t> strides = {1, 1, 1, 1};
  EXPECT_EQ(Saved({Op("MatMul", {x, Constant(Numbers({300, 200}))}),
                   Op("MatMul", {x, Constant(Numbers({200, 300}))}, {{"transpose_b", true}}),
                   Op("MatMul", {row, Constant(Numbers({1100, 1000}))}),
                   Op("Conv2D", {images, Constant(Numbers({3, 3, 20, 40}))},
                      {{"strides", strides}, {"padding", "SAME"}}),
                   Op("Conv2D", {images, Constant(Numbers({1, 1, 20, 40}))},
                      {{"strides", strides}, {"padding", "SAME"}})}),
            0);
}

}  // namespace
}  // namespace millstream
