#include "core/resources/collective_math.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "framework/half.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr MergeOp kOps[] = {MergeOp::kAdd, MergeOp::kMul, MergeOp::kMax, MergeOp::kMin};

double Merged(MergeOp op, double a, double b) {
  switch (op) {
    case MergeOp::kAdd: return a + b;
    case MergeOp::kMul: return a * b;
    case MergeOp::kMax: return std::max(a, b);
    case MergeOp::kMin: return std::min(a, b);
  }
  return 0;
}

void SetNumber(const Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype()) {
    case DataType::kFloat: tensor.data<float>()[i] = static_cast<float>(value); return;
    case DataType::kDouble: tensor.data<double>()[i] = value; return;
    case DataType::kInt32: tensor.data<int32_t>()[i] = static_cast<int32_t>(value); return;
    case DataType::kInt64: tensor.data<int64_t>()[i] = static_cast<int64_t>(value); return;
    case DataType::kHalf:
      static_cast<uint16_t*>(tensor.raw())[i] = FloatToHalf(static_cast<float>(value));
      return;
    default:
      static_cast<uint16_t*>(tensor.raw())[i] = FloatToBFloat16(static_cast<float>(value));
      return;
  }
}

Tensor Numbers(DataType dtype, const std::vector<double>& values) {
  Tensor tensor = Tensor::Create(dtype, Shape({static_cast<int64_t>(values.size())})).value();
  for (size_t i = 0; i < values.size(); ++i) SetNumber(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

// Small integers, of which sums, products and their halves have no rounding in any type.
double NumberOf(size_t member, size_t i) { return static_cast<double>((member * 3 + i * 5) % 4); }

TEST(CollectiveMathTest, MergesAnyNumberOfMembersOfAnySizeAndType) {
  // The last one has several blocks, and a part of one.
  for (const size_t size : {0, 1, 7, 40000}) {
    for (size_t members = 1; members <= 5; ++members) {
      for (const MergeOp op : kOps) {
        for (const DataType dtype : {DataType::kHalf, DataType::kBFloat16, DataType::kFloat,
                                     DataType::kDouble, DataType::kInt32, DataType::kInt64}) {
          SCOPED_TRACE(absl::StrCat(size, " of ", members, " members, ", DataTypeName(dtype),
                                    ", operation ", static_cast<int>(op)));
          ASSERT_TRUE(IsReducible(dtype));
          std::vector<Tensor> tensors;
          std::vector<double> expected(size);
          for (size_t member = 0; member < members; ++member) {
            std::vector<double> values(size);
            for (size_t i = 0; i < size; ++i) {
              values[i] = NumberOf(member, i);
              expected[i] = member == 0 ? values[i] : Merged(op, expected[i], values[i]);
            }
            tensors.push_back(Numbers(dtype, values));
          }
          const auto merged = MergeTensors(op, tensors, 1, SerialLoop);
          ASSERT_TRUE(merged.ok()) << merged.status();
          EXPECT_TRUE(TensorsEqual(*merged, Numbers(dtype, expected)));
        }
      }
    }
  }
}

TEST(CollectiveMathTest, DividesAtTheEnd) {
  const std::vector<Tensor> floats = {Tensor::Vector<float>({1, 2}), Tensor::Vector<float>({2, 5})};
  EXPECT_TRUE(TensorsEqual(MergeTensors(MergeOp::kAdd, floats, 2, SerialLoop).value(),
                           Tensor::Vector<float>({1.5, 3.5})));
  const std::vector<Tensor> integers = {Tensor::Vector<int32_t>({1, -2}),
                                        Tensor::Vector<int32_t>({2, -5})};
  EXPECT_TRUE(TensorsEqual(MergeTensors(MergeOp::kAdd, integers, 2, SerialLoop).value(),
                           Tensor::Vector<int32_t>({1, -3})));
  const Tensor one = Tensor::Vector<float>({6});
  EXPECT_TRUE(TensorsEqual(MergeTensors(MergeOp::kAdd, {one}, 3, SerialLoop).value(),
                           Tensor::Vector<float>({2})));
  EXPECT_EQ(one.data<float>()[0], 6) << "a member's tensor is left as it is";
}

TEST(CollectiveMathTest, MergesInTheOrderOfTheTensors) {
  const Tensor large = Tensor::Scalar(1e8f);
  const Tensor small = Tensor::Scalar(3.0f);
  const auto merge = [](const std::vector<Tensor>& tensors) {
    return *MergeTensors(MergeOp::kAdd, tensors, 1, SerialLoop).value().data<float>();
  };
  // Beside 10^8, floats are 8 apart: one 3 is lost, two together are rounded up.
  EXPECT_EQ(merge({large, small, small}), 1e8f);
  EXPECT_EQ(merge({small, small, large}), 1e8f + 8);
}

TEST(CollectiveMathTest, IntegersWrapAround) {
  const auto merge = [](MergeOp op, int64_t a, int64_t b) {
    const std::vector<Tensor> tensors = {Tensor::Scalar(a), Tensor::Scalar(b)};
    return *MergeTensors(op, tensors, 1, SerialLoop).value().data<int64_t>();
  };
  EXPECT_EQ(merge(MergeOp::kAdd, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(merge(MergeOp::kMul, INT64_MAX, 2), -2);
  EXPECT_EQ(merge(MergeOp::kMax, -1, 1), 1);
  EXPECT_EQ(merge(MergeOp::kMin, -1, 1), -1);
}

TEST(CollectiveMathTest, MergesIntoAPartOfATensor) {
  const Tensor whole = Tensor::Vector<float>({1, 2, 3, 4});
  const std::vector<Tensor> tensors = {Tensor::Vector<float>({5, 7}),
                                       Tensor::Vector<float>({1, 3})};
  MergeInto(MergeOp::kAdd, tensors, 2, SerialLoop, ElementsOf(whole, 1, 3));
  EXPECT_TRUE(TensorsEqual(whole, Tensor::Vector<float>({1, 3, 5, 4})));
  MergeInto(MergeOp::kAdd, {tensors[0]}, 1, SerialLoop, ElementsOf(whole, 2, 4));
  EXPECT_TRUE(TensorsEqual(whole, Tensor::Vector<float>({1, 3, 5, 7})));
  MergeInto(MergeOp::kAdd, {Numbers(DataType::kFloat, {})}, 1, SerialLoop, ElementsOf(whole, 4, 4));
  EXPECT_TRUE(TensorsEqual(tensors[0], Tensor::Vector<float>({5, 7})));
}

TEST(CollectiveMathTest, OneTensorIsGivenWithoutACopy) {
  const Tensor one = Tensor::Vector<float>({1, 2});
  EXPECT_EQ(MergeTensors(MergeOp::kMax, {one}, 1, SerialLoop).value().raw(), one.raw());
}

TEST(CollectiveMathTest, JoinsRows) {
  const Tensor a = Tensor::Of<int32_t>(Shape({1, 2}), {1, 2});
  const Tensor b = Tensor::Of<int32_t>(Shape({2, 2}), {3, 4, 5, 6});
  const Tensor none = Tensor::Of<int32_t>(Shape({0, 2}), {});
  EXPECT_TRUE(TensorsEqual(JoinRows({a, none, b}).value(),
                           Tensor::Of<int32_t>(Shape({3, 2}), {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(TensorsEqual(JoinRows({none, none}).value(), none));
}

TEST(CollectiveMathTest, OtherTypesHaveNoReductions) {
  for (const DataType dtype : {DataType::kString, DataType::kBool, DataType::kUInt8}) {
    EXPECT_FALSE(IsReducible(dtype)) << DataTypeName(dtype);
  }
}

TEST(CollectiveMathTest, PartsOfRowsShareTheirMemoryUnlessCopied) {
  Tensor rows = Tensor::Create(DataType::kDouble, Shape({4, 3})).value();
  for (int i = 0; i < 12; ++i) rows.data<double>()[i] = i;
  const Tensor part = PartOfRows(rows, 1, 2);
  EXPECT_EQ(part.shape(), Shape({2, 3}));
  EXPECT_EQ(part.data<double>(), rows.data<double>() + 6);
  const Tensor copy = CopyPartOfRows(rows, 1, 2).value();
  EXPECT_TRUE(TensorsEqual(copy, part));
  EXPECT_NE(copy.raw(), part.raw());
  EXPECT_EQ(CopyPartOfRows(rows, 0, 1)->raw(), rows.raw());
  const Tensor none = Tensor::Create(DataType::kDouble, Shape({0, 3})).value();
  EXPECT_EQ(CopyPartOfRows(none, 1, 2)->shape(), Shape({0, 3}));
}

}  // namespace
}  // namespace millstream
