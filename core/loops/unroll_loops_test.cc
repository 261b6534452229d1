// Loops that become their iterations. Their numbers are small integers, so that sums are exact.
#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/loops/raise_loops_fixture.h"
#include "framework/op_registry.h"
#include "framework/shape_context.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

MILLSTREAM_OP("TestNeverFails")
    .Input("x: float")
    .Output("y: float")
    .Speculatable()
    .Shape(UnchangedShape)
    .Doc("Computes anything.");
MILLSTREAM_OP("TestMayFail")
    .Input("x: float")
    .Output("y: float")
    .Shape(UnchangedShape)
    .Doc("Computes anything but of some numbers.");

class UnrollLoopsTest : public RaiseLoopsTest {
 protected:
  // A loop whose counter is variable 0, begins with `start` and ends with `limit`.
  Loop Repeat(const Output& start, const Output& limit, const Outputs& others,
              const std::function<Outputs(const Outputs&)>& body) {
    Outputs initial = {start};
    initial.insert(initial.end(), others.begin(), others.end());
    const Output end = Enter(limit, "loop", true);
    const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
    return While(
        initial,
        [&](const Outputs& v) {
          return Op("Less", {v[0], end});
        },
        [&](const Outputs& v) {
          Outputs next = {Op("Add", {v[0], one})};
          const Outputs rest = body(v);
          next.insert(next.end(), rest.begin(), rest.end());
          return next;
        });
  }
  Loop Repeat(const Output& start, int32_t iterations, const Outputs& others,
              const std::function<Outputs(const Outputs&)>& body) {
    return Repeat(start, Constant(Tensor::Scalar<int32_t>(iterations)), others, body);
  }
  Loop Repeat(int32_t iterations, const Outputs& others,
              const std::function<Outputs(const Outputs&)>& body) {
    return Repeat(Constant(Tensor::Scalar<int32_t>(0)), iterations, others, body);
  }
  // It is fed, so that nothing is computed when the plan is made.
  Output Matrix() {
    if (!matrix_) matrix_ = Placeholder("matrix", DataType::kFloat, PartialShape({2, 2}));
    return matrix_;
  }
  // Multiplies variable 1 with a matrix.
  Loop Powers(int32_t iterations) {
    const Output matrix = Enter(Matrix(), "loop", true);
    return Repeat(iterations, {Matrix()}, [&](const Outputs& v) {
      return Outputs{Op("MatMul", {v[1], matrix})};
    });
  }

  // How many nodes of the op a step runs.
  int Count(const std::string& op, const Outputs& fetches, std::vector<Feed> feeds = {}) {
    feeds.push_back({matrix_, value_});
    StepReport report;
    report.want_trace = true;
    RunOptions run;
    run.report = &report;
    EXPECT_TRUE(Run(fetches, feeds, {}, run).ok());
    int count = 0;
    for (const TracedPart& part : report.trace.parts()) {
      count += std::count_if(part.nodes.begin(), part.nodes.end(),
                             [&](const TracedNode& node) { return node.op == op; });
    }
    return count;
  }
  std::vector<float> ValuesWithout(const std::vector<std::string>& passes, const Output& fetch,
                                   std::vector<Feed> feeds) {
    SessionOptions options;
    options.disabled_passes = passes;
    StartSession(options);
    feeds.push_back({matrix_, value_});
    return Elements<float>(Value(fetch, feeds));
  }
  void ExpectTheSameNumbers(const Output& fetch, const std::vector<Feed>& feeds = {}) {
    const std::vector<float> expected = ValuesWithout({"raise_loops"}, fetch, feeds);
    EXPECT_EQ(ValuesWithout({"unroll_loops"}, fetch, feeds), expected);
    EXPECT_EQ(ValuesWithout({"join_rows"}, fetch, feeds), expected);
    EXPECT_EQ(ValuesWithout({}, fetch, feeds), expected);
  }

