#include "distributed_runtime/tensor_coding.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed_runtime/shortened_floats.h"
#include "framework/proto_conversion.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A payload cut into slices of `size` bytes, as a network delivers it.
Payload CutInto(size_t size, const Payload& payload) {
  std::string bytes;
  for (const Slice& slice : payload.slices()) bytes.append(slice.data, slice.size);
  Payload cut;
  for (size_t i = 0; i < bytes.size(); i += size) cut.Append(bytes.substr(i, size));
  return cut;
}

Payload Encode(const std::vector<Tensor>& tensors) {
  proto::RunGraphResponse message;
  TensorWriter writer;
  for (const Tensor& tensor : tensors) {
    EXPECT_EQ(writer.Add(tensor, message.add_fetches()), absl::OkStatus());
  }
  return writer.Finish(message);
}

std::vector<Tensor> Decode(Payload payload) {
  PayloadReader reader(std::move(payload));
  proto::RunGraphResponse message;
  EXPECT_EQ(DecodeMessage(&reader, &message), absl::OkStatus());
  std::vector<Tensor> tensors;
  for (const proto::TensorHeader& header : message.fetches()) {
    StatusOr<Tensor> tensor = DecodeTensor(header, &reader);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    tensors.push_back(tensor.ok() ? *std::move(tensor) : Tensor());
  }
  EXPECT_EQ(reader.left(), 0);
  return tensors;
}

// Of which only the shape is needed.
Tensor DecodeShapeOf(const Tensor& tensor) {
  proto::RunGraphResponse message;
  TensorWriter writer;
  EXPECT_EQ(writer.AddShape(tensor, message.add_fetches()), absl::OkStatus());
  return Decode(writer.Finish(message))[0];
}

std::vector<Tensor> SomeTensors() {
  return {Tensor::Vector<float>({1, 2, 3}), Tensor(),
          Tensor::Scalar<int64_t>(-7),      Tensor::Vector<std::string>({"one", "", "three"}),
          Tensor::Of<int32_t>({2, 0}, {}),  Tensor::Of<bool>({2, 2}, {true, false, false, true})};
}

void ExpectEqual(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].has_value(), b[i].has_value()) << i;
    if (!a[i].has_value()) continue;
    EXPECT_TRUE(TensorsEqual(a[i], b[i])) << a[i].DebugString();
  }
}

TEST(TensorCodingTest, TensorsComeBack) {
  ExpectEqual(SomeTensors(), Decode(Encode(SomeTensors())));
}

TEST(TensorCodingTest, TensorsComeBackHoweverTheBytesAreCut) {
  for (const size_t size : {1, 3, 7, 64}) {
    ExpectEqual(SomeTensors(), Decode(CutInto(size, Encode(SomeTensors()))));
  }
}

TEST(TensorCodingTest, WithinTheProcessNothingIsCopied) {
  const Tensor tensor = Tensor::Vector<float>({1, 2, 3});
  EXPECT_EQ(Decode(Encode({tensor}))[0].raw(), tensor.raw());
}

TEST(TensorCodingTest, BorrowedMemoryIsCopied) {
  std::vector<float> values(16, 1.0f);
  const Tensor borrowed(DataType::kFloat, Shape({16}),
                        BorrowBuffer(values.data(), 64, /*writable=*/false, [] {}));
  const Payload payload = Encode({borrowed});
  values.assign(16, 2.0f);
  EXPECT_EQ(Decode(payload)[0].data<float>()[3], 1.0f);
}

TEST(TensorCodingTest, OnlyTheShapeIsSent) {
  EXPECT_TRUE(TensorsEqual(DecodeShapeOf(Tensor::Vector<float>({1, 2, 3})),
                           Tensor::Vector<float>({0, 0, 0})));
  EXPECT_TRUE(TensorsEqual(DecodeShapeOf(Tensor::Vector<std::string>({"one", "two"})),
                           Tensor::Vector<std::string>({"", ""})));
}

// Empty ones would take memory as well.
TEST(TensorCodingTest, ManyStringsAreSentWithTheirShape) {
  const Tensor many = Tensor::Vector<std::string>(std::vector<std::string>(2000, "one"));
  EXPECT_TRUE(TensorsEqual(DecodeShapeOf(many), many));
}

// Only what crosses between tasks is shortened, and of that only float32.
TEST(TensorCodingTest, FloatsMayBeSentAsTheirUpperHalves) {
  const float kInf = std::numeric_limits<float>::infinity();
  const Tensor floats = Tensor::Vector<float>(
      {1.0f, -2.5f, 1.0f + 0x1p-7f, 1.0f + 0x1p-8f, -(1.0f + 0x1p-8f), kInf, 0x1p-140f, 0.0f});
  const Tensor doubles = Tensor::Vector<double>({1.0 + 0x1p-40});
  proto::RunGraphResponse message;
  TensorWriter writer;
  ASSERT_EQ(writer.AddSent(floats, true, message.add_fetches()), absl::OkStatus());
  ASSERT_EQ(writer.AddSent(doubles, true, message.add_fetches()), absl::OkStatus());
  ASSERT_EQ(writer.AddSent(floats, false, message.add_fetches()), absl::OkStatus());
  ASSERT_EQ(writer.AddSent(Tensor(), true, message.add_fetches()), absl::OkStatus());
  EXPECT_EQ(message.fetches(0).bytes(), 16);
  EXPECT_EQ(message.fetches(2).bytes(), 32);
  ExpectEqual({Tensor::Vector<float>({1.0f, -2.5f, 1.0f + 0x1p-7f, 1.0f, -1.0f, kInf, 0.0f, 0.0f}),
               doubles, floats, Tensor()},
              Decode(writer.Finish(message)));
}

