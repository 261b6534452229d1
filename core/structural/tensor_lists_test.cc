// Tensor lists in steps, on both executors: that of plans and, because of a Switch in the step, the
// dynamic one.
#include <limits>
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
  Output FedRows(const std::vector<float>& rows) {
    return Op("ExpandDims", {Fed(rows), Constant(Tensor::Scalar<int32_t>(1))});
  }
  Output FedInts(const std::vector<int32_t>& values) {
    const Output fed = Placeholder(graph.UniqueName("ints", false), DataType::kInt32);
    feeds_.push_back({fed, Values<int32_t>(values)});
    return fed;
  }
  Output FedInt(int32_t value) {
    const Output fed = Placeholder(graph.UniqueName("int", false), DataType::kInt32);
    feeds_.push_back({fed, Tensor::Scalar<int32_t>(value)});
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
  Output Reserve(const Output& shape, int32_t size) {
    return Op("TensorListReserve", {shape, FedInt(size)}, {{"element_dtype", kFloat}});
  }
  Output Get(const Output& list, int32_t index) {
    return Op("TensorListGetItem", {list, FedInt(index), AnyShape()}, {{"element_dtype", kFloat}});
  }
  Output Stack(const Output& list) {
    return Op("TensorListStack", {list, AnyShape()}, {{"element_dtype", kFloat}});
  }
  Output Gather(const Output& list, const std::vector<int32_t>& indices) {
    return Op("TensorListGather", {list, FedInts(indices), AnyShape()},
              {{"element_dtype", kFloat}});
  }
  // The elements are vectors of one number.
  Output FromRows(const std::vector<float>& rows) {
    return Op("TensorListFromTensor", {FedRows(rows), AnyShape()});
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
              {"argument 'input_handle': Trying to pop from an empty list.", "TensorListPopBack"});
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

TEST_P(TensorListsTest, ItemsAreReadAndReplaced) {
  const Output list = Push(Push(Empty(AnyShape()), Fed({1})), Fed({2}));
  const Output changed = Op("TensorListSetItem", {list, FedInt(0), Fed({5, 6})});
  EXPECT_THAT(Floats({Get(changed, 0), Get(changed, 1), Get(list, 0)}),
              ElementsAre(ElementsAre(5, 6), ElementsAre(2), ElementsAre(1)));
  ExpectError(ErrorOf(Get(list, 2)), kInvalid,
              {"Trying to access element 2 in a list with 2 elements.", "'index'"});
  ExpectError(ErrorOf(Get(list, -1)), kInvalid, {"Trying to access element -1"});
  ExpectError(ErrorOf(Get(Op("TensorListSetItem", {list, FedInt(2), Fed({1})}), 0)), kInvalid,
              {"Trying to modify element 2 in a list with 2 elements."});
}

TEST_P(TensorListsTest, UnsetElementsAreZeros) {
  const Output list = Reserve(ShapeOf({2}), 3);
  EXPECT_THAT(Floats({Get(list, 2), Pop(list, AnyShape()).second, Stack(list)}),
              ElementsAre(ElementsAre(0, 0), ElementsAre(0, 0), ElementsAre(0, 0, 0, 0, 0, 0)));
  ExpectError(ErrorOf(Get(Reserve(AnyShape(), 1), 0)), kInvalid,
              {"uninitialized element but element_shape is not fully defined"});
  ExpectError(ErrorOf(Stack(Reserve(AnyShape(), 1))), kInvalid, {"non-fully-defined"});
  ExpectError(ErrorOf(Stack(Empty(AnyShape()))), kInvalid, {"non-fully-defined"});
  ExpectError(ErrorOf(Get(Reserve(ShapeOf({1}), -1), 0)), kInvalid, {"non negative", "-1"});
}

TEST_P(TensorListsTest, AHugeReservedListTakesNoMemory) {
  const Output list = Reserve(ShapeOf({2}), std::numeric_limits<int32_t>::max());
  const Output item = Op("TensorListSetItem", {list, FedInt(1), Fed({1, 2})});
  EXPECT_THAT(Floats({Get(item, 1), Get(item, 1 << 30)}),
              ElementsAre(ElementsAre(1, 2), ElementsAre(0, 0)));
}

TEST_P(TensorListsTest, RowsBecomeElementsAndComeBack) {
  const Output list = Push(FromRows({1, 2, 3}), Fed({4, 5}));
  ExpectError(ErrorOf(Stack(list)), kInvalid, {"[2]", "[1]"});
  EXPECT_THAT(Floats({Stack(FromRows({1, 2, 3})), Gather(list, {2, 0, 2})}),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(3, 1, 3)));
  ExpectError(ErrorOf(Gather(list, {4})), kInvalid, {"element 4 in a list with 4 elements"});
  const Output three = Op("TensorListStack", {FromRows({1, 2}), AnyShape()},
                          {{"element_dtype", kFloat}, {"num_elements", int64_t{3}}});
  ExpectError(ErrorOf(three), kInvalid,
              {"Operation expected a list with 3 elements but got a list with 2 elements."});
}

TEST_P(TensorListsTest, MoreEmptyRowsThanMemoryHoldsAreRefused) {
  const Output sizes = Placeholder("sizes", DataType::kInt64);
  feeds_.push_back({sizes, Values<int64_t>({int64_t{1} << 50, 0})});
  const Output list = Op("TensorListFromTensor", {Op("Reshape", {Fed({}), sizes}), AnyShape()});
  ExpectError(ErrorOf(Op("TensorListLength", {list})), absl::StatusCode::kResourceExhausted,
              {"tensor list of 1125899906842624 elements", "TensorListFromTensor"});
}

