// Variants and handles move as texts do, which kernels of their own move; on both executors: that
// of plans and, because of a Switch in the step, the dynamic one.
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/structural/host_kernel.h"
#include "core/testing/session_fixture.h"
#include "framework/op_registry.h"
#include "framework/opaque_cell.h"
#include "framework/shape_context.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Attrs = GraphBuilder::Attrs;
using Outputs = std::vector<Output>;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class Text final : public OpaqueObject {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  std::string DebugString() const override { return text_; }

 private:
  const std::string text_;
};

Status Wrap(StructuralFrame* frame) {
  const Tensor texts = frame->BorrowInput(0);
  MS_ASSIGN_OR_RETURN(const Tensor cells, frame->AllocateOutput(0, texts.shape()));
  for (int64_t i = 0; i < texts.num_elements(); ++i) {
    cells.data<OpaqueCell>()[i] = std::make_shared<Text>(texts.data<std::string>()[i]);
  }
  return absl::OkStatus();
}

// An element that holds nothing is the empty text, with which kernels fill tensors of texts.
Status Unwrap(StructuralFrame* frame) {
  const Tensor cells = frame->BorrowInput(0);
  MS_ASSIGN_OR_RETURN(const Tensor texts, frame->AllocateOutput(0, cells.shape()));
  for (int64_t i = 0; i < cells.num_elements(); ++i) {
    const OpaqueCell& cell = cells.data<OpaqueCell>()[i];
    texts.data<std::string>()[i] = cell == nullptr ? "" : cell->DebugString();
  }
  return absl::OkStatus();
}

MILLSTREAM_OP("TestWrap")
    .Input("texts: string")
    .Output("cells: T")
    .Attr("T: {variant, resource}")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc("Makes an object of each text.");
MILLSTREAM_OP("TestUnwrap")
    .Input("cells: T")
    .Output("texts: string")
    .Attr("T: {variant, resource}")
    .Stateful()
    .Shape(UnchangedShape)
    .Doc("The texts of the objects.");
MILLSTREAM_HOST_KERNEL("TestWrap", HostFunction<&Wrap>);
MILLSTREAM_HOST_KERNEL("TestUnwrap", HostFunction<&Unwrap>);

// "a0", "a1", ...
Tensor Texts(const Shape& shape, const std::string& prefix) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < shape.num_elements(); ++i) texts.push_back(absl::StrCat(prefix, i));
  return Tensor::FromValues<std::string>(shape, texts);
}

class OnBothExecutors : public SessionTest {
 protected:
  explicit OnBothExecutors(bool is_dynamic) : is_dynamic_(is_dynamic) {}

  StatusOr<std::vector<Tensor>> RunStep(const Outputs& fetches, std::vector<Feed> feeds = {},
                                        std::vector<const Node*> targets = {}) {
    if (is_dynamic_) {
      if (!take_) {
        take_ = Placeholder("take", DataType::kBool, PartialShape::Scalar());
        switch_ = Op("Switch", {Constant(1), take_}).node;
      }
      feeds.push_back({take_, Tensor::Scalar<bool>(true)});
      targets.push_back(switch_);
    }
    return Run(fetches, feeds, targets);
  }
  Status RunTarget(const Node* target) { return RunStep({}, {}, {target}).status(); }

  Output Int(int32_t value) { return Constant(Tensor::Scalar<int32_t>(value)); }
  Output Ints(const std::vector<int32_t>& values) { return Constant(Values<int32_t>(values)); }
  Output Longs(const Shape& shape, const std::vector<int64_t>& values) {
    return Constant(Tensor::FromValues<int64_t>(shape, values));
  }
  Outputs AllOf(const Node* node) {
    EXPECT_NE(node, nullptr) << build.status();
    Outputs outputs;
    for (int i = 0; node != nullptr && i < node->num_outputs(); ++i) {
      outputs.push_back(node->output(i));
    }
    return outputs;
  }

 private:
  const bool is_dynamic_;
  Output take_;
  const Node* switch_ = nullptr;
};

// ---- Ops on tensors ----