TEST(TensorCodingTest, AShortenedNanIsNoInfinity) {
  const uint32_t kNans[] = {0x7F800001, 0xFFC00000, 0x7FFFFFFF};
  float nans[3];
  std::memcpy(nans, kNans, sizeof(nans));
  char bytes[6];
  ShortenFloats(nans, 3, bytes);
  float back[3];
  LengthenFloats(bytes, 3, back);
  for (const float element : back) EXPECT_TRUE(std::isnan(element));
}

TEST(TensorCodingTest, WrongBytesAreRefused) {
  proto::TensorHeader header;
  header.set_dtype(1);
  header.add_dims(4);
  for (const int64_t bytes : {-1, 0, 12, 17, 1000}) {
    header.set_bytes(bytes);
    Payload payload;
    payload.Append(std::string(20, 'x'));
    PayloadReader reader(payload);
    EXPECT_EQ(DecodeTensor(header, &reader).status().code(), absl::StatusCode::kInvalidArgument)
        << bytes;
    header.set_is_shortened(true);
    PayloadReader of_halves(payload);
    EXPECT_EQ(DecodeTensor(header, &of_halves).status().code(), absl::StatusCode::kInvalidArgument)
        << bytes;
    header.set_is_shortened(false);
  }
  header.add_dims(-3);
  PayloadReader reader{Payload()};
  EXPECT_EQ(DecodeTensor(header, &reader).status().code(), absl::StatusCode::kInvalidArgument);
  Payload text;
  text.Append(std::string("GET / HTTP/1.1"));
  PayloadReader of_text(text);
  proto::RunGraphRequest message;
  EXPECT_EQ(DecodeMessage(&of_text, &message).code(), absl::StatusCode::kInvalidArgument);
}

// No more memory is taken for a tensor than bytes have come: the shapes are larger than any memory.
TEST(TensorCodingTest, AShapeThatItsBytesDoNotFillIsRefused) {
  const auto refuse = [](const proto::TensorHeader& header, std::string bytes) {
    Payload payload;
    payload.Append(std::move(bytes));
    PayloadReader reader(payload);
    EXPECT_EQ(DecodeTensor(header, &reader).status().code(), absl::StatusCode::kInvalidArgument)
        << header.ShortDebugString();
  };
  // Four bytes times the last one are 0 in 64 bits.
  for (const int64_t dim : {int64_t{1} << 50, int64_t{1} << 61, int64_t{1} << 62}) {
    proto::TensorHeader floats;
    floats.set_dtype(1);
    floats.add_dims(dim);
    for (const int64_t bytes : {0, 64}) {
      floats.set_bytes(bytes);
      floats.set_is_shortened(false);
      refuse(floats, std::string(bytes, 'x'));
      floats.set_is_shortened(true);
      refuse(floats, std::string(bytes, 'x'));
    }
    proto::TensorProto message;
    message.set_dtype(proto::DT_STRING);
    message.add_string_val("");
    message.mutable_tensor_shape()->add_dim()->set_size(dim);
    proto::TensorHeader strings;
    strings.set_dtype(7);
    strings.add_dims(dim);
    strings.set_is_message(true);
    strings.set_bytes(static_cast<int64_t>(message.ByteSizeLong()));
    refuse(strings, message.SerializeAsString());
    strings.clear_is_message();
    strings.set_is_shape_only(true);
    refuse(strings, "");
  }
}

TEST(TensorCodingTest, PlainElementsDoNotComeAsAMessage) {
  proto::TensorProto message;
  message.set_dtype(proto::DT_FLOAT);
  message.add_float_val(1.0f);
  message.mutable_tensor_shape()->add_dim()->set_size(int64_t{1} << 28);
  proto::TensorHeader header;
  header.set_dtype(1);
  header.set_is_message(true);
  header.set_bytes(static_cast<int64_t>(message.ByteSizeLong()));
  Payload payload;
  payload.Append(message.SerializeAsString());
  for (const int dtype : {1, 7}) {
    header.set_dtype(dtype);
    PayloadReader reader(payload);
    EXPECT_EQ(DecodeTensor(header, &reader).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(TensorCodingTest, AMessageThatIsTooLargeIsAnErrorWithItsSize) {
  proto::StatusMessage message;
  message.set_text(std::string(100, 'a'));
  const size_t size = message.ByteSizeLong();
  EXPECT_TRUE(EncodeLargeMessage(message, size).ok());
  const Status refused = EncodeLargeMessage(message, size - 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(absl::StrCat(" of ", size, " bytes")));
  TensorWriter writer(size - 1);
  EXPECT_EQ(writer.FinishLarge(message).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TensorCodingTest, StringsThatFillAMessageAreAnError) {
  TensorWriter writer(100);
  proto::TensorHeader header;
  EXPECT_EQ(writer.Add(Tensor::Scalar<std::string>(std::string(50, 'a')), &header),
            absl::OkStatus());
  const Status refused = writer.Add(Tensor::Scalar<std::string>(std::string(100, 'a')), &header);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(writer.Add(Tensor::Vector<float>(std::vector<float>(100, 1.0f)), &header),
            absl::OkStatus());
}

// Of a message that could not be written.
TEST(TensorCodingTest, ASizeThatNoMessageHasIsRefused) {
  Payload payload;
  payload.Append(std::string(4, '\xff'));
  PayloadReader reader(std::move(payload));
  proto::StatusMessage message;
  EXPECT_EQ(DecodeMessage(&reader, &message).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorCodingTest, AnErrorKeepsItsPayloads) {
  Status error = errors::NotFound("there is no cat");
  error.SetPayload("millstream/node", absl::Cord("cat"));
  proto::StatusMessage message;
  EncodeStatus(error, &message);
  EXPECT_EQ(DecodeStatus(message), error);
}

}  // namespace
}  // namespace millstream
