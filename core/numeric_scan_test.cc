// Every floating-point type, with what is not finite at every place of a block and behind it.
#include "core/numeric_scan.h"

#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "framework/plugin/host_tensor.h"
#include "framework/tensor.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kSize = 2 * 1024 + 37;

// A view of `count` numbers, all of which are `bits`.
template <typename Word>
class Numbers {
 public:
  Numbers(DataType dtype, int64_t count, Word bits)
      : tensor_(Tensor::Create(dtype, Shape({count})).value()) {
    for (int64_t i = 0; i < count; ++i) Set(i, bits);
  }
  void Set(int64_t i, Word bits) {
    std::memcpy(static_cast<char*>(tensor_.raw()) + i * sizeof(Word), &bits, sizeof(Word));
  }
  MS_TensorView view() const { return MakeView(tensor_, nullptr); }

 private:
  Tensor tensor_;
};

template <typename Word>
void ExpectFound(DataType dtype, Word largest, Word infinity, Word nan) {
  Numbers<Word> numbers(dtype, kSize, largest);
  EXPECT_FALSE(HoldsNonFinite(numbers.view())) << DataTypeName(dtype);
  for (const int64_t place : {int64_t{0}, int64_t{1}, int64_t{1023}, int64_t{1024}, kSize - 1}) {
    for (const Word bad : {infinity, nan}) {
      numbers.Set(place, bad);
      EXPECT_TRUE(HoldsNonFinite(numbers.view())) << DataTypeName(dtype) << " at " << place;
      numbers.Set(place, largest);
    }
  }
  numbers.Set(5, infinity);
  numbers.Set(6, nan);
  numbers.Set(7, nan);
  const NumericRange range = RangeOf(numbers.view());
  EXPECT_EQ(range.count, kSize);
  EXPECT_EQ(range.infinities, 1);
  EXPECT_EQ(range.nans, 2);
}

TEST(NumericScanTest, EveryTypeAndPlace) {
  ExpectFound<uint16_t>(DataType::kHalf, 0x7bff, 0xfc00, 0x7c01);
  ExpectFound<uint16_t>(DataType::kBFloat16, 0x7f7f, 0xff80, 0x7f81);
  ExpectFound<uint32_t>(DataType::kFloat, 0x7f7fffff, 0xff800000, 0x7f800001);
  ExpectFound<uint64_t>(DataType::kDouble, 0x7fefffffffffffff, 0xfff0000000000000,
                        0x7ff0000000000001);
}

TEST(NumericScanTest, BothPartsOfAComplexNumberCount) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor value = Tensor::Scalar(std::complex<float>(2, nan));
  EXPECT_TRUE(HoldsNonFinite(MakeView(value, nullptr)));
  EXPECT_EQ(RangeOf(MakeView(value, nullptr)).ToString(), "2 to 2, 1 NaN of 2");
}

TEST(NumericScanTest, IntegersAndNothingAreFinite) {
  EXPECT_FALSE(HoldsNonFinite(MakeView(Tensor::Scalar<int32_t>(0x7f800000), nullptr)));
  const Tensor empty = Tensor::Create(DataType::kFloat, Shape({0})).value();
  EXPECT_FALSE(HoldsNonFinite(MakeView(empty, nullptr)));
  EXPECT_EQ(RangeOf(MakeView(empty, nullptr)).ToString(), "no numbers");
  EXPECT_FALSE(HoldsNonFinite(NullView()));
}

TEST(NumericScanTest, ARangeInWords) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto text = [](const std::vector<float>& values) {
    return RangeOf(MakeView(Tensor::Vector<float>(values), nullptr)).ToString();
  };
  EXPECT_EQ(text({-1.5f, 2.0f}), "-1.5 to 2");
  EXPECT_EQ(text({-1.5f, infinity, -infinity}), "-1.5 to -1.5, 2 infinities of 3");
  EXPECT_EQ(text({infinity}), "1 infinity of 1");
}

}  // namespace
}  // namespace millstream
