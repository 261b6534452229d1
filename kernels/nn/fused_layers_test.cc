// _Attention, _DenseLayer, _Gelu and _LayerNorm
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/fractions.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;
using testing::IsNear;
using testing::IsOk;
using testing::KernelTester;

constexpr double kUnit = std::numeric_limits<float>::epsilon();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

double GeluOf(double x, bool approximate) {
  if (!approximate) return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

// ---- _Gelu ----

TEST(GeluTest, IsCloseToTheFormula) {
  std::vector<float> x;
  for (int i = -80000; i <= 80000; ++i) x.push_back(static_cast<float>(i) / 8000);
  for (const float tiny : {1e-6f, 1e-20f, 1e-38f, 1e-42f}) x.insert(x.end(), {tiny, -tiny});
  for (const bool approximate : {false, true}) {
    KernelTester t("_Gelu");
    t.Attr("T", MS_FLOAT32).Attr("approximate", approximate);
    t.Input<float>({static_cast<int64_t>(x.size())}, x);
    ASSERT_TRUE(IsOk(t.Run()));
    const std::vector<float> y = t.Output<float>(0);
    for (size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<double>(x[i]);
      ASSERT_LE(std::fabs(static_cast<double>(y[i]) - GeluOf(at, approximate)),
                4e-7 * std::fabs(at) + 1e-44)
          << x[i];
    }
  }
}

TEST(GeluTest, InfinitiesAndNaN) {
  for (const bool approximate : {false, true}) {
    KernelTester t("_Gelu");
    t.Attr("T", MS_FLOAT32).Attr("approximate", approximate);
    t.Input<float>({5}, {kInfinity, -kInfinity, std::nanf(""), 1e30f, -1e30f});
    ASSERT_TRUE(IsOk(t.Run()));
    const std::vector<float> y = t.Output<float>(0);
    EXPECT_EQ(y[0], kInfinity);
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], 1e30f);
    EXPECT_EQ(y[4], 0.0f);
  }
}

// ---- _DenseLayer ----

struct Dense {
  int64_t m;
  int64_t k;
  int64_t n;
  bool transpose = false;
  bool is_constant = true;
};

class DenseLayerTest : public ::testing::Test {
 protected:
  static double Activated(const std::string& activation, double x) {
    if (activation == "Relu") return std::max(x, 0.0);
    if (activation == "Identity") return x;
    return GeluOf(x, activation == "GeluTanh");
  }

  static void Check(const Dense& dense, const std::string& activation, bool bias, bool addend) {
    SCOPED_TRACE(ms::StrCat(dense.m, " x ", dense.k, " x ", dense.n, " ", activation));
    const std::vector<float> a = Fractions(dense.m * dense.k, 1);
    const std::vector<float> b = Fractions(dense.k * dense.n, 2);
    const std::vector<float> biases = Fractions(dense.n, 3);
    const std::vector<float> addends = Fractions(dense.m * dense.n, 4);
    KernelTester t("_DenseLayer");
    t.Attr("T", MS_FLOAT32).Attr("transpose_b", dense.transpose).Attr("activation", activation);
    t.Attr("num_biases", bias ? 1 : 0).Attr("num_addends", addend ? 1 : 0);
    t.Input<float>({dense.m, dense.k}, a);
    const std::vector<int64_t> shape = dense.transpose ? std::vector<int64_t>{dense.n, dense.k}
                                                       : std::vector<int64_t>{dense.k, dense.n};
    dense.is_constant ? t.ConstInput<float>(shape, b) : t.Input<float>(shape, b);
    if (bias) t.Input<float>({dense.n}, biases);
    if (addend) t.Input<float>({dense.m, dense.n}, addends);
    ASSERT_TRUE(IsOk(t.Run()));
    std::vector<float> expected;
    for (int64_t i = 0; i < dense.m; ++i) {
      for (int64_t j = 0; j < dense.n; ++j) {
        double sum = bias ? static_cast<double>(biases[j]) : 0.0;
        for (int64_t l = 0; l < dense.k; ++l) {
          sum += static_cast<double>(a[i * dense.k + l]) *
                 static_cast<double>(b[dense.transpose ? j * dense.k + l : l * dense.n + j]);
        }
        const double value = Activated(activation, sum);
        const float last = addend ? addends[i * dense.n + j] : 0.0f;
        expected.push_back(static_cast<float>(value + static_cast<double>(last)));
      }
    }
    // A sum of k products of fractions is off by at most k², the rest by a few units.
    const auto terms = static_cast<double>(dense.k + 2);
    EXPECT_TRUE(IsNear(t.Output<float>(0), expected, 4 * kUnit, 2 * terms * terms * kUnit));
  }
};