class MovedCellsTest : public OnBothExecutors,
                       public ::testing::WithParamInterface<std::tuple<DataType, bool>> {
 protected:
  MovedCellsTest() : OnBothExecutors(std::get<1>(GetParam())) {}

  DataType dtype() const { return std::get<0>(GetParam()); }
  Output Wrapped(const Output& texts) { return Op("TestWrap", {texts}, {{"T", dtype()}}); }
  Output Unwrapped(const Output& cells) { return Op("TestUnwrap", {cells}); }

  // Expects the same of cells as of texts, where `move` makes outputs of inputs.
  void ExpectSame(const std::vector<Tensor>& inputs,
                  const std::function<Outputs(const Outputs&)>& move) {
    Outputs texts;
    Outputs cells;
    for (const Tensor& input : inputs) {
      texts.push_back(Constant(input));
      cells.push_back(Wrapped(texts.back()));
    }
    const Outputs expected = move(texts);
    ASSERT_EQ(build.status(), absl::OkStatus());
    Outputs fetches = expected;
    for (const Output& moved : move(cells)) {
      fetches.push_back(moved.dtype() == dtype() ? Unwrapped(moved) : moved);
    }
    ASSERT_EQ(build.status(), absl::OkStatus());
    const auto values = RunStep(fetches);
    ASSERT_TRUE(values.ok()) << values.status();
    ASSERT_EQ(values->size(), 2 * expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor& value = (*values)[expected.size() + i];
      EXPECT_TRUE(TensorsEqual(value, (*values)[i]))
          << expected[i].name() << " has " << value.DebugString() << " and not "
          << (*values)[i].DebugString();
    }
  }
  // The same for an op of one tensor, and of others that do not move.
  void ExpectSameOf(const Shape& shape, const std::string& op, const Outputs& others,
                    Attrs attrs = {}) {
    ExpectSame({Texts(shape, "a")}, [&](const Outputs& x) {
      Outputs all = x;
      all.insert(all.end(), others.begin(), others.end());
      return AllOf(build.NodeOf(op, all, attrs));
    });
  }
};

INSTANTIATE_TEST_SUITE_P(TypesAndExecutors, MovedCellsTest,
                         ::testing::Combine(::testing::Values(DataType::kVariant,
                                                              DataType::kResource),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return absl::StrCat(DataTypeName(std::get<0>(info.param)), "_",
                                               std::get<1>(info.param) ? "Dynamic" : "Plan");
                         });

TEST_P(MovedCellsTest, RowsAreGathered) {
  ExpectSameOf({3, 2}, "Gather", {Ints({2, 0, 2})});
  ExpectSameOf({2, 3, 2}, "GatherV2", {Constant(Tensor::Of<int32_t>({2, 1}, {2, 0})), Int(1)},
               {{"batch_dims", 1}});
  ExpectSameOf({3, 2}, "GatherNd", {Constant(Tensor::Of<int32_t>({2, 2}, {2, 1, 0, 0}))});
}

TEST_P(MovedCellsTest, SlicesAreTaken) {
  ExpectSameOf({4, 3}, "Slice", {Ints({1, 0}), Ints({2, -1})});
  ExpectSameOf({4, 3}, "StridedSlice", {Ints({3, 1}), Ints({0, 2}), Ints({-2, 1})},
               {{"shrink_axis_mask", 2}});
}

TEST_P(MovedCellsTest, SlicesArePutBack) {
  ExpectSame({Texts({2}, "a")}, [&](const Outputs& x) {
    return Outputs{Op("StridedSliceGrad", {Ints({4}), Ints({3}), Ints({0}), Ints({-2}), x[0]})};
  });
  ExpectSame({Texts({4}, "a"), Texts({2}, "b")}, [&](const Outputs& x) {
    return Outputs{Op("TensorStridedSliceUpdate", {x[0], Ints({1}), Ints({3}), Ints({1}), x[1]})};
  });
}

TEST_P(MovedCellsTest, TensorsAreJoined) {
  const std::vector<Tensor> inputs = {Texts({2, 2}, "a"), Texts({2, 2}, "b")};
  ExpectSame(inputs, [&](const Outputs& x) {
    return AllOf(build.Variadic("Pack", {x}, {{"axis", 1}}));
  });
  ExpectSame(inputs, [&](const Outputs& x) {
    return AllOf(build.Variadic("Concat", {{Int(1)}, x}));
  });
  ExpectSame(inputs, [&](const Outputs& x) {
    return AllOf(build.Variadic("ConcatV2", {x, {Int(0)}}));
  });
}

