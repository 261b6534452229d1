// _AttentionGrad beside its formulas in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/fractions.h"
#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::Fractions;
using testing::IsOk;
using testing::KernelTester;

constexpr double kUnit = std::numeric_limits<float>::epsilon();
constexpr float kScale = 0.7f;

struct Sizes {
  std::vector<int64_t> batch;
  int64_t queries;
  int64_t keys;
  int64_t depth;
  int64_t width;

  int64_t matrices() const {
    int64_t count = 1;
    for (const int64_t size : batch) count *= size;
    return count;
  }
  std::vector<int64_t> Shape(int64_t rows, int64_t columns) const {
    std::vector<int64_t> shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  }
};

// Matrices one after the other.
struct Matrices {
  int64_t rows;
  int64_t columns;
  std::vector<float> values;

  double At(int64_t matrix, int64_t i, int64_t j) const {
    return static_cast<double>(values[(matrix * rows + i) * columns + j]);
  }
  Matrices Transposed() const {
    Matrices other{columns, rows, std::vector<float>(values.size())};
    const int64_t size = rows * columns;
    for (int64_t at = 0; at < static_cast<int64_t>(values.size()); ++at) {
      const int64_t i = at % size / columns;
      other.values[at / size * size + at % columns * rows + i] = values[at];
    }
    return other;
  }
};

struct Problem {
  Sizes sizes;
  Matrices q;
  Matrices k;
  Matrices v;
  Matrices probabilities;
  Matrices gradients;
  bool transpose_k = false;
  bool transpose_v = false;
};

Matrices Random(const Sizes& sizes, int64_t rows, int64_t columns, uint32_t seed) {
  return {rows, columns, Fractions(sizes.matrices() * rows * columns, seed)};
}

Problem RandomProblem(const Sizes& sizes) {
  Problem problem{sizes,
                  Random(sizes, sizes.queries, sizes.depth, 1),
                  Random(sizes, sizes.keys, sizes.depth, 2),
                  Random(sizes, sizes.keys, sizes.width, 3),
                  Random(sizes, sizes.queries, sizes.keys, 4),
                  Random(sizes, sizes.queries, sizes.width, 5)};
  // Positive, and a sum of about 1 in each row.
  for (float& p : problem.probabilities.values) {
    p = (p * p + 0.01f) / static_cast<float>(sizes.keys);
  }
  return problem;
}

// What is expected of an element, and the sum of the absolute values of its terms.
struct Expected {
  std::vector<double> values;
  std::vector<double> sizes;

  explicit Expected(int64_t count) : values(count), sizes(count) {}
  void Add(int64_t at, double term) {
    values[at] += term;
    sizes[at] += std::fabs(term);
  }
};

struct Gradients {
  Expected dq;
  Expected dk;
  Expected dv;
};

Gradients Reference(const Problem& problem) {
  const Sizes& s = problem.sizes;
  const int64_t matrices = s.matrices();
  Gradients result{Expected(matrices * s.queries * s.depth), Expected(matrices * s.keys * s.depth),
                   Expected(matrices * s.keys * s.width)};
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t i = 0; i < s.queries; ++i) {
      std::vector<double> dp(s.keys);
      double sum = 0;
      for (int64_t j = 0; j < s.keys; ++j) {
        const double p = problem.probabilities.At(m, i, j);
        for (int64_t w = 0; w < s.width; ++w) {
          dp[j] += problem.gradients.At(m, i, w) * problem.v.At(m, j, w);
          result.dv.Add((m * s.keys + j) * s.width + w, p * problem.gradients.At(m, i, w));
        }
        sum += dp[j] * p;
      }
      for (int64_t j = 0; j < s.keys; ++j) {
        const double p = problem.probabilities.At(m, i, j);
        const double ds = (dp[j] - sum) * p * static_cast<double>(kScale);
        for (int64_t d = 0; d < s.depth; ++d) {
          result.dq.Add((m * s.queries + i) * s.depth + d, ds * problem.k.At(m, j, d));
          result.dk.Add((m * s.keys + j) * s.depth + d, ds * problem.q.At(m, i, d));
        }
      }
    }
  }
  return result;
}