  // Applies `step` to variable 1 in each of at most 5 iterations, but from iteration `length` on
  // the variable stays as it is. `idle` says so to the runtime.
  Loop UntilLength(const Output& length, bool idle, const std::function<Output(Output)>& step) {
    const Output most = Constant(Tensor::Scalar<int32_t>(5));
    const Output bound = idle ? Op("Minimum", {most, length}, {{"_idle_beyond", true}})
                              : Op("Minimum", {most, length});
    const Output end = Enter(bound, "loop", true);
    const Output inside = Enter(length, "loop", true);
    const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
    return While(
        {Constant(Tensor::Scalar<int32_t>(0)), Matrix()},
        [&](const Outputs& v) {
          return Op("Less", {v[0], end});
        },
        [&](const Outputs& v) {
          const Output has_ended = Op("GreaterEqual", {v[0], inside});
          return Outputs{Op("Add", {v[0], one}), Op("Select", {has_ended, v[1], step(v[1])})};
        });
  }
  Output Length() { return Placeholder("length", DataType::kInt32, PartialShape::Scalar()); }
  // How many loops are left of one that may run on in vain, with this op on its variable.
  size_t LoopsLeft(const char* op) {
    const Output length = Length();
    const Output matrix = Enter(Matrix(), "loop", true);
    const Loop loop = UntilLength(length, true, [&](const Output& x) {
      return Op("MatMul", {Op(op, {x}), matrix});
    });
    const StepSignature signature{{matrix_, length}, {loop.exits[1]}, {}};
    const PrunedGraph pruned = Prune(graph, signature).value();
    return RaiseLoops(pruned, signature, &RunsAtOnce, true, true).value()->pruned.loops.size();
  }

  const Tensor value_ = Tensor::Of<float>(Shape({2, 2}), {1, 2, -1, 1});

 private:
  Output matrix_;
};

TEST_F(UnrollLoopsTest, ALoopOfProductsBecomesItsIterations) {
  const Loop loop = Powers(5);
  EXPECT_EQ(Count("_Loop", loop.exits), 0);
  EXPECT_EQ(Count("MatMul", loop.exits), 5);
  ExpectTheSameNumbers(loop.exits[1]);
}

TEST_F(UnrollLoopsTest, WithoutIterationsTheInitialValuesLeave) {
  const Loop loop = Powers(0);
  EXPECT_EQ(Count("_Loop", loop.exits), 0);
  ExpectTheSameNumbers(loop.exits[1]);
}

TEST_F(UnrollLoopsTest, ALoopOfManyIterationsStays) {
  EXPECT_EQ(Count("_Loop", {Powers(65).exits[1]}), 1);
}

TEST_F(UnrollLoopsTest, ALoopWithoutProductsStays) {
  const Loop loop =
      Repeat(3, {Matrix()}, [&](const Outputs& v) { return Outputs{Op("Neg", {v[1]})}; });
  EXPECT_EQ(Count("_Loop", loop.exits), 1);
}

TEST_F(UnrollLoopsTest, ALoopStaysWhoseNumberOfIterationsIsFed) {
  const Output start = Placeholder("start", DataType::kInt32, PartialShape::Scalar());
  const Loop loop = Repeat(start, 3, {Matrix()}, [&](const Outputs& v) {
    return Outputs{Op("MatMul", {v[1], v[1]})};
  });
  EXPECT_EQ(Count("_Loop", loop.exits, {{start, Tensor::Scalar<int32_t>(1)}}), 1);
}

TEST_F(UnrollLoopsTest, IterationsThatChangeNothingMayRun) {
  const Output length = Length();
  const Output matrix = Enter(Matrix(), "loop", true);
  const Loop loop = UntilLength(length, true, [&](const Output& x) {
    return Op("MatMul", {x, matrix});
  });
  const Output last = loop.exits[1];
  EXPECT_EQ(Count("_Loop", {last}, {{length, Tensor::Scalar<int32_t>(2)}}), 0);
  EXPECT_EQ(Count("MatMul", {last}, {{length, Tensor::Scalar<int32_t>(2)}}), 5);
  for (const int32_t steps : {0, 2, 5, 7}) {
    ExpectTheSameNumbers(last, {{length, Tensor::Scalar<int32_t>(steps)}});
  }
}