TEST_P(MovedCellsTest, TensorsAreTakenApart) {
  ExpectSame({Texts({2, 4}, "a")}, [&](const Outputs& x) {
    return AllOf(build.NodeOf("Split", {Int(1), x[0]}, {{"num_split", int64_t{2}}}));
  });
  ExpectSameOf({2, 4}, "SplitV", {Ints({1, -1}), Int(1)}, {{"num_split", int64_t{2}}});
  ExpectSameOf({2, 3}, "Unpack", {}, {{"num", int64_t{3}}, {"axis", 1}});
}

TEST_P(MovedCellsTest, RowsAreDealtAndStitched) {
  ExpectSameOf({4, 2}, "DynamicPartition", {Ints({1, 0, 1, 2})}, {{"num_partitions", int64_t{3}}});
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    // No row has the index 2.
    ExpectSame({Texts({2, 2}, "a"), Texts({2}, "b")}, [&](const Outputs& x) {
      return AllOf(build.Variadic(op, {{Ints({3, 0}), Int(1)}, x}));
    });
  }
}

TEST_P(MovedCellsTest, DimensionsAreExchanged) {
  ExpectSameOf({2, 3}, "Transpose", {Ints({1, 0})});
  ExpectSameOf({2, 3}, "ConjugateTranspose", {Ints({1, 0})});
  ExpectSameOf({2, 3}, "Roll", {Ints({1, -1}), Ints({1, 0})});
  ExpectSameOf({1, 2, 4, 1}, "SpaceToDepth", {}, {{"block_size", 2}});
  ExpectSameOf({1, 1, 2, 4}, "DepthToSpace", {}, {{"block_size", 2}});
}

TEST_P(MovedCellsTest, ElementsAreRepeated) {
  ExpectSameOf({2, 1}, "BroadcastTo", {Ints({2, 2, 3})});
  ExpectSameOf({2, 1}, "Tile", {Ints({2, 3})});
  ExpectSame({Texts({}, "a")}, [&](const Outputs& x) {
    return Outputs{Op("Fill", {Ints({2, 3}), x[0]})};
  });
  ExpectSame({Texts({}, "on"), Texts({}, "off")}, [&](const Outputs& x) {
    return Outputs{Op("OneHot", {Ints({1, 5, 0}), Int(2), x[0], x[1]})};
  });
}

TEST_P(MovedCellsTest, ElementsAreSelected) {
  const Output rows = Constant(Tensor::Vector<bool>({true, false}));
  const std::vector<Tensor> inputs = {Texts({2, 2}, "a"), Texts({2, 2}, "b")};
  ExpectSame(inputs, [&](const Outputs& x) {
    return Outputs{Op("Select", {rows, x[0], x[1]}), Op("SelectV2", {rows, x[0], x[1]})};
  });
}

TEST_P(MovedCellsTest, SparseElementsMoveWithTheirPlaces) {
  const Output places = Longs({3, 2}, {2, 1, 0, 0, 0, 2});
  const Output ordered = Longs({3, 2}, {0, 0, 0, 2, 2, 1});
  const Output size = Longs({2}, {3, 4});
  ExpectSame({Texts({3}, "a")}, [&](const Outputs& x) {
    return AllOf(build.NodeOf("SparseReorder", {places, x[0], size}));
  });
  ExpectSame({Texts({3}, "a")}, [&](const Outputs& x) {
    return AllOf(
        build.NodeOf("SparseSlice", {ordered, x[0], size, Longs({2}, {0, 0}), Longs({2}, {1, 4})}));
  });
  ExpectSame({Texts({3}, "a")}, [&](const Outputs& x) {
    return AllOf(build.NodeOf("SparseSplit", {Longs({}, {1}), ordered, x[0], size},
                              {{"num_split", int64_t{2}}}));
  });
  ExpectSame({Texts({3}, "a"), Texts({}, "fill")}, [&](const Outputs& x) {
    return AllOf(build.NodeOf("SparseFillEmptyRows", {ordered, x[0], size, x[1]}));
  });
  ExpectSame({Texts({3}, "a"), Texts({3}, "b")}, [&](const Outputs& x) {
    return AllOf(
        build.Variadic("SparseConcat", {{ordered, ordered}, x, {size, size}}, {{"concat_dim", 1}}));
  });
}