TEST_F(DenseLayerTest, AllActivations) {
  for (const char* activation : {"Identity", "Relu", "GeluErf", "GeluTanh"}) {
    for (const bool bias : {false, true}) {
      for (const bool addend : {false, true}) Check({11, 20, 37}, activation, bias, addend);
    }
  }
}

TEST_F(DenseLayerTest, AllSizes) {
  for (const Dense& dense :
       {Dense{1, 1, 1}, Dense{0, 3, 4}, Dense{3, 0, 4}, Dense{3, 4, 0}, Dense{7, 300, 16},
        Dense{50, 31, 65}, Dense{20, 9, 33, true}, Dense{20, 9, 33, false, false},
        Dense{20, 9, 33, true, false}, Dense{3, 0, 4, false, false}}) {
    Check(dense, "Relu", true, true);
  }
}

// KernelTester::Run compares the bits of one thread with those of several.
TEST_F(DenseLayerTest, LargeEnoughForSeveralThreads) {
  Check({150, 200, 300}, "GeluTanh", true, false);
}

TEST_F(DenseLayerTest, ShapesThatDoNotGoTogether) {
  const auto refused = [](const std::vector<int64_t>& b, const std::vector<int64_t>& bias,
                          const std::vector<int64_t>& addend) {
    const auto zeros = [](const std::vector<int64_t>& dims) {
      int64_t count = 1;
      for (const int64_t dim : dims) count *= dim;
      return std::vector<float>(count);
    };
    KernelTester t("_DenseLayer");
    t.Attr("T", MS_FLOAT32).Attr("transpose_b", false).Attr("activation", "Relu");
    t.Attr("num_biases", 1).Attr("num_addends", 1);
    t.Input<float>({2, 3}, zeros({2, 3})).Input<float>(b, zeros(b));
    t.Input<float>(bias, zeros(bias)).Input<float>(addend, zeros(addend));
    return t.Run().code();
  };
  EXPECT_EQ(refused({3, 4}, {4}, {2, 4}), MS_OK);
  EXPECT_EQ(refused({4, 4}, {4}, {2, 4}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({3, 4}, {3}, {2, 4}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(refused({3, 4}, {4}, {1, 4}), MS_INVALID_ARGUMENT);
}

// ---- _LayerNorm ----

void CheckNorm(int64_t rows, int64_t columns) {
  SCOPED_TRACE(ms::StrCat(rows, " rows of ", columns));
  constexpr float kEpsilon = 0.01f;
  const std::vector<float> x = Fractions(rows * columns, 1);
  const std::vector<float> gamma = Fractions(columns, 2);
  const std::vector<float> beta = Fractions(columns, 3);
  KernelTester t("_LayerNorm");
  t.Attr("T", MS_FLOAT32).Attr("epsilon", kEpsilon);
  t.Input<float>({rows, columns}, x).Input<float>({columns}, gamma).Input<float>({columns}, beta);
  ASSERT_TRUE(IsOk(t.Run()));
  std::vector<float> expected;
  for (int64_t i = 0; i < rows; ++i) {
    double mean = 0;
    for (int64_t j = 0; j < columns; ++j) mean += static_cast<double>(x[i * columns + j]);
    mean /= static_cast<double>(columns);
    double variance = 0;
    for (int64_t j = 0; j < columns; ++j) {
      variance += std::pow(static_cast<double>(x[i * columns + j]) - mean, 2);
    }
    variance /= static_cast<double>(columns);
    const double root = std::sqrt(variance + static_cast<double>(kEpsilon));
    for (int64_t j = 0; j < columns; ++j) {
      const double normal = (static_cast<double>(x[i * columns + j]) - mean) / root;
      expected.push_back(static_cast<float>(normal * static_cast<double>(gamma[j]) +
                                            static_cast<double>(beta[j])));
    }
  }
  // Lanes add up to 128 fractions one after the other. The slope of the root is at most 500 for a
  // variance of 0, where there is nothing to multiply it with, and 10 for a usual one.
  EXPECT_TRUE(IsNear(t.Output<float>(0), expected, 4 * kUnit, 10 * 128 * kUnit));
}

TEST(LayerNormTest, AllSizes) {
  for (const int64_t columns : {1, 2, 7, 8, 15, 16, 17, 33, 256, 5000}) CheckNorm(3, columns);
  CheckNorm(0, 4);
}

// KernelTester::Run compares the bits of one thread with those of several.
TEST(LayerNormTest, LargeEnoughForSeveralThreads) { CheckNorm(900, 130); }

TEST(LayerNormTest, VectorsOfOtherSizes) {
  KernelTester t("_LayerNorm");
  t.Attr("T", MS_FLOAT32).Attr("epsilon", 0.1f);
  t.Input<float>({2, 2}, {1, 2, 3, 4}).Input<float>({2}, {1, 2}).Input<float>({1}, {1});
  EXPECT_EQ(t.Run().code(), MS_INVALID_ARGUMENT);
}

// ---- _Attention ----

using Order = std::vector<int64_t>;

struct Sizes {
  int64_t batch;
  int64_t heads;
  int64_t queries;
  int64_t keys;
  int64_t depth;
  int64_t width;
};

// A tensor of four dimensions, and the order in which the op reads them.
struct Ordered {
  std::vector<int64_t> dims;  // as the op reads them
  Order order;
  std::vector<float> values;

  // The dimensions as they lie in memory.
  std::vector<int64_t> InMemory() const {
    std::vector<int64_t> lying(4);
    for (int i = 0; i < 4; ++i) lying[order[i]] = dims[i];
    return lying;
  }
  int64_t IndexOf(const std::vector<int64_t>& at) const {
    const std::vector<int64_t> lying = InMemory();
    std::vector<int64_t> place(4);
    for (int i = 0; i < 4; ++i) place[order[i]] = at[i];
    int64_t index = 0;
    for (int i = 0; i < 4; ++i) index = index * lying[i] + place[i];
    return index;
  }
  double At(const std::vector<int64_t>& at) const {
    return static_cast<double>(values[IndexOf(at)]);
  }
};

Ordered MakeOrdered(const std::vector<int64_t>& dims, const Order& order, uint32_t seed) {
  return {dims, order, Fractions(dims[0] * dims[1] * dims[2] * dims[3], seed)};
}

constexpr float kScale = 0.7f;

struct Problem {
  Sizes sizes;
  Ordered q;
  Ordered k;
  Ordered v;
  std::vector<float> mask;  // queries x keys; empty: there is none
};

// The result, [batch, heads, queries, width].
std::vector<double> Expected(const Problem& problem) {
  const Sizes& s = problem.sizes;
  std::vector<double> result;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) {
        std::vector<double> weights(s.keys);
        double total = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          double score = 0;
          for (int64_t d = 0; d < s.depth; ++d) {
            score += problem.q.At({b, h, i, d}) * problem.k.At({b, h, j, d});
          }
          score *= static_cast<double>(kScale);
          if (!problem.mask.empty()) score += static_cast<double>(problem.mask[i * s.keys + j]);
          weights[j] = std::exp(score);
          total += weights[j];
        }
        for (int64_t w = 0; w < s.width; ++w) {
          double sum = 0;
          for (int64_t j = 0; j < s.keys; ++j) {
            sum += weights[j] / total * problem.v.At({b, h, j, w});
          }
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

void SetProblem(const Problem& problem, const Order& output, KernelTester* t) {
  t->Attr("T", MS_FLOAT32).Attr("scale", kScale);
  t->Attr("num_masks", problem.mask.empty() ? 0 : 1);
  t->Attr("q_perm", problem.q.order).Attr("k_perm", problem.k.order);
  t->Attr("v_perm", problem.v.order).Attr("output_perm", output);
  t->Input<float>(problem.q.InMemory(), problem.q.values);
  t->Input<float>(problem.k.InMemory(), problem.k.values);
  t->Input<float>(problem.v.InMemory(), problem.v.values);
  if (problem.mask.empty()) return;
  t->Input<float>({problem.sizes.queries, problem.sizes.keys}, problem.mask);
}

Problem MakeProblem(const Sizes& s, const Order& q, const Order& k, const Order& v, bool mask) {
  Problem problem{s,
                  MakeOrdered({s.batch, s.heads, s.queries, s.depth}, q, 1),
                  MakeOrdered({s.batch, s.heads, s.keys, s.depth}, k, 2),
                  MakeOrdered({s.batch, s.heads, s.keys, s.width}, v, 3),
                  {}};
  if (mask) problem.mask = Fractions(s.queries * s.keys, 4);
  return problem;
}

const Order kPlain = {0, 1, 2, 3};
const Order kHeads = {0, 2, 1, 3};  // positions come before heads

void CheckAttention(const Problem& problem, const Order& output) {
  const Sizes& s = problem.sizes;
  SCOPED_TRACE(ms::StrCat(s.batch, " x ", s.heads, ", ", s.queries, " queries, ", s.keys, " keys"));
  KernelTester t("_Attention");
  SetProblem(problem, output, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> actual = t.Output<float>(0);
  // The output's dimension i is the result's output[i]: the other way round than for inputs.
  Order places(4);
  for (int i = 0; i < 4; ++i) places[output[i]] = i;
  const Ordered layout{{s.batch, s.heads, s.queries, s.width}, places, {}};
  EXPECT_EQ(t.OutputShape(0), layout.InMemory());
  const std::vector<double> expected = Expected(problem);
  // Scores are off by at most depth² units, probabilities by twice that, a few units for the
  // exponential and as many as there are keys for their sum.
  const auto depth = static_cast<double>(s.depth);
  const double bound = kUnit * (4 * depth * depth + 2 * static_cast<double>(s.keys) + 16);
  size_t next = 0;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) {
        for (int64_t w = 0; w < s.width; ++w) {
          const auto value = static_cast<double>(actual[layout.IndexOf({b, h, i, w})]);
          ASSERT_NEAR(value, expected[next++], bound);
        }
      }
    }
  }
}

TEST(AttentionTest, AllOrders) {
  const Sizes sizes = {2, 3, 5, 7, 4, 6};
  const Order by_columns = {0, 1, 3, 2};
  const Order from_rows = {0, 2, 3, 1};
  CheckAttention(MakeProblem(sizes, kPlain, kPlain, kPlain, false), kPlain);
  CheckAttention(MakeProblem(sizes, kHeads, kHeads, kHeads, true), kHeads);
  CheckAttention(MakeProblem(sizes, kPlain, by_columns, by_columns, false), kPlain);
  CheckAttention(MakeProblem(sizes, {1, 0, 2, 3}, from_rows, from_rows, true), {2, 0, 1, 3});
}

TEST(AttentionTest, AllSizes) {
  for (const Sizes& sizes :
       {Sizes{1, 1, 1, 1, 1, 1}, Sizes{0, 2, 3, 3, 4, 4}, Sizes{2, 2, 0, 3, 4, 4},
        Sizes{2, 2, 3, 0, 4, 4}, Sizes{2, 2, 3, 3, 0, 4}, Sizes{2, 2, 3, 3, 4, 0},
        Sizes{1, 2, 49, 33, 17, 40}, Sizes{1, 1, 13, 700, 3, 5}}) {
    CheckAttention(MakeProblem(sizes, kPlain, kPlain, kPlain, sizes.keys > 0), kPlain);
  }
}

// KernelTester::Run compares the bits of one thread with those of several.
TEST(AttentionTest, LargeEnoughForSeveralThreads) {
  CheckAttention(MakeProblem({2, 3, 100, 90, 16, 24}, kHeads, kHeads, kHeads, true), kHeads);
}

// As in Softmax, a row of which all scores are -infinity has no probabilities.
TEST(AttentionTest, MasksOfInfinities) {
  const Sizes sizes = {1, 1, 2, 3, 4, 4};
  Problem problem = MakeProblem(sizes, kPlain, kPlain, kPlain, true);
  problem.mask = {-kInfinity, -kInfinity, -kInfinity, 0, -kInfinity, -kInfinity};
  KernelTester t("_Attention");
  SetProblem(problem, kPlain, &t);
  ASSERT_TRUE(IsOk(t.Run()));
  const std::vector<float> result = t.Output<float>(0);
  for (int w = 0; w < 4; ++w) {
    EXPECT_TRUE(std::isnan(result[w]));
    EXPECT_EQ(result[4 + w], problem.v.values[w]);
  }
}

TEST(AttentionTest, MasksBroadcast) {
  const Sizes sizes = {2, 3, 4, 5, 4, 4};
  Problem problem = MakeProblem(sizes, kPlain, kPlain, kPlain, false);
  const std::vector<float> factors = Fractions(2, 5);
  KernelTester t("_Attention");
  SetProblem(problem, kPlain, &t);
  t.Attr("num_masks", 1);
  t.Input<float>({2, 1, 1, 1}, factors);
  ASSERT_TRUE(IsOk(t.Run()));
  // What is added to all scores of a row changes no probability.
  const std::vector<double> expected = Expected(problem);
  const std::vector<float> actual = t.Output<float>(0);
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], 1e-5);
  }
}