TEST_P(TensorListsTest, RowsAreScattered) {
  const Output rows = FedRows({1, 2});
  const auto scatter = [&](const std::vector<int32_t>& indices, int32_t count) {
    return Op("TensorListScatterV2", {rows, FedInts(indices), ShapeOf({1}), FedInt(count)});
  };
  EXPECT_THAT(Floats({Stack(scatter({2, 0}, 4)), Stack(scatter({1, 1}, -1))}),
              ElementsAre(ElementsAre(2, 0, 1, 0), ElementsAre(0, 2)));
  ExpectError(ErrorOf(Stack(scatter({0, 2}, 2))), kInvalid,
              {"Trying to scatter at index 2 in list with size 2"});
  ExpectError(ErrorOf(Stack(scatter({0, -1}, 2))), kInvalid, {"must all be positive", "-1"});
  ExpectError(ErrorOf(Stack(scatter({0}, 2))), kInvalid, {"'indices'", "TensorListScatterV2"});
  const Output into =
      Op("TensorListScatterIntoExistingList", {FromRows({7, 8}), rows, FedInts({1, 3})});
  EXPECT_THAT(Floats({Gather(into, {0, 1, 3})}), ElementsAre(ElementsAre(7, 1, 2)));
}

TEST_P(TensorListsTest, ElementsAreJoinedAndSplit) {
  const auto join = [&](const Output& list, const std::vector<int64_t>& leading) {
    return Op("TensorListConcatV2", {list, AnyShape(), Constant(Values<int64_t>(leading))},
              {{"element_dtype", kFloat}});
  };
  const Output list = Push(Push(Empty(AnyShape()), Fed({1, 2})), Fed({3}));
  const Output unset = Op("TensorListResize", {list, FedInt(3)});
  EXPECT_THAT(Floats({join(list, {}), join(unset, {0, 0, 2})}),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(1, 2, 3, 0, 0)));
  ExpectError(ErrorOf(join(unset, {1})), kInvalid,
              {"uninitialized element at index 2 but leading_dims has only 1 elements."});
  ExpectError(ErrorOf(join(Empty(AnyShape()), {})), kInvalid, {"must be fully defined"});
  const auto split = [&](const std::vector<int64_t>& lengths) {
    return Op("TensorListSplit", {Fed({1, 2, 3}), AnyShape(), Constant(Values<int64_t>(lengths))});
  };
  EXPECT_THAT(Floats({Get(split({2, 1}), 0), Get(split({3, 0}), 1)}),
              ElementsAre(ElementsAre(1, 2), ElementsAre()));
  ExpectError(ErrorOf(Get(split({2}), 0)), kInvalid, {"Unused values in tensor"});
  ExpectError(ErrorOf(Get(split({2, 2}), 0)), kInvalid, {"Attempted to slice [2, 4]"});
  ExpectError(ErrorOf(Get(split({4, -1}), 0)), kInvalid, {"Attempted to slice"});
  ExpectError(ErrorOf(Get(split({3, -1, 1}), 0)), kInvalid, {"Invalid value in lengths: -1"});
}

TEST_P(TensorListsTest, ListsAreJoined) {
  const Output list = Push(Empty(AnyShape()), Fed({1}));
  const Output both = Op("TensorListConcatLists", {list, Op("TensorListResize", {list, FedInt(2)})},
                         {{"element_dtype", kFloat}});
  EXPECT_THAT(Floats({Op("TensorListStack", {both, ShapeOf({1})}, {{"element_dtype", kFloat}}),
                      Stack(list)}),
              ElementsAre(ElementsAre(1, 1, 0), ElementsAre(1)));
}

TEST_P(TensorListsTest, EachListOfABatchGetsARow) {
  const Output one = Push(Empty(AnyShape()), Fed({1}));
  const Output batch = build.Variadic("Pack", {{one, Empty(AnyShape())}})->output(0);
  const Output pushed = Op("TensorListPushBackBatch", {batch, FedRows({5, 6})});
  const Node* const lists = build.NodeOf("Unpack", {pushed}, {{"num", int64_t{2}}});
  EXPECT_THAT(Floats({Stack(lists->output(0)), Stack(lists->output(1)), Stack(one)}),
              ElementsAre(ElementsAre(1, 5), ElementsAre(6), ElementsAre(1)));
}

TEST_P(TensorListsTest, OpsExpectListsOfTheirType) {
  const Output list = Push(Empty(AnyShape()), Fed({1}));
  const Output hidden =
      Pop(Push(Empty(AnyShape(), DataType::kVariant), list), AnyShape(), DataType::kVariant).second;
  const Output ints =
      Op("TensorListGetItem", {Op("Reshape", {hidden, ShapeOf({})}), FedInt(0), AnyShape()},
         {{"element_dtype", DataType::kInt32}});
  ExpectError(ErrorOf(ints), kInvalid,
              {"Invalid data types; op elements int32 but list elements float32"});
  const Output none = Get(Pop(Op("TensorListReserve", {ShapeOf({}), FedInt(1)},
                                 {{"element_dtype", DataType::kVariant}}),
                              AnyShape(), DataType::kVariant)
                              .second,
                          0);
  ExpectError(ErrorOf(none), kInvalid, {"Input handle is not a list. Saw: '<unset>'"});
}

}  // namespace
}  // namespace millstream
