// Tensor lists that loops carry.
#include <vector>

#include "core/dynamic/dynamic_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Outputs = std::vector<Output>;

class ListLoopsTest : public DynamicTest {
 protected:
  Output AnyShape(const Node* after) {
    build.set_control_inputs({after});
    const Output shape = Constant(Tensor::Scalar<int32_t>(-1));
    build.set_control_inputs({});
    return shape;
  }
};

// A copy of the list in each iteration would take minutes.
TEST_F(ListLoopsTest, ALoopThatPushesAndOneThatPopsTakeLinearTime) {
  constexpr float kCount = 200'000;
  const Output unbounded = Constant(Tensor::Scalar<int32_t>(-1));
  const Output empty =
      Op("EmptyTensorList", {unbounded, unbounded}, {{"element_dtype", DataType::kFloat}});
  const Output limit = Constant(kCount);
  const Output pushing = Enter(limit, "push", true);
  const Loop pushed = While(
      {Constant(0.0f), empty},
      [&](const Outputs& v) {
        return Op("Less", {v[0], pushing});
      },
      [&](const Outputs& v) {
        const Output next = Op("Add", {v[0], ConstantAfter(1, v[0].node)});
        return Outputs{next, Op("TensorListPushBack", {v[1], v[0]})};
      },
      {"push", 10});
  const Output zero = Enter(Constant(0.0f), "pop", true);
  const Loop popped = While(
      {limit, pushed.exits[1], Constant(-1.0f)},
      [&](const Outputs& v) {
        return Op("Less", {zero, v[0]});
      },
      [&](const Outputs& v) {
        const Output rest = Op("TensorListPopBack", {v[1], AnyShape(v[0].node)},
                               {{"element_dtype", DataType::kFloat}});
        const Output next = Op("Sub", {v[0], ConstantAfter(1, v[0].node)});
        // The element is the number of the iteration, counted down.
        const Output wrong = Op("Sub", {rest.node->output(1), next});
        return Outputs{next, rest, Op("Maximum", {v[2], Op("Abs", {wrong})})};
      },
      {"pop", 10});
  EXPECT_EQ(Scalar(popped.exits[2]), 0);
}

}  // namespace
}  // namespace millstream