TEST_P(MovedCellsTest, TensorsWithoutElements) {
  ExpectSameOf({0, 2}, "Transpose", {Ints({1, 0})});
  ExpectSameOf({3, 0}, "Gather", {Ints({2, 0})});
  ExpectSame({Texts({0}, "a"), Texts({2}, "b")}, [&](const Outputs& x) {
    return AllOf(build.Variadic("ConcatV2", {x, {Int(0)}}));
  });
}

TEST_P(MovedCellsTest, ErrorsAreThoseOfTheNode) {
  const Output indices = Placeholder("indices", DataType::kInt32);
  const Output cells = Wrapped(Constant(Texts({3}, "a")));
  const Output moved = Unwrapped(Op("GatherV2", {cells, indices, Int(0)}));
  const Status status = RunStep({moved}, {{indices, Values<int32_t>({1, 5})}}).status();
  ExpectError(status, kInvalid, {"indices[1] = 5 is not in [0, 3)", "(op GatherV2)"});
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("int64")));
}

// ---- Ops on variables ----

TEST_P(MovedCellsTest, RowsOfAVariableAreReadAndReplaced) {
  const auto steps = [&](DataType type, const std::function<Output(const Output&)>& made) {
    const std::string name = absl::StrCat("of_", DataTypeName(type));
    const Output v = Variable(name, type, PartialShape({3, 2}));
    EXPECT_EQ(RunTarget(Assign(v, made(Constant(Texts({3, 2}, "a"))))), absl::OkStatus());
    const Outputs before = {
        Op("ResourceGather", {v, Ints({2, 0})}, {{"dtype", type}}),
        Op("ResourceGatherNd", {v, Constant(Tensor::Of<int32_t>({1, 2}, {1, 1}))},
           {{"dtype", type}})};
    const auto fetch = [&](const Output& value) {
      return value.dtype() == DataType::kString ? value : Unwrapped(value);
    };
    std::vector<Tensor> found =
        RunStep({fetch(before[0]), fetch(before[1])}).value_or(std::vector<Tensor>());
    for (const Node* const update :
         {build.NodeOf("ResourceScatterUpdate",
                       {v, Ints({1, 1}), made(Constant(Texts({2, 2}, "b")))}),
          build.NodeOf("ResourceScatterUpdate", {v, Ints({2}), made(Constant(Texts({}, "c")))}),
          build.NodeOf("ResourceStridedSliceAssign", {v, Ints({0, 1}), Ints({2, 2}), Ints({1, 1}),
                                                      made(Constant(Texts({2, 1}, "d")))})}) {
      EXPECT_EQ(RunTarget(update), absl::OkStatus());
    }
    for (const Tensor& value : RunStep({fetch(Read(v))}).value_or(std::vector<Tensor>())) {
      found.push_back(value);
    }
    return found;
  };
  const std::vector<Tensor> of_texts =
      steps(DataType::kString, [](const Output& texts) { return texts; });
  const std::vector<Tensor> of_cells =
      steps(dtype(), [&](const Output& texts) { return Wrapped(texts); });
  ASSERT_EQ(of_texts.size(), 3u);
  ASSERT_EQ(of_cells.size(), 3u);
  for (size_t i = 0; i < of_texts.size(); ++i) {
    EXPECT_TRUE(TensorsEqual(of_cells[i], of_texts[i]))
        << of_cells[i].DebugString() << " and not " << of_texts[i].DebugString();
  }
}

TEST_P(MovedCellsTest, AVariableMustBeAssignedAndHaveCells) {
  const Output v = Variable("v", dtype(), PartialShape({3}));
  const Output gathered = Unwrapped(Op("ResourceGather", {v, Ints({0})}, {{"dtype", dtype()}}));
  ExpectError(RunStep({gathered}).status(), absl::StatusCode::kNotFound,
              {"uninitialized value v", "(op ResourceGather)"});
  const Node* const update =
      build.NodeOf("ResourceScatterUpdate", {v, Ints({0}), Wrapped(Constant(Texts({1}, "a")))});
  ExpectError(RunTarget(update), absl::StatusCode::kNotFound, {"uninitialized value v"});
  ASSERT_EQ(RunTarget(Assign(v, Wrapped(Constant(Texts({3}, "a"))))), absl::OkStatus());
  const Node* const outside =
      build.NodeOf("ResourceScatterUpdate", {v, Ints({3}), Wrapped(Constant(Texts({1}, "a")))});
  ExpectError(RunTarget(outside), kInvalid, {"= 3 is not in [0, 3)"});
}

// ---- Handles ----