TEST_F(UnrollLoopsTest, IterationsThatNobodySaysChangeNothingDoNotRun) {
  const Output length = Length();
  const Loop loop = UntilLength(length, false, [&](const Output& x) {
    return Op("MatMul", {x, x});
  });
  EXPECT_EQ(Count("_Loop", {loop.exits[1]}, {{length, Tensor::Scalar<int32_t>(2)}}), 1);
}

// Of an infinity and of what is no number, gradients would be no numbers, although nothing reads
// the results.
TEST_F(UnrollLoopsTest, IterationsThatRunInVainComputeWithZeros) {
  const Output length = Length();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor numbers =
      Tensor::Of<float>(Shape({3, 2, 2}), {1, 1, 1, 1, 5, 6, 7, 8, nan, 1, nan, 1});
  const Output rows = Placeholder("rows", DataType::kFloat, PartialShape({3, 2, 2}));
  const Output three = Constant(Tensor::Scalar<int32_t>(3));
  const Node* const array =
      build.NodeOf("TensorArrayV3", {three},
                   {{"dtype", DataType::kFloat}, {"element_shape", PartialShape({2, 2})}});
  const Output filled = Op("TensorArrayScatterV3", {array->output(0), build.Int32Vector({0, 1, 2}),
                                                    rows, array->output(1)});
  const Output end = Enter(Op("Minimum", {three, length}, {{"_idle_beyond", true}}), "loop", true);
  const Output handle = Enter(array->output(0), "loop", true);
  const Output flow = Enter(filled, "loop", true);
  const Output inside = Enter(length, "loop", true);
  const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
  const Output large = Enter(Constant(3e38f), "loop", true);
  const Loop loop = While(
      {Constant(Tensor::Scalar<int32_t>(0)), Matrix(), Matrix(), Matrix()},
      [&](const Outputs& v) {
        return Op("Less", {v[0], end});
      },
      [&](const Outputs& v) {
        const Output row =
            Op("TensorArrayReadV3", {handle, v[0], flow}, {{"dtype", DataType::kFloat}});
        const Output step = Op("MatMul", {Op("Mul", {v[1], large}), row});
        const Output has_ended = Op("GreaterEqual", {v[0], inside});
        return Outputs{Op("Add", {v[0], one}), Op("Select", {has_ended, v[1], step}),
                       Op("Add", {v[2], Op("Sub", {v[1], v[1]})}),
                       Op("Add", {v[3], Op("Sub", {row, row})})};
      });
  // The state is infinite behind the first iteration, and the last row is no number.
  const std::vector<Feed> feeds = {{length, Tensor::Scalar<int32_t>(1)}, {rows, numbers}};
  EXPECT_EQ(Count("_Loop", loop.exits, feeds), 0);
  EXPECT_EQ(Count("MatMul", loop.exits, feeds), 3);
  for (const int variable : {1, 2, 3}) ExpectTheSameNumbers(loop.exits[variable], feeds);
}

// The arrays of the loop have room for as many as the first count says.
TEST_F(UnrollLoopsTest, IterationsBehindTheFirstCountDoNotRun) {
  const Output steps = Placeholder("steps", DataType::kInt32, PartialShape::Scalar());
  const Output five = Constant(Tensor::Scalar<int32_t>(5));
  const Output end = Enter(Op("Minimum", {steps, five}, {{"_idle_beyond", true}}), "loop", true);
  const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
  const Output matrix = Enter(Matrix(), "loop", true);
  const Loop loop = While(
      {Constant(Tensor::Scalar<int32_t>(0)), Matrix()},
      [&](const Outputs& v) {
        return Op("Less", {v[0], end});
      },
      [&](const Outputs& v) {
        return Outputs{Op("Add", {v[0], one}), Op("MatMul", {v[1], matrix})};
      });
  EXPECT_EQ(Count("_Loop", {loop.exits[1]}, {{steps, Tensor::Scalar<int32_t>(2)}}), 1);
}

