// fuse_concats changes what a plan executes, and no bit of what it gives.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kDepth = 40;

class FuseConcatsTest : public PassTest {
 protected:
  FuseConcatsTest() : PassTest(std::vector<std::string>{"fuse_products", "fuse_concats"}) {}

  // Small integers: sums are exact, so that no bit depends on the library's threads.
  Output Integers(const Shape& shape) {
    Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.data<float>()[i] = static_cast<float>(((i + inputs_) * 7919) % 7 - 3);
    }
    return FedValue(absl::StrCat("input_", inputs_++), tensor);
  }
  Output Images() { return Integers({2, 9, 8, kDepth}); }

  // An image's convolution by a filter of side x side pixels, with its bias.
  Output Biased(const Output& image, int64_t side, int64_t channels, int64_t stride = 1) {
    const GraphBuilder::Attrs window = {{"strides", std::vector<int64_t>{1, stride, stride, 1}},
                                        {"padding", "SAME"}};
    const Output filter = Integers({side, side, kDepth, channels});
    return Op("BiasAdd", {Op("Conv2D", {image, filter}, window), Integers({channels})});
  }
  Output Branch(const Output& image, int64_t side, int64_t channels) {
    return Op("Relu", {Biased(image, side, channels)});
  }
  Output Concat(const std::vector<Output>& values, int32_t axis = 3,
                GraphBuilder::Attrs attrs = {}) {
    const Output at = Constant(Tensor::Scalar<int32_t>(axis));
    return build.Variadic("ConcatV2", {values, {at}}, attrs)->output(0);
  }
  // Rows of a matrix of so many columns, picked by `indices`.
  Output Rows(int64_t columns, const Output& indices) {
    return Op("GatherV2", {Integers({7, columns}), indices, Constant(Tensor::Scalar<int32_t>(0))});
  }
  Output Indices() {
    Tensor indices = *Tensor::Create(DataType::kInt32, {3, 2});
    for (int32_t i = 0; i < 6; ++i) {
      indices.data<int32_t>()[i] = (i * 5 + static_cast<int32_t>(inputs_)) % 7;
    }
    return FedValue(absl::StrCat("indices_", inputs_++), indices);
  }
  int64_t JoinedGathers(const std::vector<Output>& fetches) {
    return absl::c_count(ExecutedOps(fetches), "_JoinedGather");
  }
  int64_t Joined(const std::vector<Output>& fetches) {
    return absl::c_count(ExecutedOps(fetches), "_JoinedConv2D");
  }

 private:
  int64_t inputs_ = 0;
};

// Three operations of each branch become one, and then all of them and the concatenation.
TEST_F(FuseConcatsTest, BranchesOfAModule) {
  const Output image = Images();
  const Output pooled = Op("MaxPool", {image},
                           {{"ksize", std::vector<int64_t>{1, 3, 3, 1}},
                            {"strides", std::vector<int64_t>{1, 1, 1, 1}},
                            {"padding", "SAME"}});
  const Output reduced = Branch(image, 1, kDepth);
  const Output joined = Concat({Branch(image, 1, 24), Branch(reduced, 3, 48),
                                Branch(Branch(image, 1, kDepth), 5, 16), Branch(pooled, 1, 20)});
  const Output last = Op("Tanh", {joined});
  EXPECT_EQ(Joined({last}), 1);
  EXPECT_EQ(absl::c_count(ExecutedOps({last}), "ConcatV2"), 0);
  EXPECT_EQ(Saved({last}), 6 * 2 + 4);
  EXPECT_EQ(Saved({joined}), 6 * 2 + 4);
}

TEST_F(FuseConcatsTest, WithoutAnActivationAndByAnAxisFromTheEnd) {
  const Output image = Images();
  EXPECT_EQ(Joined({Concat({Biased(image, 1, 5), Biased(image, 3, 40)}, -1)}), 1);
  EXPECT_EQ(Joined({Concat({Biased(image, 1, 5, 2), Biased(image, 3, 6, 2)})}), 1);
  Saved({Concat({Biased(image, 1, 5, 2), Biased(image, 3, 6, 2)})});
}

TEST_F(FuseConcatsTest, TheOldOpHasItsAxisInFront) {
  const Output image = Images();
  const Output axis = Constant(Tensor::Scalar<int32_t>(3));
  const Output joined =
      build.Variadic("Concat", {{axis}, {Branch(image, 1, 9), Branch(image, 3, 4)}})->output(0);
  EXPECT_EQ(Joined({joined}), 1);
  EXPECT_EQ(Saved({joined}), 2 * 2 + 2);
}

TEST_F(FuseConcatsTest, NotWhereABranchIsReadElsewhere) {
  const Output image = Images();
  const Output branch = Branch(image, 1, 8);
  const Output joined = Concat({branch, Branch(image, 3, 8)});
  EXPECT_EQ(Joined({joined, Op("Tanh", {branch})}), 0);
  EXPECT_EQ(Joined({joined, branch}), 0);
  EXPECT_EQ(Joined({Concat({branch, branch})}), 0);
}

TEST_F(FuseConcatsTest, NotOfBranchesOfSeveralKinds) {
  const Output image = Images();
  EXPECT_EQ(Joined({Concat({Branch(image, 1, 8), image})}), 0);
  EXPECT_EQ(Joined({Concat({Branch(image, 1, 8), Op("Tanh", {Branch(image, 1, 8)})})}), 0);
  EXPECT_EQ(Joined({Concat({Branch(image, 1, 8), Biased(image, 1, 8)})}), 0);
  const Output small = Images();
  const Output halved = Op("Relu", {Biased(small, 1, 8, 2)});
  EXPECT_EQ(Joined({Concat({Branch(Integers({2, 5, 4, kDepth}), 1, 8), halved})}), 0);
}