class MovedHandlesTest : public OnBothExecutors, public ::testing::WithParamInterface<bool> {
 protected:
  MovedHandlesTest() : OnBothExecutors(GetParam()) {
    a_ = Variable("a", DataType::kFloat, PartialShape::Scalar());
    b_ = Variable("b", DataType::kFloat, PartialShape::Scalar());
    index_ = Placeholder("index", DataType::kInt32);
    EXPECT_EQ(Execute({Assign(a_, Constant(1)), Assign(b_, Constant(2))}), absl::OkStatus());
  }

  Output ReadOf(const Output& handle) {
    return Op("ReadVariableOp", {handle}, {{"dtype", DataType::kFloat}});
  }
  Output Packed() { return build.Variadic("Pack", {{a_, b_}})->output(0); }
  Output Picked() { return Op("GatherV2", {Packed(), index_, Int(0)}); }
  StatusOr<std::vector<Tensor>> RunWith(const Output& fetch, const Tensor& index) {
    return RunStep({fetch}, {{index_, index}});
  }
  void ExpectFloat(const Output& fetch, int32_t index, float expected) {
    const auto values = RunWith(fetch, Tensor::Scalar<int32_t>(index));
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_THAT(Elements<float>((*values)[0]), ElementsAre(expected));
  }

  Output a_;
  Output b_;
  Output index_;
};

INSTANTIATE_TEST_SUITE_P(Executors, MovedHandlesTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Dynamic" : "Plan"; });

TEST_P(MovedHandlesTest, APickedHandleIsThatOfItsVariable) {
  const Output picked = Picked();
  const Output value = ReadOf(picked);
  ExpectFloat(value, 0, 1);
  ExpectFloat(value, 1, 2);
  const Node* const add = build.NodeOf("AssignAddVariableOp", {picked, Constant(5)});
  ASSERT_EQ(RunStep({}, {{index_, Tensor::Scalar<int32_t>(1)}}, {add}).status(), absl::OkStatus());
  ExpectFloat(value, 0, 1);
  ExpectFloat(value, 1, 7);
}

TEST_P(MovedHandlesTest, HandlesOfOpsMoveWithoutBeingPacked) {
  const Output is_first = Op("Equal", {index_, Int(0)});
  const Output selected = ReadOf(Op("SelectV2", {is_first, a_, b_}));
  ExpectFloat(selected, 0, 1);
  ExpectFloat(selected, 1, 2);
  const Output row = Op("ExpandDims", {a_, Int(0)});
  const Output rows = build.Variadic("ConcatV2", {{row, Packed()}, {Int(0)}})->output(0);
  const Output value = ReadOf(Op("GatherV2", {rows, index_, Int(0)}));
  ExpectFloat(value, 0, 1);
  ExpectFloat(value, 2, 2);
}

TEST_P(MovedHandlesTest, AVariableMayHoldHandles) {
  const Output one = Variable("one", DataType::kResource, PartialShape::Scalar());
  const Output both = Variable("both", DataType::kResource, PartialShape({2}));
  ASSERT_EQ(RunTarget(Assign(one, b_)), absl::OkStatus());
  ASSERT_EQ(RunTarget(Assign(both, Packed())), absl::OkStatus());
  ExpectFloat(ReadOf(Read(one)), 0, 2);
  const Output gathered = Op("ResourceGather", {both, index_}, {{"dtype", DataType::kResource}});
  ExpectFloat(ReadOf(gathered), 0, 1);
  ExpectFloat(ReadOf(gathered), 1, 2);
}

TEST_P(MovedHandlesTest, WhatHoldsNoneOrSeveralIsNoHandle) {
  const Output value = ReadOf(Picked());
  ExpectError(RunWith(value, Values<int32_t>({0, 1})).status(), kInvalid, {"ReadVariableOp"});
  ExpectError(RunWith(value, Values<int32_t>({})).status(), kInvalid, {"ReadVariableOp"});
  const Output filled =
      Op("StridedSliceGrad", {Ints({3}), Ints({0}), Ints({2}), Ints({1}), Packed()});
  const Output unset = ReadOf(Op("GatherV2", {filled, index_, Int(0)}));
  ExpectFloat(unset, 1, 2);
  ExpectError(RunWith(unset, Tensor::Scalar<int32_t>(2)).status(), kInvalid, {"no handle"});
}

}  // namespace
}  // namespace millstream
