// The kernels of summaries: what their messages hold, and what they refuse.
#include <png.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/structural/png.h"
#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/summary.pb.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class SummaryTest : public SessionTest {
 protected:
  // A fed tensor: its value is the step's.
  Output FedAs(const Tensor& value) {
    const Output tensor = Placeholder(graph.UniqueName("fed", false), value.dtype());
    feeds_.push_back({tensor, value});
    return tensor;
  }
  Output Tag(const std::string& tag) { return Constant(Tensor::Scalar<std::string>(tag)); }
  Status GetError(const Output& output) { return Error(output, feeds_); }
  proto::Summary Message(const Output& summary) {
    const std::vector<std::string> bytes = Elements<std::string>(Value(summary, feeds_));
    proto::Summary message;
    EXPECT_TRUE(bytes.size() == 1 && message.ParseFromString(bytes[0]));
    return message;
  }
  // "tag=value ..." of a serialized Summary.
  std::string Text(const Output& summary) {
    const proto::Summary message = Message(summary);
    std::string text;
    for (const proto::Summary::Value& value : message.value()) {
      absl::StrAppend(&text, text.empty() ? "" : " ", value.tag(), "=", value.simple_value());
    }
    return text;
  }
  Output Scalar(const std::string& tag, const Tensor& value) {
    return Op("ScalarSummary", {Tag(tag), FedAs(value)});
  }

  // A vector of a 16-bit format from its bits.
  static Tensor Sixteen(DataType dtype, const std::vector<uint16_t>& bits) {
    Tensor tensor = Tensor::Create(dtype, Shape({static_cast<int64_t>(bits.size())})).value();
    for (size_t i = 0; i < bits.size(); ++i) tensor.data<uint16_t>()[i] = bits[i];
    return tensor;
  }

  std::vector<Feed> feeds_;
};

TEST_F(SummaryTest, AScalarHasItsTag) {
  EXPECT_EQ(Text(Scalar("loss", Tensor::Scalar<float>(0.5))), "loss=0.5");
  EXPECT_EQ(Text(Scalar("steps", Tensor::Scalar<int64_t>(7))), "steps=7");
}

TEST_F(SummaryTest, ManyValuesHaveManyTags) {
  const Output tags = Constant(Values<std::string>({"a", "b"}));
  EXPECT_EQ(Text(Op("ScalarSummary", {tags, FedAs(Values<double>({1, 2}))})), "a=1 b=2");
}

TEST_F(SummaryTest, TagsAndValuesHaveOneShape) {
  const Output tags = Constant(Values<std::string>({"a", "b"}));
  const Output bad = Op("ScalarSummary", {tags, FedAs(Values<double>({1, 2, 3}))});
  ExpectError(GetError(bad), kInvalid, {"ScalarSummary", "[2]", "[3]"});
}

TEST_F(SummaryTest, MergingJoinsInOrder) {
  const Output a = Scalar("a", Tensor::Scalar<float>(1));
  const Output b = Scalar("b", Tensor::Scalar<float>(2));
  EXPECT_EQ(Text(build.Variadic("MergeSummary", {{b, a}})->output(0)), "b=2 a=1");
}

TEST_F(SummaryTest, MergingRefusesATagTwiceAndWhatIsNoSummary) {
  const Output a = Scalar("a", Tensor::Scalar<float>(1));
  ExpectError(GetError(build.Variadic("MergeSummary", {{a, a}})->output(0)), kInvalid,
              {"MergeSummary", "Duplicate tag a"});
  const Output text = Constant(Tensor::Scalar<std::string>("\xff not a message"));
  ExpectError(GetError(build.Variadic("MergeSummary", {{a, text}})->output(0)), kInvalid,
              {"input 1", "expected the bytes of a Summary"});
}

TEST_F(SummaryTest, AHistogramCountsAllElementsOfEveryType) {
  const auto check = [&](const Tensor& values) {
    const proto::Summary message = Message(Op("HistogramSummary", {Tag("h"), FedAs(values)}));
    ASSERT_EQ(message.value_size(), 1);
    EXPECT_EQ(message.value(0).tag(), "h");
    const proto::HistogramProto& histogram = message.value(0).histo();
    EXPECT_EQ(histogram.num(), 3);
    EXPECT_EQ(histogram.min(), 1);
    EXPECT_EQ(histogram.max(), 4);
    EXPECT_EQ(histogram.sum(), 7);
    EXPECT_EQ(histogram.sum_squares(), 21);
  };
  check(Values<float>({1, 2, 4}));
  check(Values<double>({1, 2, 4}));
  check(Values<int8_t>({1, 2, 4}));
  check(Values<int16_t>({1, 2, 4}));
  check(Values<int32_t>({1, 2, 4}));
  check(Values<int64_t>({1, 2, 4}));
  check(Values<uint8_t>({1, 2, 4}));
  check(Values<uint16_t>({1, 2, 4}));
  check(Values<uint32_t>({1, 2, 4}));
  check(Values<uint64_t>({1, 2, 4}));
  check(Sixteen(DataType::kHalf, {0x3c00, 0x4000, 0x4400}));
  check(Sixteen(DataType::kBFloat16, {0x3f80, 0x4000, 0x4080}));
}

