// fold_batch_norm leaves a convolution and a bias of a convolution and its normalization, and gives
// the same images but for rounding.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;

Tensor Variances(int64_t channels) {
  Tensor tensor = Numbers({channels});
  for (int64_t c = 0; c < channels; ++c) {
    tensor.data<float>()[c] = std::fabs(tensor.data<float>()[c]) + 0.25f;
  }
  return tensor;
}

class FoldBatchNormTest : public PassTest {
 protected:
  explicit FoldBatchNormTest(std::vector<std::string> passes = {"fold_batch_norm"})
      : PassTest(std::move(passes)) {}

  Output Conv(const Output& x, const Output& filter, const std::string& format = "NHWC",
              const char* op = "Conv2D") {
    return Op(op, {x, filter},
              {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
               {"padding", "SAME"},
               {"data_format", format}});
  }
  const Node* Norm(const Output& x, int64_t channels, const std::string& format = "NHWC",
                   bool is_training = false) {
    const Tensor given = Numbers({is_training ? 0 : channels});
    return build.NodeOf(
        "FusedBatchNormV3",
        {x, Constant(Numbers({channels})), Constant(Numbers({channels})), Constant(given),
         Constant(is_training ? given : Variances(channels))},
        {{"is_training", is_training}, {"data_format", format}, {"epsilon", 0.001f}});
  }

  // Expects `fetch` with the pass to be as without it. A factor is below 3 here (scales are at most
  // 1, variances at least 0.25), sums have at most 45 terms of at most 1: each rounding is off by
  // less than 45 * 3 * 2^-24, and there are fewer than 50 on either way.
  void ExpectTheSameButForRounding(const Output& fetch) {
    SessionOptions plain;
    plain.disabled_passes = PassNames();
    const std::vector<float> expected = Elements<float>(RunWith(plain, {fetch}).values[0]);
    const std::vector<float> folded = Elements<float>(RunWith(SessionOptions(), {fetch}).values[0]);
    ASSERT_EQ(folded.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(folded[i], expected[i], 5e-4f);
  }
};

TEST_F(FoldBatchNormTest, AConvolutionAndItsNorm) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 5}), Constant(Numbers({3, 3, 5, 7})));
  const Output y = Norm(conv, 7)->output(0);
  EXPECT_THAT(ExecutedOps({y}), ElementsAre("Conv2D", "BiasAdd"));
  ExpectTheSameButForRounding(y);
}

TEST_F(FoldBatchNormTest, ABiasInBetween) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 5}), Constant(Numbers({3, 3, 5, 7})));
  const Output y = Norm(Op("BiasAdd", {conv, Constant(Numbers({7}))}), 7)->output(0);
  EXPECT_THAT(ExecutedOps({y}), ElementsAre("Conv2D", "BiasAdd"));
  ExpectTheSameButForRounding(y);
}

TEST_F(FoldBatchNormTest, ChannelsThatComeFirst) {
  const Output conv = Conv(Fed("x", {2, 5, 6, 5}), Constant(Numbers({3, 3, 5, 7})), "NCHW");
  const Output y = Norm(conv, 7, "NCHW")->output(0);
  EXPECT_THAT(ExecutedOps({y}), ElementsAre("Conv2D", "BiasAdd"));
  ExpectTheSameButForRounding(y);
}

TEST_F(FoldBatchNormTest, EachChannelAlone) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 4}), Constant(Numbers({3, 3, 4, 2})), "NHWC",
                           "DepthwiseConv2dNative");
  const Output y = Norm(conv, 8)->output(0);
  EXPECT_THAT(ExecutedOps({y}), ElementsAre("DepthwiseConv2dNative", "BiasAdd"));
  ExpectTheSameButForRounding(y);
}

TEST_F(FoldBatchNormTest, WhatIsNotTheSameInEveryStepStays) {
  const Output x = Fed("x", {2, 6, 5, 5});
  const Output filter = Constant(Numbers({3, 3, 5, 7}));
  const Output fed_filter = Fed("filter", {3, 3, 5, 7});
  EXPECT_THAT(ExecutedOps({Norm(Conv(x, fed_filter), 7)->output(0)}),
              ElementsAre("Conv2D", "FusedBatchNormV3"));
  EXPECT_THAT(ExecutedOps({Norm(Conv(x, filter), 7, "NHWC", true)->output(0)}),
              ElementsAre("Conv2D", "FusedBatchNormV3"));
  const Output biased = Op("BiasAdd", {Conv(x, filter), Fed("bias", {7})});
  EXPECT_THAT(ExecutedOps({Norm(biased, 7)->output(0)}),
              ElementsAre("Conv2D", "BiasAdd", "FusedBatchNormV3"));
}

TEST_F(FoldBatchNormTest, AKernelThatTheProgramNamesStays) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 5}), Constant(Numbers({3, 3, 5, 7})));
  const Output biased = Op("BiasAdd", {conv, Constant(Numbers({7}))}, {{"_kernel", ""}});
  EXPECT_THAT(ExecutedOps({Norm(biased, 7)->output(0)}),
              ElementsAre("Conv2D", "BiasAdd", "FusedBatchNormV3"));
}

TEST_F(FoldBatchNormTest, WhatOthersReadStays) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 5}), Constant(Numbers({3, 3, 5, 7})));
  const Node* const norm = Norm(conv, 7);
  EXPECT_THAT(ExecutedOps({norm->output(0), conv}), ElementsAre("Conv2D", "FusedBatchNormV3"));
  EXPECT_THAT(ExecutedOps({norm->output(0), norm->output(1)}),
              ElementsAre("Conv2D", "FusedBatchNormV3"));
}

TEST_F(FoldBatchNormTest, StatisticsThatAreNotFiniteStay) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 5}), Constant(Numbers({3, 3, 5, 1})));
  const Output variance = Constant(Tensor::Vector<float>({-1.0f}));
  const Output one = Constant(Numbers({1}));
  const Node* const norm =
      build.NodeOf("FusedBatchNormV3", {conv, one, one, one, variance}, {{"is_training", false}});
  EXPECT_THAT(ExecutedOps({norm->output(0)}), ElementsAre("Conv2D", "FusedBatchNormV3"));
}

class FoldAndFuseTest : public FoldBatchNormTest {
 protected:
  FoldAndFuseTest() : FoldBatchNormTest({"fold_batch_norm", "fuse_products"}) {}
};

// As in a residual network.
TEST_F(FoldAndFuseTest, ALayerBecomesOneOperation) {
  const Output x = Fed("x", {2, 6, 5, 5});
  const Output norm = Norm(Conv(x, Constant(Numbers({3, 3, 5, 5}))), 5)->output(0);
  const Output y = Op("Relu", {Op("AddV2", {norm, x})});
  EXPECT_THAT(ExecutedOps({y}), ElementsAre("_FusedConv2D"));
  ExpectTheSameButForRounding(y);
}

TEST_F(FoldAndFuseTest, ALayerOfAMobileNetworkBecomesOneOperation) {
  const Output conv = Conv(Fed("x", {2, 6, 5, 4}), Constant(Numbers({3, 3, 4, 1})), "NHWC",
                           "DepthwiseConv2dNative");
  const Output y = Op("Relu6", {Norm(conv, 4)->output(0)});
  EXPECT_THAT(ExecutedOps({y}), ElementsAre("_FusedDepthwiseConv2dNative"));
  ExpectTheSameButForRounding(y);
}

}  // namespace
}  // namespace millstream
