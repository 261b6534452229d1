// Every floating-point type, with what is not finite at every place of a block and behind it.
#include "core/numerics/numeric_scan.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "framework/plugin/host_tensor.h"
#include "framework/tensor.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr int64_t kBlock = 4096;
constexpr int64_t kSize = 2 * kBlock + 37;

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
  for (const int64_t place : {int64_t{0}, int64_t{1}, kBlock - 1, kBlock, kSize - 1}) {
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

// Threads that take a scan in parts of this many blocks, the last part first.
struct SplitScan {
  static constexpr uint64_t kPart = 7;
  static inline int parts = 0;

  static void Run(MS_Frame*, uint64_t total, uint64_t,
                  void (*fn)(void* user, uint64_t begin, uint64_t end), void* user) {
    for (uint64_t end = total; end > 0; end -= std::min(end, kPart)) {
      fn(user, end - std::min(end, kPart), end);
      ++parts;
    }
  }
  static MS_ThreadsApi Api() {
    MS_ThreadsApi api = {};
    api.parallel_for = &Run;
    return api;
  }
};

TEST(NumericScanTest, ThePartsOfALargeTensorCoverIt) {
  constexpr int64_t kLarge = (1 << 20) + 37;
  const MS_ThreadsApi threads = SplitScan::Api();
  Numbers<uint16_t> halves(DataType::kHalf, kLarge, 0x7bff);
  Numbers<uint32_t> floats(DataType::kFloat, kLarge, 0xff7fffff);
  Numbers<uint64_t> doubles(DataType::kDouble, kLarge, 0);
  SplitScan::parts = 0;
  EXPECT_FALSE(HoldsNonFinite(halves.view(), nullptr, &threads));
  EXPECT_FALSE(HoldsNonFinite(floats.view(), nullptr, &threads));
  EXPECT_FALSE(HoldsNonFinite(doubles.view(), nullptr, &threads));
  const int64_t blocks = (kLarge + kBlock - 1) / kBlock;
  EXPECT_EQ(SplitScan::parts, 3 * ((blocks + 6) / 7));
  for (const int64_t place : {int64_t{0}, 7 * kBlock - 1, 7 * kBlock, kLarge - 1}) {
    halves.Set(place, 0x7c00);
    floats.Set(place, 0x7f800000);
    doubles.Set(place, 0x7ff8000000000000);
    EXPECT_TRUE(HoldsNonFinite(halves.view(), nullptr, &threads)) << place;
    EXPECT_TRUE(HoldsNonFinite(floats.view(), nullptr, &threads)) << place;
    EXPECT_TRUE(HoldsNonFinite(doubles.view(), nullptr, &threads)) << place;
    halves.Set(place, 0);
    floats.Set(place, 0);
    doubles.Set(place, 0);
  }
}

void ExpectBounds(const Tensor& value, double low, double high) {
  const MS_ThreadsApi threads = SplitScan::Api();
  for (const MS_ThreadsApi* const each : {static_cast<const MS_ThreadsApi*>(nullptr), &threads}) {
    const std::optional<NumericBounds> bounds = BoundsOf(MakeView(value, nullptr), nullptr, each);
    ASSERT_TRUE(bounds.has_value()) << value.DebugString();
    EXPECT_EQ(bounds->low, low) << value.DebugString();
    EXPECT_EQ(bounds->high, high) << value.DebugString();
  }
}

TEST(NumericScanTest, BoundsAreThoseOfAllNumbers) {
  for (const int64_t size : {int64_t{3}, kSize, int64_t{1} << 19}) {
    Tensor value = Tensor::Create(DataType::kFloat, Shape({size})).value();
    const auto fill = [&](float number) { std::fill_n(value.data<float>(), size, number); };
    for (const int64_t place : {int64_t{0}, size / 2, size - 1}) {
      fill(2);
      value.data<float>()[place] = 0.25f;
      ExpectBounds(value, 0.25, 2);
      value.data<float>()[place] = 3e38f;
      ExpectBounds(value, 2, 3e38f);
      value.data<float>()[place] = -1;  // as far below as above
      ExpectBounds(value, -2, 2);
      value.data<float>()[place] = -5;
      ExpectBounds(value, -5, 5);
      value.data<float>()[place] = std::numeric_limits<float>::infinity();
      EXPECT_FALSE(BoundsOf(MakeView(value, nullptr)).has_value());
    }
  }
}

TEST(NumericScanTest, BoundsOfEveryType) {
  ExpectBounds(Tensor::Vector<double>({1e300, 1e-300}), 1e-300, 1e300);
  ExpectBounds(Tensor::Create(DataType::kFloat, Shape({0})).value(), 0, 0);
  ExpectBounds(Tensor::Vector<std::complex<float>>({{3, 4}, {5, 2}}), 2, 5);
  const Numbers<uint16_t> halves(DataType::kHalf, 3, 0x3e00);
  EXPECT_EQ(BoundsOf(halves.view())->low, 1.5);
  const Numbers<uint16_t> bfloats(DataType::kBFloat16, 3, 0xbfc0);
  EXPECT_EQ(BoundsOf(bfloats.view())->low, -1.5);
  EXPECT_EQ(BoundsOf(bfloats.view())->high, 1.5);
}

TEST(NumericScanTest, ASmallTensorIsNotDivided) {
  const MS_ThreadsApi threads = SplitScan::Api();
  Numbers<uint32_t> numbers(DataType::kFloat, 1 << 17, 1);
  SplitScan::parts = 0;
  EXPECT_FALSE(HoldsNonFinite(numbers.view(), nullptr, &threads));
  numbers.Set(1 << 16, 0x7f800000);
  EXPECT_TRUE(HoldsNonFinite(numbers.view(), nullptr, &threads));
  EXPECT_EQ(SplitScan::parts, 0);
}

TEST(NumericScanTest, MemoryThatADeviceCopiesToIsTheHosts) {
  Numbers<uint32_t> numbers(DataType::kFloat, 3, 0x7f800000);
  MS_TensorView view = numbers.view();
  view.mem.space = MS_SPACE_HOST_PINNED;
  EXPECT_TRUE(HoldsNonFinite(view));
  view.mem.space = MS_SPACE_DEVICE;
  EXPECT_FALSE(HoldsNonFinite(view));
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
