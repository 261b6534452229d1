// _JoinedConv2D: the bits of its convolutions, at their places.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/fractions.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;
using testing::IsOk;
using testing::KernelTester;

struct Images {
  int64_t batch;
  int64_t height;
  int64_t width;
};

// A filter of side x side pixels.
struct Part {
  int64_t side;
  int64_t in;
  int64_t out;
};

struct Operands {
  std::vector<float> x;
  std::vector<float> w;
  std::vector<float> bias;
};

// Their products and sums are exact, so that the library's bits do not depend on its threads.
std::vector<float> Integers(int64_t count, uint32_t seed) {
  std::vector<float> values = Fractions(count, seed);
  for (float& value : values) value = std::floor(6 * value);
  return values;
}

std::vector<Operands> OperandsOf(const Images& images, const std::vector<Part>& parts) {
  std::vector<Operands> operands;
  uint32_t seed = 1;
  for (const Part& part : parts) {
    operands.push_back({Integers(images.batch * images.height * images.width * part.in, seed),
                        Integers(part.side * part.side * part.in * part.out, seed + 1),
                        Integers(part.out, seed + 2)});
    seed += 3;
  }
  return operands;
}

void SetAttrs(int64_t stride, const std::vector<std::string>& fused_ops, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("padding", std::string("SAME"));
  t->Attr("data_format", std::string("NHWC")).Attr("fused_ops", fused_ops);
  t->Attr("strides", std::vector<int64_t>{1, stride, stride, 1});
  t->Attr("dilations", std::vector<int64_t>{1, 1, 1, 1}).Outputs({MS_FLOAT32});
}

// What the convolutions give one by one, side by side.
std::vector<float> Expected(const Images& images, const std::vector<Part>& parts, int64_t stride,
                            const std::vector<std::string>& fused_ops) {
  const std::vector<Operands> operands = OperandsOf(images, parts);
  std::vector<std::vector<float>> results;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [side, in, out] = parts[i];
    KernelTester t("_FusedConv2D");
    SetAttrs(stride, fused_ops, &t);
    t.Input<float>({images.batch, images.height, images.width, in}, operands[i].x);
    t.Input<float>({side, side, in, out}, operands[i].w).Input<float>({out}, operands[i].bias);
    const bool is_ok = static_cast<bool>(IsOk(t.Run()));
    EXPECT_TRUE(is_ok);
    if (!is_ok) return {};
    results.push_back(t.Output<float>(0));
  }
  const auto pixels = static_cast<int64_t>(results[0].size()) / parts[0].out;
  std::vector<float> joined;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto first = results[i].begin() + pixel * parts[i].out;
      joined.insert(joined.end(), first, first + parts[i].out);
    }
  }
  return joined;
}

void FeedAll(const Images& images, const std::vector<Part>& parts, bool are_constant,
             KernelTester* t) {
  const std::vector<Operands> operands = OperandsOf(images, parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    t->Input<float>({images.batch, images.height, images.width, parts[i].in}, operands[i].x);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::vector<int64_t> dims = {parts[i].side, parts[i].side, parts[i].in, parts[i].out};
    are_constant ? t->ConstInput<float>(dims, operands[i].w) : t->Input<float>(dims, operands[i].w);
  }
  for (size_t i = 0; i < parts.size(); ++i) t->Input<float>({parts[i].out}, operands[i].bias);
}

void Check(const Images& images, const std::vector<Part>& parts, int64_t stride,
           const std::vector<std::string>& fused_ops) {
  SCOPED_TRACE(ms::StrCat(images.batch, " x ", images.height, " x ", images.width, ", ",
                          parts.size(), " parts, stride ", stride));
  const std::vector<float> expected = Expected(images, parts, stride, fused_ops);
  for (const bool are_constant : {false, true}) {
    KernelTester t("_JoinedConv2D");
    SetAttrs(stride, fused_ops, &t);
    FeedAll(images, parts, are_constant, &t);
    ASSERT_TRUE(IsOk(t.Run()));
    EXPECT_EQ(t.Output<float>(0), expected);
  }
}

// Filters of all the ways that convolutions are computed, and channels that fill no vector.
TEST(JoinedConvTest, HasTheBitsOfItsConvolutions) {
  const std::vector<Part> module = {{1, 48, 33}, {3, 40, 70}, {5, 16, 24}, {1, 48, 8}, {3, 5, 7}};
  Check({1, 14, 14}, module, 1, {"BiasAdd", "Relu"});
  Check({2, 7, 9}, module, 1, {"BiasAdd"});
  Check({2, 9, 8}, module, 2, {"BiasAdd", "Relu6"});
  Check({1, 4, 5}, {{1, 3, 1}, {1, 2, 2}}, 1, {"BiasAdd", "Relu"});
  Check({3, 6, 6}, {{3, 32, 32}}, 1, {"BiasAdd", "Relu"});
}

// So many images that a part is computed in several groups of them.
TEST(JoinedConvTest, LargeBatches) {
  Check({6, 40, 40}, {{3, 120, 9}, {1, 17, 40}}, 1, {"BiasAdd", "Relu"});
}

TEST(JoinedConvTest, NoImages) { Check({0, 5, 5}, {{1, 3, 4}, {3, 3, 5}}, 1, {"BiasAdd"}); }

TEST(JoinedConvTest, ShapesThatDoNotGoTogether) {
  const auto refused = [](const std::vector<int64_t>& image, const std::vector<int64_t>& bias) {
    const auto zeros = [](const std::vector<int64_t>& dims) {
      int64_t count = 1;
      for (const int64_t dim : dims) count *= dim;
      return std::vector<float>(count);
    };
    KernelTester t("_JoinedConv2D");
    SetAttrs(1, {"BiasAdd"}, &t);
    t.Input<float>({1, 4, 4, 2}, zeros({1, 4, 4, 2})).Input<float>(image, zeros(image));
    t.Input<float>({1, 1, 2, 3}, zeros({1, 1, 2, 3})).Input<float>({1, 1, 2, 3}, zeros({6}));
    t.Input<float>({3}, zeros({3})).Input<float>(bias, zeros(bias));
    return t.Run();
  };
  EXPECT_TRUE(IsOk(refused({1, 4, 4, 2}, {3})));
  const ms::Status of_bias = refused({1, 4, 4, 2}, {4});
  EXPECT_EQ(of_bias.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(of_bias.message().find("biases[1] must be a vector of 3"), std::string::npos)
      << of_bias.message();
  const ms::Status of_image = refused({1, 4, 5, 2}, {3});
  EXPECT_EQ(of_image.code(), MS_INVALID_ARGUMENT);
  EXPECT_NE(of_image.message().find("must agree in all dimensions but the channels"),
            std::string::npos)
      << of_image.message();
  EXPECT_EQ(refused({1, 4, 4, 3}, {3}).code(), MS_INVALID_ARGUMENT);
}

TEST(JoinedConvTest, NothingElseIsAdded) {
  KernelTester t("_JoinedConv2D");
  SetAttrs(1, {"BiasAdd", "Add"}, &t);
  t.Input<float>({1, 2, 2, 1}, std::vector<float>(4)).Input<float>({1, 1, 1, 1}, {1.0f});
  t.Input<float>({1}, {0.0f});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