TEST_F(UnrollLoopsTest, IterationsThatCouldFailDoNotRunInVain) {
  const Output length = Length();
  const Output row = Enter(build.Int32Vector({0, 1}), "loop", true);
  const Output axis = Enter(build.Int32(0), "loop", true);
  const Loop loop = UntilLength(length, true, [&](const Output& x) {
    return Op("MatMul", {Op("GatherV2", {x, row, axis}), x});
  });
  EXPECT_EQ(Count("_Loop", {loop.exits[1]}, {{length, Tensor::Scalar<int32_t>(2)}}), 1);
}

TEST_F(UnrollLoopsTest, IterationsOfSpeculatableOpsMayRunInVain) {
  EXPECT_EQ(LoopsLeft("TestNeverFails"), 0u);
}

TEST_F(UnrollLoopsTest, IterationsOfOtherOpsDoNotRunInVain) {
  EXPECT_EQ(LoopsLeft("TestMayFail"), 1u);
}

// Its gradient would be 0 times an infinity.
TEST_F(UnrollLoopsTest, IterationsThatHavePolesDoNotRunInVain) {
  const Output length = Length();
  const Output matrix = Enter(Matrix(), "loop", true);
  const Loop loop = UntilLength(length, true, [&](const Output& x) {
    return Op("MatMul", {Op("RealDiv", {x, matrix}), matrix});
  });
  EXPECT_EQ(Count("_Loop", {loop.exits[1]}, {{length, Tensor::Scalar<int32_t>(2)}}), 1);
}

// The feed does not fit in the loop, which waits for what refuses it.
TEST_F(UnrollLoopsTest, WhatALoopWaitsForTellsItsErrorFirst) {
  const Output given = Placeholder("given", DataType::kFloat, PartialShape::UnknownOfRank(2));
  const Output fits = Placeholder("fits", DataType::kBool, PartialShape::Scalar());
  const Node* const check = build.Variadic("Assert", {{fits}, {Constant(1)}});
  build.set_control_inputs({check});
  const Output checked = Op("Identity", {given});
  build.set_control_inputs({});
  const Output inside = Enter(checked, "loop", true);
  const Loop loop = Repeat(3, {Constant(value_)}, [&](const Outputs& v) {
    return Outputs{Op("MatMul", {v[1], inside})};
  });
  const Tensor narrow = *Tensor::Create(DataType::kFloat, Shape({3, 2}));
  const auto feeds = [&](bool says_so) {
    return std::vector<Feed>{{given, narrow}, {fits, Tensor::Scalar<bool>(says_so)}};
  };
  ExpectError(Error(loop.exits[1], feeds(false)), absl::StatusCode::kInvalidArgument,
              {"assertion failed"});
  ExpectError(Error(loop.exits[1], feeds(true)), absl::StatusCode::kInvalidArgument, {"MatMul"});
}

// The feed does not fit in the loop, whose counter or whose limit waits for what refuses it.
TEST_F(UnrollLoopsTest, WhatTheNumberOfIterationsWaitsForTellsItsErrorFirst) {
  const Output given = Placeholder("given", DataType::kFloat, PartialShape::UnknownOfRank(2));
  const Output fits = Placeholder("fits", DataType::kBool, PartialShape::Scalar());
  const Node* const check = build.Variadic("Assert", {{fits}, {Constant(1)}});
  const Output zero = Constant(Tensor::Scalar<int32_t>(0));
  const Output three = Constant(Tensor::Scalar<int32_t>(3));
  build.set_control_inputs({check});
  const Output checked_zero = Op("Identity", {zero});
  const Output checked_three = Constant(Tensor::Scalar<int32_t>(3));
  build.set_control_inputs({});
  const Output inside = Enter(given, "loop", true);
  const auto step = [&](const Outputs& v) { return Outputs{Op("MatMul", {v[1], inside})}; };
  const Output from_checked = Repeat(checked_zero, three, {Matrix()}, step).exits[1];
  const Output to_checked =
      Repeat(zero, Op("Add", {checked_three, three}), {Matrix()}, step).exits[1];
  const Tensor narrow = *Tensor::Create(DataType::kFloat, Shape({3, 2}));
  const auto feeds = [&](const Tensor& value, bool says_so) {
    return std::vector<Feed>{{given, value}, {fits, Tensor::Scalar<bool>(says_so)}};
  };
  for (const Output& last : {from_checked, to_checked}) {
    EXPECT_EQ(Count("_Loop", {last}, feeds(value_, true)), 0);
    ExpectTheSameNumbers(last, feeds(value_, true));
    for (const bool says_so : {false, true}) {
      std::vector<Feed> wrong = feeds(narrow, says_so);
      wrong.push_back({Matrix(), value_});
      ExpectError(Error(last, wrong), absl::StatusCode::kInvalidArgument,
                  {says_so ? "MatMul" : "assertion failed"});
    }
  }
}

