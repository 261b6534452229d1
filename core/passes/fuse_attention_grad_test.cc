// fuse_attention_grad changes what a plan executes, and of what it gives nothing but the rounding.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/rounding_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Many small matrices, so that there are as many probabilities as the pass asks for.
constexpr int64_t kMatrices = 4096;
constexpr int64_t kQueries = 64;
constexpr int64_t kKeys = 64;
constexpr int64_t kDepth = 3;
constexpr int64_t kWidth = 2;

class FuseAttentionGradTest : public RoundingPassTest {
 protected:
  FuseAttentionGradTest()
      : RoundingPassTest({"simplify_arithmetic", "merge_equal", "fuse_attention",
                          "fuse_softmax_grad", "fuse_attention_grad"}) {}

  Output Values(const Shape& shape) { return Fed(absl::StrCat("values_", count_++), shape); }
  Output Product(const Output& x, bool adj_x, const Output& y, bool adj_y) {
    return Op("BatchMatMulV2", {x, y}, {{"adj_x", adj_x}, {"adj_y", adj_y}});
  }

  // An attention and its gradients, written as gradients are added to graphs.
  struct Parts {
    Output probabilities;
    Output output;
    Output d_probabilities;
    Output d_logits;
    Output d_scores;
    std::vector<Output> gradients;  // of queries, keys and values
  };
  struct Form {
    int64_t matrices = kMatrices;
    int64_t depth = kDepth;
    bool k_is_column = false;
    bool v_is_column = false;
    std::string scale = "Mul";  // the op, with 0.3; empty: none
    bool has_mask = false;
  };

  Output Scaled(const Output& x, const std::string& op) {
    return op.empty() ? x : Op(op, {x, Constant(0.3f)});
  }
  Parts Attention(const Form& form) {
    const int64_t m = form.matrices;
    const Output q = Values({m, kQueries, form.depth});
    const Output k =
        Values(form.k_is_column ? Shape({m, form.depth, kKeys}) : Shape({m, kKeys, form.depth}));
    const Output v =
        Values(form.v_is_column ? Shape({m, kWidth, kKeys}) : Shape({m, kKeys, kWidth}));
    Output logits = Scaled(Product(q, false, k, !form.k_is_column), form.scale);
    if (form.has_mask) logits = Op("AddV2", {logits, Values({kQueries, kKeys})});
    Parts parts;
    const Output p = Op("Softmax", {logits});
    parts.probabilities = p;
    parts.output = Product(p, false, v, form.v_is_column);
    const Output dy = Values({m, kQueries, kWidth});
    parts.d_probabilities = Product(dy, false, v, !form.v_is_column);
    const Output axis = Constant(Tensor::Vector<int32_t>({-1}));
    const Output total =
        Op("Sum", {Op("Mul", {parts.d_probabilities, p}), axis}, {{"keep_dims", true}});
    parts.d_logits = Op("Mul", {Op("Sub", {parts.d_probabilities, total}), p});
    const Output ds = Scaled(parts.d_logits, form.scale);
    parts.d_scores = ds;
    parts.gradients = {
        Product(ds, false, k, form.k_is_column),
        form.k_is_column ? Product(q, true, ds, false) : Product(ds, true, q, false),
        form.v_is_column ? Product(dy, true, p, false) : Product(p, true, dy, false)};
    return parts;
  }

  int64_t Fused(const std::vector<Output>& fetches) { return Runs("_AttentionGrad", fetches); }

  // The numbers fed are at most 1, and a scale at most 4. The gradient of a probability is a sum of
  // kWidth products, off by kWidth² units, and so is the sum over a row of it, by kKeys * kWidth
  // more. A gradient is a sum of at most 64 such numbers, of which each has a probability of at
  // most 1 as a factor: off by 64 * 2 * kWidth units of each more. Both ways are off as much.
  static double Bound() {
    constexpr double kUnit = std::numeric_limits<float>::epsilon();
    constexpr double kEach = 2.0 * kWidth * kWidth + kKeys * kWidth + 64.0 * 2.0 * kWidth;
    return 2 * 4 * 64 * kEach * kUnit;
  }
  void ExpectFused(const Form& form) {
    const Parts parts = Attention(form);
    std::vector<Output> fetches = parts.gradients;
    fetches.push_back(parts.output);
    EXPECT_EQ(Fused(fetches), 1);
    EXPECT_EQ(Runs("_SoftmaxGrad", fetches), 0);
    EXPECT_EQ(Runs("BatchMatMulV2", fetches), 2);
    ExpectNear(Bound(), fetches);
  }