TEST(AttentionTest, ShapesAndOrdersThatDoNotGoTogether) {
  const auto run = [](const std::vector<int64_t>& k, const std::vector<int64_t>& v,
                      const std::vector<int64_t>& mask, const Order& q_order) {
    KernelTester t("_Attention");
    t.Attr("T", MS_FLOAT32).Attr("scale", 1.0f).Attr("num_masks", 1);
    t.Attr("q_perm", q_order).Attr("k_perm", Order{0, 1, 2}).Attr("v_perm", Order{0, 1, 2});
    t.Attr("output_perm", Order{0, 1, 2});
    for (const std::vector<int64_t>& dims : {{2, 3, 4}, k, v, mask}) {
      int64_t count = 1;
      for (const int64_t dim : dims) count *= dim;
      t.Input<float>(dims, std::vector<float>(count));
    }
    return t.Run().code();
  };
  const Order plain = {0, 1, 2};
  EXPECT_EQ(run({2, 5, 4}, {2, 5, 6}, {5}, plain), MS_OK);
  EXPECT_EQ(run({2, 5, 3}, {2, 5, 6}, {5}, plain), MS_INVALID_ARGUMENT);
  EXPECT_EQ(run({1, 5, 4}, {2, 5, 6}, {5}, plain), MS_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 5, 4}, {2, 4, 6}, {5}, plain), MS_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 5, 4}, {2, 5, 6}, {4}, plain), MS_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 5, 4}, {2, 5, 6}, {1, 1, 1, 5}, plain), MS_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 5, 4}, {2, 5, 6}, {5}, {0, 2, 1}), MS_INVALID_ARGUMENT);
  EXPECT_EQ(run({2, 5, 4}, {2, 5, 6}, {5}, {0, 1, 1}), MS_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace millstream::kernels