void SetProblem(const Problem& problem, KernelTester* t) {
  const Sizes& s = problem.sizes;
  t->Attr("T", MS_FLOAT32).Attr("scale", kScale);
  t->Attr("transpose_k", problem.transpose_k).Attr("transpose_v", problem.transpose_v);
  const auto add = [&](const Matrices& matrices) {
    t->Input<float>(s.Shape(matrices.rows, matrices.columns), matrices.values);
  };
  add(problem.q);
  add(problem.transpose_k ? problem.k.Transposed() : problem.k);
  add(problem.transpose_v ? problem.v.Transposed() : problem.v);
  add(problem.probabilities);
  add(problem.gradients);
  t->Outputs({MS_FLOAT32, MS_FLOAT32, MS_FLOAT32});
}

// A sum of n terms of size t is off by at most n units of the sum of |t|. A term of dq or dk has a
// gradient of a score, which is a difference of sums over the width and the keys: for fractions of
// at most 1 and probabilities that add up to less than 2, each is at most 2 * width.
void ExpectClose(const Expected& expected, double bound, const std::vector<float>& actual) {
  ASSERT_EQ(expected.values.size(), actual.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(actual[i]) - expected.values[i]),
              bound + kUnit * expected.sizes[i] * 200)
        << "element " << i;
  }
}

void Check(const Problem& problem, uint32_t threads) {
  const Sizes& s = problem.sizes;
  SCOPED_TRACE(ms::StrCat(s.matrices(), " x ", s.queries, " x ", s.keys, " x ", s.depth, " x ",
                          s.width, ", ", threads, " threads"));
  KernelTester t("_AttentionGrad");
  SetProblem(problem, &t);
  t.Threads(threads);
  ASSERT_TRUE(IsOk(t.Run()));
  const Gradients expected = Reference(problem);
  const auto result = [&](uint32_t output, int64_t rows, int64_t columns, bool transposed) {
    const Matrices lying{transposed ? columns : rows, transposed ? rows : columns,
                         t.Output<float>(output)};
    EXPECT_EQ(t.OutputShape(output), s.Shape(lying.rows, lying.columns));
    return transposed ? lying.Transposed().values : lying.values;
  };
  // The difference's error is that of its larger sums, width * (width + keys) units, of which the
  // probabilities of a row or a column keep their part.
  const double width = static_cast<double>(s.width);
  const double rounds = width * (width + static_cast<double>(s.keys));
  const double each = kUnit * 4 * rounds / static_cast<double>(s.keys);
  ExpectClose(expected.dq, each * static_cast<double>(s.keys),
              result(0, s.queries, s.depth, false));
  ExpectClose(expected.dk, each * static_cast<double>(s.queries),
              result(1, s.keys, s.depth, problem.transpose_k));
  ExpectClose(expected.dv, 0, result(2, s.keys, s.width, problem.transpose_v));
}

TEST(AttentionGradTest, SizesAroundThoseOfVectorsStripsAndTiles) {
  for (const Sizes& sizes :
       {Sizes{{2, 3}, 5, 7, 8, 6}, Sizes{{1}, 1, 1, 1, 1}, Sizes{{3}, 1, 33, 17, 4},
        Sizes{{2}, 47, 16, 16, 16}, Sizes{{2}, 48, 31, 15, 33}, Sizes{{9}, 49, 64, 5, 1},
        Sizes{{}, 130, 50, 24, 40}, Sizes{{2}, 100, 1100, 3, 2}}) {
    Check(RandomProblem(sizes), 3);
  }
}

TEST(AttentionGradTest, KeysAndValuesMayBeColumns) {
  Problem problem = RandomProblem({{2, 2}, 50, 37, 20, 18});
  problem.transpose_k = true;
  Check(problem, 2);
  problem.transpose_v = true;
  Check(problem, 2);
}

