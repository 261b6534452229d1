// Products that a loop adds up. Their operands are small integers, so that sums are exact.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/loops/raise_loops_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kRows = 3;     // of a product
constexpr int64_t kColumns = 2;  // of a product

Tensor Integers(const Shape& shape) {
  Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i * 7919) % 5 - 2);
  }
  return tensor;
}

class LoopSumsTest : public RaiseLoopsTest {
 protected:
  // A loop that changes the sign of x in each iteration and adds transpose(x) * (x * 2 - y).
  Loop AddProducts(int64_t depth, float iterations, bool sum_comes_first = true) {
    x_ = Integers({depth, kRows});
    y_ = Integers({depth, kColumns});
    const Output y = Enter(Constant(y_), "loop", true);
    const Output start = Constant(Integers({kRows, kColumns}));
    return Count({Constant(x_), Constant(y_), start}, iterations, [&](const Outputs& v) {
      const Output b = Op("Sub", {v[1], y});
      const Output product = Op("MatMul", {v[0], b}, {{"transpose_a", true}});
      const Outputs terms = sum_comes_first ? Outputs{v[2], product} : Outputs{product, v[2]};
      return Outputs{Op("Neg", {v[0]}), Op("Add", {v[1], y}),
                     build.Variadic("AddN", {terms})->output(0)};
    });
  }
  // The number of products that a step computes.
  int Products(const Output& fetch) {
    StepReport report;
    report.want_trace = true;
    RunOptions run;
    run.report = &report;
    EXPECT_TRUE(Run({fetch}, {}, {}, run).ok());
    int products = 0;
    for (const TracedPart& part : report.trace.parts()) {
      products += std::count_if(part.nodes.begin(), part.nodes.end(),
                                [](const TracedNode& node) { return node.op == "MatMul"; });
    }
    return products;
  }
  std::vector<float> ValuesWithout(const std::string& pass, const Output& fetch) {
    SessionOptions session;
    if (!pass.empty()) session.disabled_passes = {pass};
    StartSession(session);
    return Elements<float>(Value(fetch));
  }
  void ExpectTheSameNumbers(const Loop& loop) {
    const std::vector<float> joined = ValuesWithout("", loop.exits[3]);
    EXPECT_EQ(joined, ValuesWithout("sum_products", loop.exits[3]));
    EXPECT_EQ(joined, ValuesWithout("raise_loops", loop.exits[3]));
  }

  Tensor x_, y_;
};

TEST_F(LoopSumsTest, ProductsOfManyIterationsAreOne) {
  const Loop loop = AddProducts(4, 7);
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(num_sums_, 1);
  EXPECT_EQ(Products(loop.exits[3]), 1);
  ExpectTheSameNumbers(loop);
}

TEST_F(LoopSumsTest, TheSumMayComeSecond) {
  const Loop loop = AddProducts(4, 5, false);
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(num_sums_, 1);
  ExpectTheSameNumbers(loop);
}

TEST_F(LoopSumsTest, ABlockThatIsFullIsMultiplied) {
  const Loop loop = AddProducts(300, 10);  // of 1,024 rows
  EXPECT_EQ(Products(loop.exits[3]), 4);
  ExpectTheSameNumbers(loop);
}

TEST_F(LoopSumsTest, LargeOperandsAreMultipliedAtOnce) {
  const Loop loop = AddProducts(600, 4);
  EXPECT_EQ(Products(loop.exits[3]), 4);
  ExpectTheSameNumbers(loop);
}

TEST_F(LoopSumsTest, WithoutIterationsTheInitialValueLeaves) {
  EXPECT_EQ(Elements<float>(Value(AddProducts(4, 0).exits[3])),
            Elements<float>(Integers({kRows, kColumns})));
}

TEST_F(LoopSumsTest, EmptyOperands) { ExpectTheSameNumbers(AddProducts(0, 3)); }