TEST_F(UnrollLoopsTest, AConstantMayBeFed) {
  const Output start = Constant(Tensor::Scalar<int32_t>(0));
  const Loop loop = Repeat(start, 3, {Matrix()}, [&](const Outputs& v) {
    return Outputs{Op("MatMul", {v[1], v[1]})};
  });
  const std::vector<Feed> feeds = {{start, Tensor::Scalar<int32_t>(2)}};
  EXPECT_EQ(Count("MatMul", {loop.exits[1]}, feeds), 1);
  EXPECT_EQ(Count("MatMul", {loop.exits[1]}), 3);
}

TEST_F(UnrollLoopsTest, ALoopWithAVariableThatChangesStays) {
  const Output handle = Variable("v", DataType::kFloat, Shape({2, 2}));
  ASSERT_TRUE(Execute({Assign(handle, Constant(value_))}).ok());
  const Output inside = Enter(handle, "loop", true);
  const Loop loop = Repeat(3, {Matrix()}, [&](const Outputs& v) {
    const Node* const added = build.NodeOf("AssignAddVariableOp", {inside, v[1]});
    return Outputs{Op("MatMul", {v[1], Read(inside, {added})})};
  });
  EXPECT_EQ(Count("_Loop", {loop.exits[1]}), 1);
}

// The read is in the loop and waits for its iteration, as front ends make it.
TEST_F(UnrollLoopsTest, AllIterationsShareAReadOfAVariable) {
  const Output handle = Variable("v", DataType::kFloat, Shape({2, 2}));
  ASSERT_TRUE(Execute({Assign(handle, Constant(value_))}).ok());
  const Output inside = Enter(handle, "loop", true);
  const Loop loop = Repeat(4, {Matrix()}, [&](const Outputs& v) {
    return Outputs{Op("MatMul", {v[1], Read(inside, {v[0].node})})};
  });
  EXPECT_EQ(Count("MatMul", {loop.exits[1]}), 4);
  EXPECT_EQ(Count("ReadVariableOp", {loop.exits[1]}), 1);
}

TEST_F(UnrollLoopsTest, ShapesMayTellTheNumberOfIterations) {
  const Output rows = Placeholder("rows", DataType::kFloat, PartialShape({4, 1}));
  const Output sizes = Op("Shape", {rows});
  const Output count =
      Op("StridedSlice",
         {sizes, build.Int32Vector({0}), build.Int32Vector({1}), build.Int32Vector({1})},
         {{"shrink_axis_mask", 1}});
  const Output end = Enter(count, "loop", true);
  const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
  const Loop loop = While(
      {Constant(Tensor::Scalar<int32_t>(0)), Matrix()},
      [&](const Outputs& v) {
        return Op("Less", {v[0], end});
      },
      [&](const Outputs& v) {
        return Outputs{Op("Add", {v[0], one}), Op("MatMul", {v[1], v[1]})};
      });
  const Tensor zeros = *Tensor::Create(DataType::kFloat, Shape({4, 1}));
  EXPECT_EQ(Count("MatMul", {loop.exits[1]}, {{rows, zeros}}), 4);
  // The sizes may be fed.
  EXPECT_EQ(Count("_Loop", {loop.exits[1]}, {{sizes, Tensor::Vector<int32_t>({2, 1})}}), 1);
}

