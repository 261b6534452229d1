// fuse_products changes what a plan executes, and no bit of what it gives.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/session.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

// Numbers of both signs, the same in every run.
Tensor Numbers(const Shape& shape) {
  Tensor tensor = *Tensor::Create(DataType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>((i * 7919) % 2003) / 1000.0f - 1.0f;
  }
  return tensor;
}

class FuseProductsTest : public SessionTest {
 protected:
  struct Outcome {
    int64_t instructions = 0;
    std::vector<std::vector<float>> values;
  };

  Outcome RunIn(const SessionOptions& options, const StepSignature& signature,
                const std::vector<Tensor>& feeds) {
    Outcome outcome;
    EXPECT_TRUE(LoadCpuPlugin().ok());
    StatusOr<std::unique_ptr<Session>> session = Session::Create(&graph, options);
    EXPECT_TRUE(session.ok()) << session.status();
    StatusOr<std::unique_ptr<Callable>> callable = (*session)->MakeCallable(signature);
    EXPECT_TRUE(callable.ok()) << callable.status();
    std::vector<Tensor> fetches(signature.fetches.size());
    const Status ran = (*callable)->Run(feeds, absl::MakeSpan(fetches), RunOptions());
    EXPECT_TRUE(ran.ok()) << ran;
    outcome.instructions = (*callable)->num_instructions();
    for (const Tensor& fetch : fetches) outcome.values.push_back(Elements<float>(fetch));
    return outcome;
  }

  // Instructions that the pass saved. The bits must be those of a run without it.
  int64_t Saved(const std::vector<Output>& fetches, const std::vector<const Node*>& targets = {}) {
    const StepSignature signature{{x_, w_, b_}, fetches, targets};
    const std::vector<Tensor> feeds = {Numbers(x_shape_), Numbers(w_shape_), Numbers(b_shape_)};
    SessionOptions without;
    without.disabled_passes = {"fuse_products"};
    const Outcome plain = RunIn(without, signature, feeds);
    const Outcome fused = RunIn(SessionOptions(), signature, feeds);
    EXPECT_EQ(plain.values, fused.values);
    return plain.instructions - fused.instructions;
  }

  void Feeds(DataType dtype, const Shape& x, const Shape& w, const Shape& b) {
    x_shape_ = x;
    w_shape_ = w;
    b_shape_ = b;
    x_ = Placeholder("x", dtype);
    w_ = Placeholder("w", dtype);
    b_ = Placeholder("b", dtype);
  }
  void MatrixFeeds() { Feeds(DataType::kFloat, {5, 7}, {7, 9}, {9}); }
  Output Conv(const char* format) {
    return Op("Conv2D", {x_, w_},
              {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
               {"padding", "SAME"},
               {"data_format", format}});
  }

  Output x_, w_, b_;
  Shape x_shape_, w_shape_, b_shape_;
};

TEST_F(FuseProductsTest, ProductBiasAndRelu) {
  MatrixFeeds();
  const Output sum = Op("BiasAdd", {Op("MatMul", {x_, w_}), b_});
  EXPECT_EQ(Saved({Op("Relu", {sum})}), 2);
}

TEST_F(FuseProductsTest, ProductAndBiasAlone) {
  MatrixFeeds();
  const Output sum = Op("BiasAdd", {Op("MatMul", {x_, w_}), b_});
  EXPECT_EQ(Saved({Op("Tanh", {sum})}), 1);
}

TEST_F(FuseProductsTest, AVectorThatIsAddedOnEitherSideIsABias) {
  MatrixFeeds();
  EXPECT_EQ(Saved({Op("Relu", {Op("AddV2", {b_, Op("MatMul", {x_, w_})})})}), 2);
  EXPECT_EQ(Saved({Op("Relu", {Op("Add", {Op("MatMul", {x_, w_}), b_})})}), 2);
}

