#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/narrow_float.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;

using Dims = std::vector<int64_t>;

template <typename T>
std::vector<T> Clip(const std::vector<T>& t, const std::vector<T>& low,
                    const std::vector<T>& high) {
  const auto dims = [&](const std::vector<T>& bound) {
    return bound.size() == 1 ? Dims{} : Dims{static_cast<int64_t>(bound.size())};
  };
  KernelTester tester("ClipByValue");
  tester.Attr("T", ms::DTypeOf<T>());
  tester.template Input<T>({static_cast<int64_t>(t.size())}, t);
  tester.template Input<T>(dims(low), low);
  tester.template Input<T>(dims(high), high);
  EXPECT_TRUE(IsOk(tester.Run()));
  return tester.template Output<T>(0);
}

TEST(ClipByValueTest, ScalarBounds) {
  EXPECT_EQ(Clip<float>({-5, 1, 5}, {0}, {3}), (std::vector<float>{0, 1, 3}));
  EXPECT_EQ(Clip<int8_t>({-128, 1, 127}, {-3}, {100}), (std::vector<int8_t>{-3, 1, 100}));
  EXPECT_EQ(Clip<uint64_t>({0, ~uint64_t{0}}, {3}, {~uint64_t{1}}),
            (std::vector<uint64_t>{3, ~uint64_t{1}}));
}

TEST(ClipByValueTest, BoundsOfEachElement) {
  EXPECT_EQ(Clip<double>({-5, 1, 5}, {-1, -6, 2}, {0, 0.5, 9}), (std::vector<double>{-1, 0.5, 5}));
  EXPECT_EQ(Clip<double>({-5, 1, 5}, {-1, -6, 2}, {0}), (std::vector<double>{-1, 0, 2}));
}

TEST(ClipByValueTest, NaNStaysAndTheLowerBoundCountsMore) {
  const std::vector<float> y = Clip<float>({std::nanf(""), 7, -7}, {2}, {1});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(y[2], 2);
}

TEST(ClipByValueTest, PartsOfComplexNumbersAreClippedByThemselves) {
  using Complex = std::complex<double>;
  EXPECT_EQ(Clip<Complex>({{1, 2}, {-3, 4}, {0, 0}, {0, 5}}, {{-1, 1}}, {{2, 0}}),
            (std::vector<Complex>{{1, 1}, {-1, 1}, {0, 1}, {0, 1}}));
  EXPECT_EQ(Clip<Complex>({{1, 2}, {-3, 4}}, {{-1, -1}}, {{0, 9}, {9, 3}}),
            (std::vector<Complex>{{0, 2}, {-1, 3}}));
}

TEST(ClipByValueTest, NarrowFloatsOverManyTiles) {
  std::vector<Float16> t, low, expected;
  for (int i = 0; i < 3001; ++i) {
    const auto number = static_cast<float>(i % 100 - 50);
    const auto bound = static_cast<float>(i % 7 - 30);
    t.push_back(Float16(number));
    low.push_back(Float16(bound));
    expected.push_back(Float16(std::fmax(std::fmin(number, 20), bound)));
  }
  EXPECT_EQ(Clip<Float16>(t, low, {Float16(20)}), expected);
}

TEST(ClipByValueTest, OtherShapesOfBoundsAreRefused) {
  KernelTester tester("ClipByValue");
  tester.Attr("T", MS_FLOAT32).Input<float>({2}, {1, 2}).Input<float>({}, {0});
  tester.Input<float>({1}, {3});
  const ms::Status status = tester.Run();
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message()).find("clip_value_max"), std::string::npos);
}

}  // namespace
}  // namespace millstream::kernels