 private:
  int count_ = 0;
};

TEST_F(FuseAttentionGradTest, ProductsAroundTheGradientOfASoftmax) { ExpectFused(Form()); }

TEST_F(FuseAttentionGradTest, KeysAndValuesMayBeColumns) {
  Form form;
  form.k_is_column = true;
  ExpectFused(form);
  form.v_is_column = true;
  ExpectFused(form);
}

TEST_F(FuseAttentionGradTest, TheScaleMayBeADivisionOrMissing) {
  Form form;
  form.scale = "RealDiv";
  ExpectFused(form);
  form.scale = "";
  ExpectFused(form);
}

TEST_F(FuseAttentionGradTest, AMaskIsInTheProbabilities) {
  Form form;
  form.has_mask = true;
  ExpectFused(form);
}

TEST_F(FuseAttentionGradTest, FewProbabilitiesStay) {
  Form form;
  form.matrices = kMatrices - 1;
  EXPECT_EQ(Fused(Attention(form).gradients), 0);
}

TEST_F(FuseAttentionGradTest, LongHeadsStay) {
  Form form;
  form.depth = 65;
  EXPECT_EQ(Fused(Attention(form).gradients), 0);
}

// The probabilities are read, not computed anew: others may read them, too.
TEST_F(FuseAttentionGradTest, TheProbabilitiesMayBeFetched) {
  const Parts parts = Attention(Form());
  std::vector<Output> fetches = parts.gradients;
  fetches.push_back(parts.probabilities);
  EXPECT_EQ(Fused(fetches), 1);
}

TEST_F(FuseAttentionGradTest, WhatIsFetchedOrReadTwiceStaysAValue) {
  const Parts parts = Attention(Form());
  for (const Output& part : {parts.d_probabilities, parts.d_logits, parts.d_scores}) {
    std::vector<Output> fetches = parts.gradients;
    fetches.push_back(part);
    EXPECT_EQ(Fused(fetches), 0);
    fetches.back() = Op("Neg", {part});
    EXPECT_EQ(Fused(fetches), 0);
  }
}

TEST_F(FuseAttentionGradTest, ATargetIsComputedInFull) {
  const Parts parts = Attention(Form());
  ExpectNear(Bound(), parts.gradients, {parts.d_probabilities.node});
}

TEST_F(FuseAttentionGradTest, TwoOfTheGradientsStay) {
  const std::vector<Output> gradients = Attention(Form()).gradients;
  for (size_t i = 0; i < gradients.size(); ++i) {
    std::vector<Output> fetches = gradients;
    fetches.erase(fetches.begin() + static_cast<int64_t>(i));
    EXPECT_EQ(Fused(fetches), 0);
  }
}

// A product with the scores' gradient, but not of the queries' length.
TEST_F(FuseAttentionGradTest, OtherProductsStay) {
  const Parts parts = Attention(Form());
  const Output other = Values({kMatrices, kQueries, kDepth + 1});
  EXPECT_EQ(
      Fused({parts.gradients[0], Product(parts.d_scores, true, other, false), parts.gradients[2]}),
      0);
  const Output untransposed = Values({kMatrices, kKeys, kDepth});
  EXPECT_EQ(Fused({parts.gradients[0], Product(parts.d_scores, false, untransposed, false),
                   parts.gradients[2]}),
            0);
}

TEST_F(FuseAttentionGradTest, BatchesThatBroadcastStay) {
  const Parts parts = Attention(Form());
  const Output one = Values({1, kQueries, kDepth});
  EXPECT_EQ(
      Fused({parts.gradients[0], Product(parts.d_scores, true, one, false), parts.gradients[2]}),
      0);
}

}  // namespace
}  // namespace millstream