TEST_F(FuseProductsTest, TransposedProduct) {
  Feeds(DataType::kFloat, {7, 5}, {9, 7}, {9});
  const Output product = Op("MatMul", {x_, w_}, {{"transpose_a", true}, {"transpose_b", true}});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {product, b_})})}), 2);
}

TEST_F(FuseProductsTest, Convolution) {
  Feeds(DataType::kFloat, {2, 9, 8, 3}, {3, 3, 3, 16}, {16});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {Conv("NHWC"), b_})})}), 2);
}

TEST_F(FuseProductsTest, ConvolutionWithAFilterOfOneElement) {
  Feeds(DataType::kFloat, {2, 9, 8, 3}, {1, 1, 3, 5}, {5});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {Conv("NHWC"), b_})})}), 2);
}

TEST_F(FuseProductsTest, NotANumberStays) {
  MatrixFeeds();
  const Output nan = Constant(Tensor::Scalar<float>(std::numeric_limits<float>::quiet_NaN()));
  const Output product = Op("MatMul", {Op("Mul", {x_, nan}), w_});
  const Output relu = Op("Relu", {Op("BiasAdd", {product, b_})});
  const Outcome fused = RunIn(SessionOptions(), {{x_, w_, b_}, {relu}, {}},
                              {Numbers(x_shape_), Numbers(w_shape_), Numbers(b_shape_)});
  ASSERT_EQ(fused.values[0].size(), 45u);
  for (float value : fused.values[0]) EXPECT_TRUE(std::isnan(value));
}

TEST_F(FuseProductsTest, EmptyBatch) {
  Feeds(DataType::kFloat, {0, 7}, {7, 9}, {9});
  EXPECT_EQ(Saved({Op("Relu", {Op("BiasAdd", {Op("MatMul", {x_, w_}), b_})})}), 2);
}

TEST_F(FuseProductsTest, WhatIsFetchedOrReadTwiceStaysAValue) {
  MatrixFeeds();
  const Output product = Op("MatMul", {x_, w_});
  const Output sum = Op("BiasAdd", {product, b_});
  const Output relu = Op("Relu", {sum});
  EXPECT_EQ(Saved({relu, product}), 0);
  EXPECT_EQ(Saved({relu, sum}), 1);
  EXPECT_EQ(Saved({Op("Mul", {relu, product})}), 0);
  EXPECT_EQ(Saved({Op("Add", {product, product})}), 0);
}

TEST_F(FuseProductsTest, ATargetIsComputedInFull) {
  MatrixFeeds();
  const Output product = Op("MatMul", {x_, w_});
  const Output relu = Op("Relu", {Op("BiasAdd", {product, b_})});
  EXPECT_EQ(Saved({relu}, {product.node}), 0);
  EXPECT_EQ(Saved({}, {relu.node}), 2);
}

TEST_F(FuseProductsTest, OtherAdditionsStay) {
  Feeds(DataType::kFloat, {9, 7}, {7, 9}, {9, 1});
  EXPECT_EQ(Saved({Op("Add", {Op("MatMul", {x_, w_}), b_})}), 0);
}

TEST_F(FuseProductsTest, ChannelsThatComeFirstStay) {
  Feeds(DataType::kFloat, {2, 3, 9, 8}, {3, 3, 3, 4}, {4});
  const Output sum = Op("BiasAdd", {Conv("NCHW"), b_}, {{"data_format", "NCHW"}});
  EXPECT_EQ(Saved({sum}), 0);
}

TEST_F(FuseProductsTest, AnErrorNamesTheLastNode) {
  MatrixFeeds();
  const Output sum = Op("BiasAdd", {Op("MatMul", {x_, w_}), b_});
  StartSession();
  const StatusOr<std::vector<Tensor>> wrong =
      Run({sum}, {{x_, Numbers({5, 7})}, {w_, Numbers({7, 9})}, {b_, Numbers({8})}});
  ExpectError(wrong.status(), absl::StatusCode::kInvalidArgument, {"BiasAdd"});
}

}  // namespace
}  // namespace millstream