TEST_F(FuseConcatsTest, NotWhereATensorIsAdded) {
  const Output image = Images();
  const Output sum = Op("AddV2", {Biased(image, 1, kDepth), image});
  EXPECT_EQ(Joined({Concat({Op("Relu", {sum}), Branch(image, 1, 8)})}), 0);
}

// The others' filters are then still prepared when the plan is made. The result's shape is known
// from the other branch.
TEST_F(FuseConcatsTest, NotWhereAShapeIsNotKnown) {
  const Output image = Images();
  const Output rows = Op("Where", {FedValue("rows", Numbers({2}))});
  const Output some = Op("GatherNd", {Images(), rows}, {{"Tindices", DataType::kInt64}});
  const Output joined = Concat({Branch(image, 1, 8), Branch(some, 3, 8)});
  EXPECT_EQ(Joined({joined}), 0);
  EXPECT_EQ(Saved({joined}), 2 * 2);
}

TEST_F(FuseConcatsTest, NotAlongOtherDimensions) {
  const Output image = Images();
  EXPECT_EQ(Joined({Concat({Branch(image, 1, 8), Branch(image, 3, 8)}, 1)}), 0);
  EXPECT_EQ(Joined({Concat({Branch(image, 1, 8), Branch(image, 3, 8)}, 0)}), 0);
}

TEST_F(FuseConcatsTest, RowsThatAreGathered) {
  const Output joined = Concat({Rows(4, Indices()), Rows(1, Indices()), Rows(9, Indices())}, 2);
  EXPECT_EQ(JoinedGathers({joined}), 1);
  EXPECT_EQ(Saved({joined}), 3);
  const Output from_the_end = Concat({Rows(4, Indices()), Rows(3, Indices())}, -1);
  EXPECT_EQ(JoinedGathers({from_the_end}), 1);
  EXPECT_EQ(Saved({Op("Neg", {from_the_end})}), 2);
}

// Of the first version, and along an axis that is counted from the end.
TEST_F(FuseConcatsTest, OtherFormsOfGathers) {
  const Output indices = Indices();
  const Output old = Op("Gather", {Integers({7, 3}), indices});
  const Output last =
      Op("GatherV2", {Integers({7, 5}), indices, Constant(Tensor::Scalar<int32_t>(-2))});
  const Output joined = Concat({old, last}, 2);
  EXPECT_EQ(JoinedGathers({joined}), 1);
  EXPECT_EQ(Saved({joined}), 2);
}

TEST_F(FuseConcatsTest, GathersThatAreReadElsewhereStay) {
  const Output rows = Rows(4, Indices());
  const Output joined = Concat({rows, Rows(3, Indices())}, 2);
  EXPECT_EQ(JoinedGathers({joined, rows}), 0);
  EXPECT_EQ(JoinedGathers({joined, Op("Neg", {rows})}), 0);
}

TEST_F(FuseConcatsTest, AnIndexOutOfRangeNamesItsGather) {
  const Output params = Placeholder("params", DataType::kFloat);
  const Output right = Placeholder("right", DataType::kInt32);
  const Output wrong = Placeholder("wrong", DataType::kInt32);
  const Output first = Op("GatherV2", {params, right, Constant(Tensor::Scalar<int32_t>(0))});
  const Output second = Op("GatherV2", {params, wrong, Constant(Tensor::Scalar<int32_t>(0))});
  const Output joined = Concat({first, second}, 1);
  StartSession();
  const StatusOr<std::vector<Tensor>> result =
      Run({joined}, {{params, Numbers({7, 3})},
                     {right, Tensor::Vector<int32_t>({0})},
                     {wrong, Tensor::Vector<int32_t>({7})}});
  ExpectError(result.status(), absl::StatusCode::kInvalidArgument,
              {absl::StrCat("'", second.node->name(), "': indices[0] = 7 is not in [0, 7)")});
}

TEST_F(FuseConcatsTest, OtherGathersStay) {
  const Output indices = Indices();
  const Output rows = Rows(3, indices);
  // Along another dimension, beside what is not gathered, and of columns.
  EXPECT_EQ(JoinedGathers({Concat({Rows(3, indices), Rows(3, Indices())}, 1)}), 0);
  EXPECT_EQ(JoinedGathers({Concat({rows, Integers({3, 2, 5})}, 2)}), 0);
  const Output columns =
      Op("GatherV2", {Integers({3, 7}), FedValue("picked", Tensor::Vector<int32_t>({2, 0})),
                      Constant(Tensor::Scalar<int32_t>(1))});
  EXPECT_EQ(JoinedGathers({Concat({columns, columns}, 1)}), 0);
  EXPECT_EQ(JoinedGathers({Concat({columns, Op("Neg", {columns})}, 1)}), 0);
}

TEST_F(FuseConcatsTest, KernelsThatTheProgramNamesStay) {
  const Output image = Images();
  const std::vector<Output> branches = {Branch(image, 1, 8), Branch(image, 3, 8)};
  EXPECT_EQ(Joined({Concat(branches, 3, {{"_kernel", ""}})}), 0);
}

}  // namespace
}  // namespace millstream
