// fuse_products changes what a plan executes, and no bit of what it gives.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class FuseProductsTest : public PassTest {
 protected:
  FuseProductsTest() : PassTest("fuse_products") {}

  void Operands(const Shape& x, const Shape& w, const Shape& b) {
    x_ = Fed("x", x);
    w_ = Fed("w", w);
    b_ = Fed("b", b);
  }
  void Matrices() { Operands({5, 7}, {7, 9}, {9}); }
  Output Conv(const char* format) {
    return Op("Conv2D", {x_, w_},
              {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
               {"padding", "SAME"},
               {"data_format", format}});
  }

  Output x_, w_, b_;
};

TEST_F(FuseProductsTest, ProductBiasAndRelu) {
  Matrices();
  const Output sum = Op("BiasAdd", {Op("MatMul", {x_, w_}), b_});
  EXPECT_EQ(Saved({Op("Relu", {sum})}), 2);
}

TEST_F(FuseProductsTest, ProductAndBiasAlone) {
  Matrices();
  const Output sum = Op("BiasAdd", {Op("MatMul", {x_, w_}), b_});
  EXPECT_EQ(Saved({Op("Tanh", {sum})}), 1);
}

TEST_F(FuseProductsTest, AVectorThatIsAddedOnEitherSideIsABias) {
  Matrices();
  EXPECT_EQ(Saved({Op("Relu", {Op("AddV2", {b_, Op("MatMul", {x_, w_})})})}), 2);
  EXPECT_EQ(Saved({Op("Relu", {Op("Add", {Op("MatMul", {x_, w_}), b_})})}), 2);
}

TEST_F(FuseProductsTest, TransposedProduct) {
  Operands({7, 5}, {9, 7}, {9});
  const Output product = Op("MatMul", {x_, w_}, {{"transpose_a", true}, {"transpose_b", true}});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {product, b_})})}), 2);
}

TEST_F(FuseProductsTest, Convolution) {
  Operands({2, 9, 8, 3}, {3, 3, 3, 16}, {16});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {Conv("NHWC"), b_})})}), 2);
}

TEST_F(FuseProductsTest, ConvolutionWithAFilterOfOneElement) {
  Operands({2, 9, 8, 3}, {1, 1, 3, 5}, {5});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {Conv("NHWC"), b_})})}), 2);
}

TEST_F(FuseProductsTest, ATensorThatIsAdded) {
  Operands({2, 9, 8, 3}, {3, 3, 3, 16}, {16});
  const Output added = Fed("added", {2, 9, 8, 16});
  const Output sum = Op("BiasAdd", {Conv("NHWC"), b_});
  EXPECT_EQ(Saved({Op("Relu", {Op("AddV2", {added, sum})})}), 3);
  EXPECT_EQ(Saved({Op("Tanh", {Op("Add", {sum, added})})}), 2);
  EXPECT_EQ(Saved({Op("Add", {sum, sum})}), 1);
  EXPECT_EQ(Saved({Op("Add", {sum, Fed("row", {8, 16})})}), 1);
}

TEST_F(FuseProductsTest, ReluThatEndsAtSix) {
  Operands({2, 9, 8, 3}, {3, 3, 3, 20}, {20});
  const Output factor = Constant(Tensor::Scalar<float>(9));
  w_ = Op("Mul", {w_, factor});
  EXPECT_EQ(Saved({Op("Relu6", {Op("BiasAdd", {Conv("NHWC"), b_})})}), 2);
}

TEST_F(FuseProductsTest, EachChannelAlone) {
  Operands({2, 9, 8, 20}, {3, 3, 20, 1}, {20});
  const GraphBuilder::Attrs window = {{"strides", std::vector<int64_t>{1, 2, 2, 1}},
                                      {"padding", "SAME"}};
  const Output sum = Op("BiasAdd", {Op("DepthwiseConv2dNative", {x_, w_}, window), b_});
  EXPECT_EQ(Saved({Op("Relu6", {sum})}), 2);
  EXPECT_EQ(Saved({Op("Relu", {Op("Add", {sum, Fed("added", {2, 5, 4, 20})})})}), 3);
}

TEST_F(FuseProductsTest, SpecialNumbersKeepTheirBits) {
  const Output x = FedValue("x", SpecialNumbers());
  x_ = Op("Reshape", {x, Constant(Tensor::Vector<int32_t>({1, 4, 5, 1}))});
  w_ = Fed("w", {1, 1, 1, 20});
  b_ = Fed("b", {20});
  const Output sum = Op("BiasAdd", {Conv("NHWC"), b_});
  EXPECT_EQ(Saved({sum}), 1);
  EXPECT_EQ(Saved({Op("Relu6", {sum})}), 2);
}

