// Tensor lists and stacks on devices that have their own memory, by both executors. Elements are in
// host memory there too.
#include <vector>

#include "core/on_device/device_session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr DataType kFloat = DataType::kFloat;

class TensorListsOnDeviceTest : public DeviceSessionTest,
                                public ::testing::WithParamInterface<bool> {
 protected:
  TensorListsOnDeviceTest() : DeviceSessionTest({{"delay_us", 300}}) {}

  Output AnyShape() { return Constant(Tensor::Scalar<int32_t>(-1)); }
  // What the device computes of the fed vector: c * x.
  Output Times(const std::string& device, float c) {
    if (!x_) x_ = Placeholder("x", kFloat, PartialShape::Vector(2));
    return OpOn(device, "Mul", {x_, Constant(c)});
  }
  std::vector<float> Floats(const Output& fetch) {
    std::vector<Feed> feeds = {{x_, Values<float>({1, 2})}};
    std::vector<const Node*> targets;
    if (GetParam()) {
      const Output take =
          Placeholder(graph.UniqueName("take", false), DataType::kBool, PartialShape::Scalar());
      feeds.push_back({take, Tensor::Scalar<bool>(true)});
      targets.push_back(OpOn("SIM:0", "Switch", {Constant(1), take}).node);
    }
    const auto results = Run({fetch}, feeds, targets);
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? Elements<float>((*results)[0]) : std::vector<float>();
  }

 private:
  Output x_;
};

INSTANTIATE_TEST_SUITE_P(Executors, TensorListsOnDeviceTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Dynamic" : "Plan"; });

TEST_P(TensorListsOnDeviceTest, ElementsComeFromADeviceAndGoToAnother) {
  Output list =
      OpOn("SIM:0", "EmptyTensorList", {AnyShape(), AnyShape()}, {{"element_dtype", kFloat}});
  list = OpOn("SIM:0", "TensorListPushBack", {list, Times("SIM:0", 2)});
  list = OpOn("SIM:1", "TensorListPushBack", {list, Times("SIM:1", 3)});
  const Output rest =
      OpOn("SIM:0", "TensorListPopBack", {list, AnyShape()}, {{"element_dtype", kFloat}});
  const Output first =
      OpOn("CPU:0", "TensorListPopBack", {rest, AnyShape()}, {{"element_dtype", kFloat}});
  const Output sum =
      OpOn("SIM:2", "Add", {rest.node->output(1), OpOn("SIM:2", "Neg", {first.node->output(1)})});
  EXPECT_THAT(Floats(sum), ElementsAre(1, 2));
}

TEST_P(TensorListsOnDeviceTest, ListsAddUp) {
  Output list =
      OpOn("SIM:0", "EmptyTensorList", {AnyShape(), AnyShape()}, {{"element_dtype", kFloat}});
  list = OpOn("SIM:0", "TensorListPushBack", {list, Times("SIM:0", 2)});
  const Output zeros = OpOn("SIM:0", "ZerosLike", {list});
  const Output sum = On("SIM:0", [&] {
    return build.Variadic("AddN", {{list, zeros, list}})->output(0);
  });
  const Output rows =
      OpOn("SIM:0", "TensorListStack", {sum, AnyShape()}, {{"element_dtype", kFloat}});
  EXPECT_THAT(Floats(OpOn("SIM:0", "Neg", {rows})), ElementsAre(-4, -8));
}

TEST_P(TensorListsOnDeviceTest, AStackHoldsWhatADeviceComputed) {
  const Output size = Constant(Tensor::Scalar<int32_t>(-1));
  const Output stack = OpOn("SIM:0", "StackV2", {size}, {{"elem_type", kFloat}});
  const Output pushed = OpOn("SIM:0", "StackPushV2", {stack, Times("SIM:0", 5)});
  build.set_control_inputs({pushed.node});
  const Output popped = OpOn("SIM:0", "StackPopV2", {stack}, {{"elem_type", kFloat}});
  build.set_control_inputs({});
  EXPECT_THAT(Floats(OpOn("SIM:0", "Neg", {popped})), ElementsAre(-5, -10));
}

}  // namespace
}  // namespace millstream
