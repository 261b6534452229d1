// Tensor lists in steps, on both executors: that of plans and, because of a Switch in the step, the
// dynamic one.
#include <string>
#include <utility>
#include <vector>

#include "core/structural/host_kernel.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/opaque_cell.h"
#include "framework/shape_context.h"
#include "framework/tensor_list.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr DataType kFloat = DataType::kFloat;

// The objects of the lists that TestSeeList was given, in the order of its executions. Steps of
// this test run one after the other.
std::vector<const void*>* Seen() {
  static auto* const seen = new std::vector<const void*>();
  return seen;
}

Status SeeList(StructuralFrame* frame) {
  Seen()->push_back(frame->BorrowInput(0).data<OpaqueCell>()->get());
  return frame->PassOn(0, 0, Shape());
}

MILLSTREAM_OP("TestSeeList")
    .Input("x: variant")
    .Output("y: variant")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc("Notes which object a list is.");
MILLSTREAM_HOST_KERNEL("TestSeeList", HostFunction<&SeeList>);

class TensorListsTest : public SessionTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override { Seen()->clear(); }

  StatusOr<std::vector<Tensor>> RunLists(const std::vector<Output>& fetches) {
    if (!GetParam()) return Run(fetches, feeds_);
    if (!take_) {
      take_ = Placeholder("take", DataType::kBool, PartialShape::Scalar());
      feeds_.push_back({take_, Tensor::Scalar<bool>(true)});
      switch_ = Op("Switch", {Constant(1), take_}).node;
    }
    return Run(fetches, feeds_, {switch_});
  }
  std::vector<std::vector<float>> Floats(const std::vector<Output>& fetches) {
    const auto results = RunLists(fetches);
    EXPECT_TRUE(results.ok()) << results.status();
    std::vector<std::vector<float>> found;
    if (!results.ok()) return found;
    for (const Tensor& tensor : *results) found.push_back(Elements<float>(tensor));
    return found;
  }
  Status ErrorOf(const Output& fetch) { return RunLists({fetch}).status(); }

  // A fed vector, which no pass folds.
  Output Fed(const std::vector<float>& values) {
    const Output fed = Placeholder(graph.UniqueName("fed", false), kFloat);
    feeds_.push_back({fed, Values<float>(values)});
    return fed;
  }
  Output ShapeOf(const std::vector<int32_t>& sizes) { return Constant(Values<int32_t>(sizes)); }
  Output AnyShape() { return Constant(Tensor::Scalar<int32_t>(-1)); }
  Output Int(int32_t value) { return Constant(Tensor::Scalar<int32_t>(value)); }

  Output Empty(const Output& shape, DataType dtype = kFloat, int32_t most = -1) {
    return Op("EmptyTensorList", {shape, Int(most)}, {{"element_dtype", dtype}});
  }
  Output Push(const Output& list, const Output& element) {
    return Op("TensorListPushBack", {list, element});
  }
  std::pair<Output, Output> Pop(const Output& list, const Output& shape, DataType dtype = kFloat) {
    const Output rest = Op("TensorListPopBack", {list, shape}, {{"element_dtype", dtype}});
    return {rest, rest.node->output(1)};
  }
  Output See(const Output& list) { return Op("TestSeeList", {list}); }
  Output Zeros(const Output& list) { return Op("ZerosLike", {list}); }
  Output Sum(const std::vector<Output>& lists) {
    return build.Variadic("AddN", {lists})->output(0);
  }

  std::vector<Feed> feeds_;

 private:
  Output take_;
  const Node* switch_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Executors, TensorListsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Dynamic" : "Plan"; });

TEST_P(TensorListsTest, ElementsComeBackLastFirst) {
  const Output list = Push(Push(Empty(ShapeOf({2})), Fed({1, 2})), Fed({3, 4}));
  const auto [rest, last] = Pop(list, ShapeOf({2}));
  const auto [none, first] = Pop(rest, AnyShape());
  EXPECT_THAT(Floats({last, first}), ElementsAre(ElementsAre(3, 4), ElementsAre(1, 2)));
  ExpectError(ErrorOf(Pop(none, ShapeOf({2})).second), kInvalid,
              {"Trying to pop from an empty list.", "TensorListPopBack"});
}

TEST_P(TensorListsTest, AListOfOneReaderIsChangedInPlace) {
  const Output list = See(Push(See(Push(See(Empty(AnyShape())), Fed({1}))), Fed({2})));
  const auto [rest, last] = Pop(list, AnyShape());
  const auto [none, first] = Pop(See(rest), AnyShape());
  EXPECT_THAT(Floats({last, first}), ElementsAre(ElementsAre(2), ElementsAre(1)));
  ASSERT_EQ(Seen()->size(), 4u);
  for (const void* const seen : *Seen()) EXPECT_EQ(seen, Seen()->front());
}