TEST_F(FuseProductsTest, KernelsThatTheProgramNamesStay) {
  Matrices();
  const Output product = Op("MatMul", {x_, w_});
  EXPECT_EQ(Saved({Op("BiasAdd", {product, b_}, {{"_kernel", ""}})}), 0);
  const Output sum = Op("BiasAdd", {product, b_});
  const Output added = Fed("added", {5, 9});
  EXPECT_EQ(Saved({Op("AddV2", {sum, added}, {{"_kernel", ""}})}), 1);
  EXPECT_EQ(Saved({Op("Relu", {sum}, {{"_kernel", ""}})}), 1);
}

TEST_F(FuseProductsTest, NotANumberStays) {
  Matrices();
  const Output nan = Constant(Tensor::Scalar<float>(std::numeric_limits<float>::quiet_NaN()));
  const Output product = Op("MatMul", {Op("Mul", {x_, nan}), w_});
  const Output relu = Op("Relu", {Op("BiasAdd", {product, b_})});
  const std::vector<float> values = Elements<float>(RunWith(SessionOptions(), {relu}).values[0]);
  ASSERT_EQ(values.size(), 45u);
  for (float value : values) EXPECT_TRUE(std::isnan(value));
}

TEST_F(FuseProductsTest, EmptyBatch) {
  Operands({0, 7}, {7, 9}, {9});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {Op("MatMul", {x_, w_}), b_})})}), 2);
}

TEST_F(FuseProductsTest, WhatIsFetchedOrReadTwiceStaysAValue) {
  Matrices();
  const Output product = Op("MatMul", {x_, w_});
  const Output sum = Op("BiasAdd", {product, b_});
  const Output relu = Op("Relu", {sum});
  EXPECT_EQ(Saved({relu, product}), 0);
  EXPECT_EQ(Saved({relu, sum}), 1);
  EXPECT_EQ(Saved({Op("Mul", {relu, product})}), 0);
  EXPECT_EQ(Saved({Op("Add", {product, product})}), 0);
}

TEST_F(FuseProductsTest, ATargetIsComputedInFull) {
  Matrices();
  const Output product = Op("MatMul", {x_, w_});
  const Output relu = Op("Relu", {Op("BiasAdd", {product, b_})});
  EXPECT_EQ(Saved({relu}, {product.node}), 0);
  EXPECT_EQ(Saved({}, {relu.node}), 2);
}

TEST_F(FuseProductsTest, OtherAdditionsStay) {
  Operands({9, 7}, {7, 9}, {9, 1});
  EXPECT_EQ(Saved({Op("Add", {Op("MatMul", {x_, w_}), b_})}), 0);
}

TEST_F(FuseProductsTest, ChannelsThatComeFirstStay) {
  Operands({2, 3, 9, 8}, {3, 3, 3, 4}, {4});
  const Output sum = Op("BiasAdd", {Conv("NCHW"), b_}, {{"data_format", "NCHW"}});
  EXPECT_EQ(Saved({sum}), 0);
}

// As an imported node of a newer graph.
TEST_F(FuseProductsTest, AttributesThatNobodyKnowsDoNotHinder) {
  Matrices();
  NodeSpec spec;
  spec.name = "product";
  spec.op = "MatMul";
  spec.inputs = {x_, w_};
  spec.input_counts = {1, 1};
  spec.allow_unknown_attrs = true;
  SetAttr(&spec.attrs, "grad_a", true);
  const StatusOr<const Node*> product = graph.AddNode(std::move(spec));
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {(*product)->output(0), b_})})}), 2);
}

TEST_F(FuseProductsTest, ATraceNamesWhatIsRead) {
  const Output x = Constant(Numbers({5, 7}));
  const Output w = Placeholder("weights", DataType::kFloat);
  const Output b = Placeholder("bias", DataType::kFloat);
  const Output relu = Op("Relu", {Op("BiasAdd", {Op("MatMul", {x, w}), b})});
  StepReport report;
  report.want_trace = true;
  RunOptions traced;
  traced.report = &report;
  ASSERT_TRUE(Run({relu}, {{w, Numbers({7, 9})}, {b, Numbers({9})}}, {}, traced).ok());
  ASSERT_EQ(report.trace.parts().size(), 1u);
  ASSERT_EQ(report.trace.parts()[0].nodes.size(), 1u);
  const TracedNode& node = report.trace.parts()[0].nodes[0];
  EXPECT_EQ(node.name, relu.node->name());
  EXPECT_EQ(node.op, "_FusedMatMul");
  EXPECT_THAT(node.fused_ops, ::testing::ElementsAre("BiasAdd", "Relu"));
  EXPECT_THAT(node.inputs, ::testing::ElementsAre(x.node->name(), "weights", "bias"));
}

TEST_F(FuseProductsTest, AnErrorNamesTheLastNode) {
  Matrices();
  const Output sum = Op("BiasAdd", {Op("MatMul", {x_, w_}), b_});
  StartSession();
  const StatusOr<std::vector<Tensor>> wrong =
      Run({sum}, {{x_, Numbers({5, 7})}, {w_, Numbers({7, 9})}, {b_, Numbers({8})}});
  ExpectError(wrong.status(), absl::StatusCode::kInvalidArgument, {"BiasAdd"});
}

}  // namespace
}  // namespace millstream