TEST_F(SummaryTest, AHistogramRefusesWhatIsNotFinite) {
  const auto error = [&](float value) {
    return GetError(Op("HistogramSummary", {Tag("h"), FedAs(Values<float>({1, value}))}));
  };
  ExpectError(error(std::nanf("")), kInvalid, {"HistogramSummary", "Nan in summary histogram for"});
  ExpectError(error(-std::numeric_limits<float>::infinity()), kInvalid,
              {"Infinity in summary histogram for"});
}

TEST_F(SummaryTest, ATagIsAScalar) {
  const Output tags = Constant(Values<std::string>({"a", "b"}));
  const Output values = FedAs(Values<float>({1}));
  ExpectError(GetError(Op("HistogramSummary", {tags, values})), kInvalid, {"'tag'", "[2]"});
  ExpectError(GetError(Op("ImageSummary", {tags, values})), kInvalid, {"'tag'", "[2]"});
}

TEST_F(SummaryTest, ATensorIsKeptWithItsMetadata) {
  proto::SummaryMetadata metadata;
  metadata.mutable_plugin_data()->set_plugin_name("text");
  const Output summary = Op("TensorSummaryV2", {Tag("t"), FedAs(Values<int32_t>({1, 2})),
                                                Tag(metadata.SerializeAsString())});
  const proto::Summary message = Message(summary);
  ASSERT_EQ(message.value_size(), 1);
  EXPECT_EQ(message.value(0).tag(), "t");
  EXPECT_EQ(message.value(0).metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(message.value(0).tensor().tensor_shape().dim(0).size(), 2);
  const Output bad = Op("TensorSummaryV2", {Tag("t"), FedAs(Values<int32_t>({1})), Tag("\xff")});
  ExpectError(GetError(bad), kInvalid, {"serialized_summary_metadata"});
}

// As TensorFlow 1.15 writes it: the node's name, no tag, no metadata.
TEST_F(SummaryTest, ATensorOfTheFirstFormHasTheNameOfItsNode) {
  const Output summary = Op("TensorSummary", {FedAs(Values<int32_t>({1, 2}))},
                            {{"description", "{}"}, {"display_name", "shown"}});
  const proto::Summary message = Message(summary);
  ASSERT_EQ(message.value_size(), 1);
  const proto::Summary::Value& value = message.value(0);
  EXPECT_EQ(value.node_name(), summary.node->name());
  EXPECT_EQ(value.tag(), "");
  EXPECT_FALSE(value.has_metadata());
  EXPECT_EQ(value.tensor().tensor_shape().dim(0).size(), 2);
}

// Bytes of a message whose text is no UTF-8 are read by nobody.
TEST_F(SummaryTest, TextsAreUtf8) {
  const Output bad = Tag("a\xff");
  const Output values = FedAs(Values<float>({1}));
  const Output one = FedAs(Tensor::Scalar<float>(1));
  const Output images = FedAs(Tensor::FromValues<uint8_t>({1, 1, 1, 1}, {0}));
  const Output tags = Constant(Values<std::string>({"a", "\xc3\xa4", "\xed\xa0\x80"}));
  const auto refused = [&](const char* op, const std::vector<Output>& inputs, const char* text) {
    ExpectError(GetError(Op(op, inputs)), kInvalid, {op, text});
  };
  refused("ScalarSummary", {bad, one}, "'tags' must be UTF-8, but element 0 is not");
  refused("ScalarSummary", {tags, FedAs(Values<float>({1, 2, 3}))},
          "'tags' must be UTF-8, but element 2 is not");
  refused("HistogramSummary", {bad, values}, "'tag' must be UTF-8");
  refused("ImageSummary", {bad, images}, "'tag' must be UTF-8");
  refused("TensorSummaryV2", {bad, values, Tag("")}, "'tag' must be UTF-8");
  // The field display_name, of one byte.
  refused("TensorSummaryV2", {Tag("t"), values, Tag("\x12\x01\xff")},
          "'serialized_summary_metadata': expected the bytes of a SummaryMetadata");
}

class ImageSummaryTest : public SummaryTest {
 protected:
  proto::Summary Images(const Tensor& batch, GraphBuilder::Attrs attrs = {}) {
    return Message(Op("ImageSummary", {Tag("i"), FedAs(batch)}, attrs));
  }
  // The pixels of the only image.
  std::vector<int> Pixels(const Tensor& batch) {
    const proto::Summary message = Images(batch);
    EXPECT_EQ(message.value_size(), 1);
    return message.value_size() == 1 ? Decoded(message.value(0).image()) : std::vector<int>();
  }
  // What libpng's own reader finds, in the format that the message names.
  static std::vector<int> Decoded(const proto::Summary::Image& image) {
    png_image header = {};
    header.version = PNG_IMAGE_VERSION;
    const std::string& file = image.encoded_image_string();
    EXPECT_NE(png_image_begin_read_from_memory(&header, file.data(), file.size()), 0);
    EXPECT_EQ(header.height, image.height());
    EXPECT_EQ(header.width, image.width());
    EXPECT_EQ(PNG_IMAGE_SAMPLE_CHANNELS(header.format), image.colorspace());
    std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(header));
    EXPECT_NE(png_image_finish_read(&header, nullptr, pixels.data(), 0, nullptr), 0);
    return std::vector<int>(pixels.begin(), pixels.end());
  }
  template <typename T>
  static Tensor Batch(const Shape& shape, const std::vector<T>& values) {
    return Tensor::FromValues<T>(shape, values);
  }
};