TEST_P(TensorListsTest, AListOfSeveralReadersIsCopied) {
  const Output list = Push(Empty(AnyShape()), Fed({1}));
  const Output one = Push(list, Fed({2}));
  const Output other = Push(list, Fed({3}));
  EXPECT_THAT(Floats({Pop(one, AnyShape()).second, Pop(other, AnyShape()).second,
                      Pop(list, AnyShape()).second}),
              ElementsAre(ElementsAre(2), ElementsAre(3), ElementsAre(1)));
}

TEST_P(TensorListsTest, ElementsMustFitTheList) {
  const Output list = Empty(ShapeOf({2}));
  ExpectError(ErrorOf(Pop(Push(list, Fed({1})), AnyShape()).second), kInvalid,
              {"Op element shape: [1] list shape: [2]", "TensorListPushBack"});
  const Output full = Push(Empty(AnyShape(), kFloat, 1), Fed({1}));
  ExpectError(ErrorOf(Pop(Push(full, Fed({2})), AnyShape()).second), kInvalid,
              {"Tried to push item into a full list"});
  const Output filled = Push(Empty(AnyShape()), Fed({1}));
  ExpectError(ErrorOf(Pop(filled, ShapeOf({3})).second), kInvalid, {"[1]", "[3]"});
  const Output size = Placeholder("size", DataType::kInt32);
  feeds_.push_back({size, Tensor::Scalar<int32_t>(2)});
  ExpectError(ErrorOf(Pop(filled, size).second), kInvalid,
              {"The only valid scalar shape tensor is the fully unknown shape specified as -1"});
}

TEST_P(TensorListsTest, ZerosHaveTheShapesOfElements) {
  const Output some = Push(Push(Empty(AnyShape()), Fed({1, 2})), Fed({3}));
  const auto [rest, last] = Pop(Zeros(some), AnyShape());
  const Output fixed = Zeros(Push(Empty(ShapeOf({2})), Fed({1, 2})));
  EXPECT_THAT(Floats({last, Pop(rest, AnyShape()).second, Pop(fixed, AnyShape()).second}),
              ElementsAre(ElementsAre(0), ElementsAre(0, 0), ElementsAre(0, 0)));
}

TEST_P(TensorListsTest, ListsAddUpElementByElement) {
  const Output list = Push(Push(Empty(AnyShape()), Fed({1, 2})), Fed({3}));
  const Output other = Push(Push(Empty(AnyShape()), Fed({10, 20})), Fed({30}));
  const auto [rest, last] = Pop(Sum({list, Zeros(list), other, list}), AnyShape());
  const auto [kept_rest, kept] = Pop(list, AnyShape());
  EXPECT_THAT(Floats({last, Pop(rest, AnyShape()).second, kept, Pop(kept_rest, AnyShape()).second}),
              ElementsAre(ElementsAre(36), ElementsAre(12, 24), ElementsAre(3), ElementsAre(1, 2)));
}

TEST_P(TensorListsTest, ListsThatDifferDoNotAddUp) {
  const Output list = Push(Empty(AnyShape()), Fed({1}));
  ExpectError(ErrorOf(Pop(Sum({list, Push(list, Fed({2}))}), AnyShape()).second), kInvalid,
              {"different lengths. One is 1 and the other is 2", "AddN"});
  ExpectError(ErrorOf(Pop(Sum({list, Push(Empty(AnyShape()), Fed({1, 2}))}), AnyShape()).second),
              kInvalid, {"incompatible element shapes. One is [1] and the other is [2]"});
}

TEST_P(TensorListsTest, ListsOfListsHaveZerosAndSums) {
  const Output inner = Push(Push(Empty(AnyShape()), Fed({1})), Fed({2}));
  const Output outer = Push(Empty(AnyShape(), DataType::kVariant), inner);
  const auto element = [&](const Output& lists) {
    const Output list = Pop(lists, AnyShape(), DataType::kVariant).second;
    return Pop(list, AnyShape()).second;
  };
  EXPECT_THAT(
      Floats({element(outer), element(Zeros(outer)), element(Sum({outer, outer})),
              element(Sum({Zeros(outer), outer})), Pop(inner, AnyShape()).second}),
      ElementsAre(ElementsAre(2), ElementsAre(0), ElementsAre(4), ElementsAre(2), ElementsAre(2)));
}

TEST_P(TensorListsTest, VariantsArePackedAndUnpacked) {
  const Output one = Push(Empty(AnyShape()), Fed({1}));
  const Output two = Push(Empty(AnyShape()), Fed({2}));
  const Output packed = build.Variadic("Pack", {{one, two}})->output(0);
  const Node* const unpacked = build.NodeOf("Unpack", {packed}, {{"num", int64_t{2}}});
  EXPECT_THAT(Floats({Pop(unpacked->output(1), AnyShape()).second,
                      Pop(unpacked->output(0), AnyShape()).second}),
              ElementsAre(ElementsAre(2), ElementsAre(1)));
}

}  // namespace
}  // namespace millstream
