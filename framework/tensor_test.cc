#include "framework/tensor.h"

#include "framework/opaque_cell.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using Code = absl::StatusCode;

TEST(TensorTest, CopiesShareTheBuffer) {
  const Tensor a = Tensor::Vector<float>({1, 2, 3});
  const Tensor b = a;  // NOLINT(performance-unnecessary-copy-initialization)
  b.data<float>()[1] = 7;
  EXPECT_EQ(a.data<float>()[1], 7);
  EXPECT_FALSE(a.buffer()->IsUnique());
}

TEST(TensorTest, ADeepCopyDoesNotShare) {
  const Tensor a = Tensor::Vector<std::string>({"x", "y"});
  const Tensor b = *a.DeepCopy();
  b.data<std::string>()[0] = "z";
  EXPECT_EQ(a.data<std::string>()[0], "x");
  EXPECT_EQ(b.data<std::string>()[1], "y");
}

TEST(TensorTest, ReshapedViewsTheSameMemory) {
  const Tensor a = Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = a.Reshaped(Shape({3, 2}));
  EXPECT_EQ(b.raw(), a.raw());
  EXPECT_EQ(b.shape(), Shape({3, 2}));
}

TEST(TensorTest, EmptyTensorsHaveNoBytes) {
  const Tensor empty = *Tensor::Create(DataType::kFloat, Shape({3, 0}));
  EXPECT_EQ(empty.bytes(), 0u);
  EXPECT_TRUE(empty.has_value());
  EXPECT_FALSE(Tensor().has_value());
}

TEST(TensorTest, RefusesBadShapesAndTypes) {
  EXPECT_EQ(Tensor::Create(DataType::kFloat, Shape({-1})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Tensor::Create(DataType::kInvalid, Shape({1})).status().code(), Code::kInvalidArgument);
}

TEST(TensorTest, AnAbsurdSizeIsAnErrorThatNamesShapeAndSize) {
  const Status status = Tensor::Create(DataType::kFloat, Shape({1 << 20, 1 << 20})).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("float32[1048576,1048576]"), absl::string_view::npos)
      << status.message();
  EXPECT_NE(status.message().find("4398046511104 bytes"), absl::string_view::npos)
      << status.message();
}

TEST(TensorTest, PrintsTypeShapeAndTheFirstElements) {
  EXPECT_EQ(Tensor::Of<float>({2, 2}, {1, 2, 3, 4.5}).DebugString(), "float32[2,2] 1 2 3 4.5");
  EXPECT_EQ(Tensor::Vector<int8_t>({-1, 2, 3}).DebugString(2), "int8[3] -1 2 ...");
  EXPECT_EQ(Tensor::Scalar<std::string>("a\n").DebugString(), "string[] \"a\\n\"");
  EXPECT_EQ(Tensor::Scalar(true).DebugString(), "bool[] true");
  EXPECT_EQ(Tensor::Scalar(std::complex<float>(1, -2)).DebugString(), "complex64[] (1,-2)");
  EXPECT_EQ(Tensor().DebugString(), "<no value>");
  EXPECT_EQ(Tensor::Create(DataType::kResource, Shape())->DebugString(), "resource[] <unset>");
}

TEST(TensorTest, PrintsSixteenBitFloatsByValue) {
  const auto print = [](DataType dtype, uint16_t bits) {
    const Tensor tensor = *Tensor::Create(dtype, Shape());
    *tensor.data<uint16_t>() = bits;
    return tensor.DebugString();
  };
  EXPECT_EQ(print(DataType::kHalf, 0x3c00), "float16[] 1");
  EXPECT_EQ(print(DataType::kHalf, 0xc500), "float16[] -5");
  EXPECT_EQ(print(DataType::kHalf, 0x0001), "float16[] 5.96046e-08");
  EXPECT_EQ(print(DataType::kHalf, 0x7c00), "float16[] inf");
  EXPECT_EQ(print(DataType::kBFloat16, 0x3f80), "bfloat16[] 1");
  EXPECT_EQ(print(DataType::kBFloat16, 0xff80), "bfloat16[] -inf");
}

TEST(TensorTest, EqualityIsBitForBit) {
  const Tensor a = Tensor::Vector<float>({0.0f, 1.0f});
  EXPECT_TRUE(TensorsEqual(a, *a.DeepCopy()));
  EXPECT_FALSE(TensorsEqual(a, Tensor::Vector<float>({-0.0f, 1.0f})));
  EXPECT_FALSE(TensorsEqual(a, Tensor::Vector<int32_t>({0, 1})));
  EXPECT_FALSE(TensorsEqual(a, a.Reshaped(Shape({2, 1}))));
  EXPECT_TRUE(TensorsEqual(Tensor::Scalar<std::string>("s"), Tensor::Scalar<std::string>("s")));
  EXPECT_FALSE(TensorsEqual(Tensor::Scalar<std::string>("s"), Tensor::Scalar<std::string>("t")));
  EXPECT_TRUE(TensorsEqual(Tensor(), Tensor()));
}

TEST(TensorTest, IntegerValuesWidensBothIndexTypes) {
  EXPECT_EQ(*IntegerValues(Tensor::Vector<int32_t>({1, -2})), std::vector<int64_t>({1, -2}));
  EXPECT_EQ(*IntegerValues(Tensor::Scalar<int64_t>(5)), std::vector<int64_t>({5}));
  const Status status = IntegerValues(Tensor::Vector<float>({1})).status();
  EXPECT_EQ(status.message(), "expected an int32 or int64 tensor, got float32[1] ...");
}

}  // namespace
}  // namespace millstream