TEST_F(ImageSummaryTest, BytesAreKept) {
  EXPECT_THAT(Pixels(Batch<uint8_t>({1, 2, 2, 1}, {0, 7, 128, 255})), ElementsAre(0, 7, 128, 255));
  EXPECT_THAT(Pixels(Batch<uint8_t>({1, 1, 2, 3}, {0, 1, 2, 253, 254, 255})),
              ElementsAre(0, 1, 2, 253, 254, 255));
  EXPECT_THAT(Pixels(Batch<uint8_t>({1, 2, 1, 4}, {9, 8, 7, 255, 1, 2, 3, 4})),
              ElementsAre(9, 8, 7, 255, 1, 2, 3, 4));
}

TEST_F(ImageSummaryTest, TheLargestValueIsWhite) {
  EXPECT_THAT(Pixels(Batch<float>({1, 1, 3, 1}, {0, 1, 2})), ElementsAre(0, 127, 255));
  EXPECT_THAT(Pixels(Batch<double>({1, 1, 3, 1}, {0, 0.5, 0.5})), ElementsAre(0, 255, 255));
  const Tensor half = Sixteen(DataType::kHalf, {0x0000, 0x3c00, 0x4000});
  EXPECT_THAT(Pixels(half.Reshaped({1, 1, 3, 1})), ElementsAre(0, 127, 255));
}

TEST_F(ImageSummaryTest, NegativeValuesPutZeroInTheMiddle) {
  EXPECT_THAT(Pixels(Batch<float>({1, 1, 3, 1}, {-2, 0, 1})), ElementsAre(1, 128, 191));
}

TEST_F(ImageSummaryTest, TinyValuesAreBlack) {
  EXPECT_THAT(Pixels(Batch<float>({1, 1, 2, 1}, {1e-7f, 0})), ElementsAre(0, 0));
}

TEST_F(ImageSummaryTest, APixelThatIsNotFiniteIsRed) {
  const float nan = std::nanf("");
  EXPECT_THAT(Pixels(Batch<float>({1, 1, 2, 3}, {1, nan, 1, 2, 2, 1})),
              ElementsAre(255, 0, 0, 255, 255, 127));
  // Nothing of it counts for the scale of the others.
  EXPECT_THAT(Pixels(Batch<float>({1, 1, 2, 3}, {-9, nan, 9, 2, 2, 1})),
              ElementsAre(255, 0, 0, 255, 255, 127));
}

TEST_F(ImageSummaryTest, TheFirstImagesAreNumberedAndScaledOneByOne) {
  const Tensor batch = Batch<float>({3, 1, 1, 1}, {1, 2, 3});
  const proto::Summary two = Images(batch, {{"max_images", int64_t{2}}});
  ASSERT_EQ(two.value_size(), 2);
  EXPECT_EQ(two.value(0).tag(), "i/image/0");
  EXPECT_EQ(two.value(1).tag(), "i/image/1");
  EXPECT_THAT(Decoded(two.value(0).image()), ElementsAre(255));
  EXPECT_THAT(Decoded(two.value(1).image()), ElementsAre(255));
  const proto::Summary one = Images(batch, {{"max_images", int64_t{1}}});
  ASSERT_EQ(one.value_size(), 1);
  EXPECT_EQ(one.value(0).tag(), "i/image");
  EXPECT_EQ(Images(Batch<float>({0, 1, 1, 1}, {})).value_size(), 0);
}

TEST_F(ImageSummaryTest, WhatIsNoImageIsRefused) {
  const auto error = [&](const Tensor& batch, GraphBuilder::Attrs attrs = {}) {
    return GetError(Op("ImageSummary", {Tag("i"), FedAs(batch)}, attrs));
  };
  ExpectError(error(Batch<float>({2, 2}, {1, 2, 3, 4})), kInvalid, {"ImageSummary", "[2,2]"});
  ExpectError(error(Batch<float>({1, 1, 1, 2}, {1, 2})), kInvalid, {"1, 3 or 4 channels"});
  ExpectError(error(Batch<float>({1, 0, 5, 1}, {})), kInvalid, {"0 x 5"});
  ExpectError(error(Batch<float>({1, 1, 1, 3}, {1, 2, 3}), {{"bad_color", Values<uint8_t>({1})}}),
              kInvalid, {"bad_color", "3 channels"});
}

}  // namespace
}  // namespace millstream