std::vector<std::vector<float>> Results(const Problem& problem, uint32_t threads) {
  KernelTester t("_AttentionGrad");
  SetProblem(problem, &t);
  t.Threads(threads);
  EXPECT_TRUE(IsOk(t.Run()));
  return {t.Output<float>(0), t.Output<float>(1), t.Output<float>(2)};
}

// Run compares those of one thread with those of several: together, all have the same bits.
TEST(AttentionGradTest, NumbersOfThreadsHaveTheSameBits) {
  for (const Sizes& sizes : {Sizes{{3}, 200, 70, 16, 16}, Sizes{{20}, 60, 33, 8, 8}}) {
    const Problem problem = RandomProblem(sizes);
    const std::vector<std::vector<float>> expected = Results(problem, 1);
    for (const uint32_t threads : {2u, 5u, 16u}) EXPECT_EQ(Results(problem, threads), expected);
  }
}

// As a mask makes them: a row without a key that counts, and one with a single one.
TEST(AttentionGradTest, ProbabilitiesOfMaskedScores) {
  Problem problem = RandomProblem({{2}, 60, 35, 8, 8});
  std::vector<float>& p = problem.probabilities.values;
  for (int64_t j = 0; j < 35; ++j) p[j] = j == 4 ? 1.0f : 0.0f;
  Check(problem, 2);
  for (int64_t j = 0; j < 35; ++j) p[j] = std::nanf("");
  const std::vector<std::vector<float>> results = Results(problem, 2);
  // A row that is no number makes its query's gradient none, and those of all its matrix's keys.
  for (int64_t d = 0; d < 8; ++d) {
    EXPECT_TRUE(std::isnan(results[0][d]));
    EXPECT_FALSE(std::isnan(results[0][8 + d]));
    EXPECT_TRUE(std::isnan(results[1][d]));
    EXPECT_TRUE(std::isnan(results[2][d]));
    EXPECT_FALSE(std::isnan(results[1][35 * 8 + d]));
    EXPECT_FALSE(std::isnan(results[2][35 * 8 + d]));
  }
}

TEST(AttentionGradTest, EmptyTensors) {
  for (const Sizes& sizes : {Sizes{{0}, 5, 7, 8, 6}, Sizes{{2}, 0, 7, 8, 6}, Sizes{{2}, 5, 0, 8, 6},
                             Sizes{{2}, 5, 7, 0, 6}, Sizes{{2}, 5, 7, 8, 0}}) {
    KernelTester t("_AttentionGrad");
    const Problem problem{sizes,
                          Random(sizes, sizes.queries, sizes.depth, 1),
                          Random(sizes, sizes.keys, sizes.depth, 2),
                          Random(sizes, sizes.keys, sizes.width, 3),
                          Random(sizes, sizes.queries, sizes.keys, 4),
                          Random(sizes, sizes.queries, sizes.width, 5)};
    SetProblem(problem, &t);
    ASSERT_TRUE(IsOk(t.Run()));
    const Gradients expected = Reference(problem);
    const int64_t elements[] = {static_cast<int64_t>(expected.dq.values.size()),
                                static_cast<int64_t>(expected.dk.values.size())};
    for (const uint32_t i : {0u, 1u}) {
      EXPECT_EQ(t.Output<float>(i), std::vector<float>(elements[i], 0.0f));
    }
    ExpectClose(expected.dv, 0, t.Output<float>(2));  // zeros where there are no queries
  }
}

TEST(AttentionGradTest, OperandsThatDoNotGoTogetherAreErrors) {
  const Problem problem = RandomProblem({{2}, 5, 7, 8, 6});
  const std::pair<uint32_t, const char*> cases[] = {{1, "matrices that can be multiplied"},
                                                    {2, "matrices that can be multiplied"},
                                                    {3, "probabilities must have the shape"},
                                                    {4, "gradients must have the shape"}};
  for (const auto& [input, message] : cases) {
    KernelTester t("_AttentionGrad");
    SetProblem(problem, &t);
    t.SetInput<float>(input, {2, 3, 4}, Fractions(24, 1));
    const ms::Status status = t.Run();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(std::string(status.message()).find(message), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace millstream::kernels
