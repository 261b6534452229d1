#include "framework/shape.h"

#include <random>

#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

TEST(ShapeTest, AScalarHasOneElement) {
  EXPECT_EQ(Shape().rank(), 0);
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape().ToString(), "[]");
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).num_elements(), 0);
  EXPECT_EQ(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1, 7}).num_elements(), 7);
}

TEST(ShapeTest, RefusesNegativeSizes) {
  const Status status = ValidateShape(Shape({2, -3}));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "shape [2,-3] has the negative size -3 in dimension 1");
}

TEST(ShapeTest, RefusesMoreDimensionsThanKernelsTake) {
  const std::vector<int64_t> ones(kMaxRank + 1, 1);
  EXPECT_TRUE(ValidateShape(Shape(absl::MakeConstSpan(ones).subspan(1))).ok());
  const Status status = ValidateShape(Shape(absl::MakeConstSpan(ones)));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "a tensor has at most 32 dimensions, got 33");
}

TEST(ShapeTest, RefusesCountsThatOverflow) {
  EXPECT_TRUE(ValidateShape(Shape({int64_t{1} << 31, int64_t{1} << 31})).ok());
  EXPECT_EQ(ValidateShape(Shape({int64_t{1} << 31, int64_t{1} << 31, 2})).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(ValidateShape(Shape({int64_t{1} << 62, 2, 0})).code(), Code::kInvalidArgument);
}

TEST(PartialShapeTest, PrintsWhatIsKnown) {
  EXPECT_EQ(PartialShape().ToString(), "<unknown>");
  EXPECT_EQ(PartialShape({2, -1}).ToString(), "[2,?]");
  EXPECT_EQ(PartialShape::Scalar().ToString(), "[]");
}

TEST(PartialShapeTest, NegativePositionsCountFromTheEnd) {
  PartialShape shape({2, 3, 4});
  EXPECT_EQ(shape.dim(-1), 4);
  shape.set_dim(-3, 7);
  EXPECT_EQ(shape, PartialShape({7, 3, 4}));
}

TEST(PartialShapeTest, CountsElementsWhereTheyAreKnown) {
  EXPECT_EQ(PartialShape({2, 3}).num_elements(), 6);
  EXPECT_EQ(PartialShape({2, -1}).num_elements(), kUnknownDim);
  EXPECT_EQ(PartialShape({-1, 0}).num_elements(), 0);
  EXPECT_EQ(PartialShape().num_elements(), kUnknownDim);
}

TEST(PartialShapeTest, MergingTakesWhatEitherKnows) {
  EXPECT_EQ(*PartialShape({2, -1}).MergeWith(PartialShape({-1, 3})), PartialShape({2, 3}));
  EXPECT_EQ(*PartialShape().MergeWith(PartialShape({-1, 3})), PartialShape({-1, 3}));
  EXPECT_EQ(*PartialShape({4}).MergeWith(PartialShape()), PartialShape({4}));
}

TEST(PartialShapeTest, MergingRefusesContradictions) {
  const Status sizes = PartialShape({2, 3}).MergeWith(PartialShape({2, 4})).status();
  EXPECT_EQ(sizes.code(), Code::kInvalidArgument);
  EXPECT_EQ(sizes.message(),
            "Dimension 1 in both shapes must be equal, but are 3 and 4 ([2,3] and [2,4])");
  const Status ranks = PartialShape({2}).MergeWith(PartialShape({2, 4})).status();
  EXPECT_EQ(ranks.message(), "Shapes must be equal rank, but are 1 and 2 ([2] and [2,4])");
}

PartialShape RandomPartialShape(std::mt19937* random) {
  const auto pick = [random](int count) { return static_cast<int>((*random)() % count); };
  if (pick(5) == 0) return PartialShape();
  PartialShape shape = PartialShape::Scalar();
  for (int i = pick(4); i > 0; --i) shape.AddDim(pick(4) - 1);
  return shape;
}

TEST(PartialShapeTest, MergeSucceedsExactlyForCompatibleShapesAndIsSymmetric) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const PartialShape a = RandomPartialShape(&random);
    const PartialShape b = RandomPartialShape(&random);
    const auto ab = a.MergeWith(b);
    const auto ba = b.MergeWith(a);
    ASSERT_EQ(ab.ok(), a.IsCompatibleWith(b)) << a.ToString() << " " << b.ToString();
    ASSERT_EQ(ab.ok(), ba.ok());
    if (!ab.ok()) continue;
    EXPECT_EQ(*ab, *ba);
    EXPECT_TRUE(ab->IsCompatibleWith(a) && ab->IsCompatibleWith(b));
    EXPECT_EQ(*ab->MergeWith(a), *ab);  // nothing is lost, nothing more is gained
  }
}

}  // namespace
}  // namespace millstream
