// fuse_batch_norm changes what a plan executes, and no bit of what it gives.
#include <algorithm>
#include <string>
#include <vector>

#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class FuseBatchNormTest : public PassTest {
 protected:
  FuseBatchNormTest() : PassTest("fuse_batch_norm") {}

  // A normalization of images, with a Relu and the gradients of both.
  struct Layer {
    Output x;
    const Node* norm;
    Output relu;
    Output relu_grad;
    const Node* gradient;

    std::vector<Output> Gradients() const {
      return {gradient->output(0), gradient->output(1), gradient->output(2)};
    }
    std::vector<Output> Statistics() const {
      return {norm->output(1), norm->output(2), norm->output(3), norm->output(4)};
    }
  };

  Layer AddLayer(const Shape& images, const std::string& format = "NHWC", bool is_training = true) {
    return AddLayer(Numbers(images), format, is_training);
  }
  Layer AddLayer(const Tensor& images, const std::string& format, bool is_training) {
    const GraphBuilder::Attrs attrs = {{"is_training", is_training}, {"data_format", format}};
    const int64_t channels = images.shape().dim(format == "NHWC" ? 3 : 1);
    const Shape vector({channels});
    const Tensor given = Numbers(Shape({is_training ? 0 : channels}));
    Layer layer;
    layer.x = FedValue("x", images);
    const Output scale = Fed("scale", vector);
    // Variances are above zero.
    const Output variance = Op("Square", {FedValue("deviation", given)});
    layer.norm = build.NodeOf(
        "FusedBatchNormV3",
        {layer.x, scale, Fed("offset", vector), FedValue("mean", given), variance}, attrs);
    layer.relu = Op("Relu", {layer.norm->output(0)});
    layer.relu_grad = Op("ReluGrad", {Fed("dy", images.shape()), layer.relu});
    layer.gradient = build.NodeOf("FusedBatchNormGradV3",
                                  {layer.relu_grad, layer.x, scale, layer.norm->output(3),
                                   layer.norm->output(4), layer.norm->output(5)},
                                  attrs);
    return layer;
  }

  static std::vector<Output> Joined(std::vector<Output> first, const std::vector<Output>& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  }
};

TEST_F(FuseBatchNormTest, BothDirections) {
  const Layer layer = AddLayer({3, 7, 6, 5});
  EXPECT_EQ(Saved(Joined({layer.relu}, layer.Gradients())), 2);
}

TEST_F(FuseBatchNormTest, SumsOfManyTasksAndTheStatistics) {
  const Layer layer = AddLayer({20, 30, 30, 24});
  EXPECT_EQ(Saved(Joined(Joined({layer.relu}, layer.Gradients()), layer.Statistics())), 2);
}

TEST_F(FuseBatchNormTest, ChannelsFirst) {
  const Layer layer = AddLayer({3, 5, 7, 11}, "NCHW");
  EXPECT_EQ(Saved(Joined({layer.relu}, layer.Gradients())), 2);
}

TEST_F(FuseBatchNormTest, NoImages) {
  const Layer layer = AddLayer({0, 7, 6, 5});
  EXPECT_EQ(Saved(Joined({layer.relu}, layer.Gradients())), 2);
}

TEST_F(FuseBatchNormTest, GivenStatisticsForwardAlone) {
  const Layer layer = AddLayer({3, 7, 6, 5}, "NHWC", false);
  EXPECT_EQ(Saved({layer.relu}), 1);
  EXPECT_EQ(Saved(Joined({layer.relu}, layer.Gradients())), 1);
}

TEST_F(FuseBatchNormTest, WhatOthersReadStays) {
  const Layer layer = AddLayer({3, 7, 6, 5});
  // The normalized images: the Relu has to read them. Its gradient needs them no more.
  EXPECT_EQ(Saved(Joined({layer.relu, layer.norm->output(0)}, layer.Gradients())), 1);
  EXPECT_EQ(Saved({layer.relu, Op("Neg", {layer.norm->output(0)})}), 0);
  // The gradient of the Relu.
  EXPECT_EQ(Saved(Joined({layer.relu_grad}, layer.Gradients())), 1);
}

TEST_F(FuseBatchNormTest, StatisticsOfAnotherNormalizationStay) {
  const Layer layer = AddLayer({3, 7, 6, 5});
  const Node* other =
      build.NodeOf("FusedBatchNormGradV3",
                   {layer.relu_grad, layer.x, layer.norm->output(1), layer.norm->output(3),
                    layer.norm->output(4), layer.norm->output(5)});
  EXPECT_EQ(Saved({other->output(0)}), 1);
}

TEST_F(FuseBatchNormTest, NotANumberAndInfinityStay) {
  const Tensor special = SpecialNumbers();
  Tensor images = *Tensor::Create(DataType::kFloat, Shape({1, 4, 5, 1}));
  std::copy_n(special.data<float>(), images.num_elements(), images.data<float>());
  const Layer layer = AddLayer(images, "NHWC", false);
  EXPECT_EQ(Saved({layer.relu}), 1);
}

}  // namespace
}  // namespace millstream