TEST_F(UnrollLoopsTest, ProductsThatAddUpAreAddedAtOnce) {
  const Loop loop = Repeat(4, {Matrix(), Matrix()}, [&](const Outputs& v) {
    const Output product = Op("MatMul", {v[1], v[1]}, {{"transpose_a", true}});
    return Outputs{Op("Neg", {v[1]}), build.Variadic("AddN", {{v[2], product}})->output(0)};
  });
  EXPECT_EQ(Count("AddN", {loop.exits[2]}), 2);
  ExpectTheSameNumbers(loop.exits[2]);
}

TEST_F(UnrollLoopsTest, AnErrorNamesTheNodeAndTheIteration) {
  const Output divisor = Placeholder("divisor", DataType::kInt32, PartialShape::Scalar());
  const Output one = Enter(Constant(Tensor::Scalar<int32_t>(1)), "loop", true);
  const Loop loop = Repeat(4, {Matrix(), divisor, divisor}, [&](const Outputs& v) {
    const Output quotient = Op("FloorDiv", {one, v[2]});
    return Outputs{Op("MatMul", {v[1], v[1]}), Op("Sub", {v[2], one}), Op("Add", {v[3], quotient})};
  });
  const Outputs fetches = {loop.exits[1], loop.exits[3]};
  const auto feeds = [&](int32_t number) {
    return std::vector<Feed>{{Matrix(), value_}, {divisor, Tensor::Scalar<int32_t>(number)}};
  };
  for (const std::vector<std::string>& passes :
       std::vector<std::vector<std::string>>{{}, {"unroll_loops"}, {"raise_loops"}}) {
    SessionOptions options;
    options.disabled_passes = passes;
    StartSession(options);
    EXPECT_EQ(Count("_Loop", fetches, {{divisor, Tensor::Scalar<int32_t>(9)}}),
              passes == std::vector<std::string>{"unroll_loops"} ? 1 : 0);
    ExpectError(Run(fetches, feeds(2)).status(), absl::StatusCode::kInvalidArgument,
                {"op FloorDiv", "\n  loop: iteration 2 of frame 'loop'"});
  }
}

// The loop reads the rows of one tensor and writes those of another one.
TEST_F(UnrollLoopsTest, ElementsOfArraysBecomeRows) {
  const auto make = [&] {
    return build.NodeOf("TensorArrayV3", {build.Int32(3)},
                        {{"dtype", DataType::kFloat}, {"element_shape", PartialShape({2, 2})}});
  };
  const Output indices = build.Int32Vector({0, 1, 2});
  const Output rows =
      build.Variadic("Pack", {{Matrix(), Op("Neg", {Matrix()}), Op("Add", {Matrix(), Matrix()})}})
          ->output(0);
  const Node* const in = make();
  const Output scattered =
      Op("TensorArrayScatterV3", {in->output(0), indices, rows, in->output(1)});
  const Node* const out = make();
  const Output in_handle = Enter(in->output(0), "loop", true);
  const Output in_flow = Enter(scattered, "loop", true);
  const Output out_handle = Enter(out->output(0), "loop", true);
  const Loop loop = Repeat(3, {Matrix(), out->output(1)}, [&](const Outputs& v) {
    const Output row =
        Op("TensorArrayReadV3", {in_handle, v[0], in_flow}, {{"dtype", DataType::kFloat}});
    const Output product = Op("MatMul", {row, v[1]});
    return Outputs{product, Op("TensorArrayWriteV3", {out_handle, v[0], product, v[2]})};
  });
  const Output gathered = Op("TensorArrayGatherV3", {out->output(0), indices, loop.exits[2]},
                             {{"dtype", DataType::kFloat}});
  for (const char* op : {"_Loop", "TensorArrayReadV3", "TensorArrayWriteV3"}) {
    EXPECT_EQ(Count(op, {gathered}), 0) << op;
  }
  EXPECT_EQ(Count("Unpack", {gathered}), 1);
  EXPECT_EQ(Count("Pack", {gathered}), 2);
  ExpectTheSameNumbers(gathered);
  // The writes are seen.
  const Output size = Op("TensorArraySizeV3", {out->output(0), loop.exits[2]});
  EXPECT_EQ(Count("TensorArrayWriteV3", {gathered, size}), 3);
}

}  // namespace
}  // namespace millstream