TEST_F(LoopSumsTest, TheNumberOfRowsMayChange) {
  const Output start = Constant(Integers({kRows, kRows}));
  const Loop loop = Count({Constant(Integers({1, kRows})), start}, 6, [&](const Outputs& v) {
    const Output product = Op("MatMul", {v[0], v[0]}, {{"transpose_a", true}});
    const Output axis = Enter(Constant(Tensor::Scalar<int32_t>(0)), "loop", true);
    const Output longer = build.Variadic("ConcatV2", {{v[0], v[0]}, {axis}})->output(0);
    return Outputs{longer, build.Variadic("AddN", {{v[1], product}})->output(0)};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(num_sums_, 1);
  const std::vector<float> joined = ValuesWithout("", loop.exits[2]);
  EXPECT_EQ(joined, ValuesWithout("sum_products", loop.exits[2]));
}

// The operand lies in memory that the next iteration would compute its own in.
TEST_F(LoopSumsTest, AListMayKeepAnOperand) {
  const Output shape = Constant(Tensor::Vector<int32_t>({2, kRows}));
  const Output list = Op("EmptyTensorList", {shape, Constant(Tensor::Scalar<int32_t>(-1))},
                         {{"element_dtype", DataType::kFloat}, {"shape_type", DataType::kInt32}});
  const Output start = Constant(Integers({kRows, kRows}));
  const Loop loop = Count({Constant(Integers({2, kRows})), list, start}, 3, [&](const Outputs& v) {
    const Output a = Op("Neg", {v[0]});
    const Output product = Op("MatMul", {a, a}, {{"transpose_a", true}});
    return Outputs{Op("Add", {a, a}), Op("TensorListPushBack", {v[1], a}),
                   build.Variadic("AddN", {{v[2], product}})->output(0)};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(num_sums_, 1);
  const Output kept = Op("TensorListStack", {loop.exits[2], shape},
                         {{"element_dtype", DataType::kFloat}, {"num_elements", 3}});
  StartSession(SessionOptions());
  const StatusOr<std::vector<Tensor>> found = Run({kept, loop.exits[3]});
  ASSERT_TRUE(found.ok()) << found.status();
  const std::vector<float> x = Elements<float>(Integers({2, kRows}));
  const std::vector<float> elements = Elements<float>((*found)[0]);
  for (size_t i = 0; i < elements.size(); ++i) {
    const float factor[] = {-1, 2, -4};
    EXPECT_EQ(elements[i], factor[i / x.size()] * x[i % x.size()]) << i;
  }
}

TEST_F(LoopSumsTest, ASumThatIsReadStays) {
  const Output start = Constant(Integers({kRows, kRows}));
  const Loop loop = Count({Constant(x_ = Integers({2, kRows})), start}, 3, [&](const Outputs& v) {
    const Output product = Op("MatMul", {v[0], v[0]}, {{"transpose_a", true}});
    return Outputs{Op("MatMul", {v[0], v[1]}),
                   build.Variadic("AddN", {{v[1], product}})->output(0)};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(num_sums_, 0);
}

TEST_F(LoopSumsTest, OtherProductsStay) {
  const Output start = Constant(Integers({kRows, kRows}));
  const Loop loop = Count({Constant(Integers({kRows, kRows})), start}, 3, [&](const Outputs& v) {
    const Output product = Op("MatMul", {v[0], v[0]});
    return Outputs{Op("Neg", {v[0]}), build.Variadic("AddN", {{v[1], product}})->output(0)};
  });
  EXPECT_EQ(Raised(loop.exits), 1);
  EXPECT_EQ(num_sums_, 0);
}

TEST_F(LoopSumsTest, AnErrorNamesTheProduct) {
  const Output x = Placeholder("x", DataType::kFloat);
  const Output y = Placeholder("y", DataType::kFloat);
  const Loop loop = Count({x, y, Constant(Integers({kRows, kColumns}))}, 3, [&](const Outputs& v) {
    const Output product = Op("MatMul", {v[0], v[1]}, {{"transpose_a", true}});
    return Outputs{Op("Neg", {v[0]}), v[1], build.Variadic("AddN", {{v[2], product}})->output(0)};
  });
  const Status status =
      Error(loop.exits[3], {{x, Integers({4, kRows})}, {y, Integers({5, kColumns})}});
  EXPECT_TRUE(absl::StrContains(status.message(), "MatMul")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "of frame 'loop'")) << status;
}

}  // namespace
}  // namespace millstream
