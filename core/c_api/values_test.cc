// Statuses, tensors and attribute sets.
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/c_api/c_api.h"
#include "core/c_api/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::c_api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StatusTest, NullIsSuccess) {
  EXPECT_EQ(millstream_status_code(nullptr), 0);
  EXPECT_STREQ(millstream_status_message(nullptr), "");
  EXPECT_STREQ(millstream_status_node(nullptr), "");
  millstream_status_free(nullptr);
  millstream_bytes none = {nullptr, 0};
  millstream_bytes_free(&none);
  millstream_bytes_free(nullptr);
}

TEST(TensorTest, HasDtypeShapeAndMemory) {
  const TensorHandle tensor = NewTensor(kInt32, {2, 3});
  EXPECT_EQ(millstream_tensor_dtype(tensor.get()), kInt32);
  ASSERT_EQ(millstream_tensor_rank(tensor.get()), 2);
  EXPECT_EQ(millstream_tensor_dims(tensor.get())[0], 2);
  EXPECT_EQ(millstream_tensor_dims(tensor.get())[1], 3);
  EXPECT_EQ(millstream_tensor_num_elements(tensor.get()), 6);
  EXPECT_EQ(millstream_tensor_size(tensor.get()), 24);
  EXPECT_NE(millstream_tensor_data(tensor.get()), nullptr);
}

TEST(TensorTest, StringsHoldAnyBytes) {
  const TensorHandle tensor = NewTensor(kString, {2});
  const std::string text("a\0b", 3);
  millstream_tensor_set_string(tensor.get(), 1, text.data(), text.size());
  size_t size = 7;
  EXPECT_STREQ(millstream_tensor_string(tensor.get(), 0, &size), "");
  EXPECT_EQ(size, 0);
  const char* data = millstream_tensor_string(tensor.get(), 1, &size);
  EXPECT_EQ(std::string(data, size), text);
}

TEST(TensorTest, CellsThatDoNotExistAreEmpty) {
  const TensorHandle tensor = NewTensor(kString, {1});
  millstream_tensor_set_string(tensor.get(), 1, "lost", 4);
  size_t size = 7;
  EXPECT_STREQ(millstream_tensor_string(tensor.get(), 1, &size), "");
  EXPECT_EQ(size, 0);
  EXPECT_STREQ(millstream_tensor_string(Floats({1}).get(), 0, &size), "");
}

TEST(TensorTest, RefusesWhatIsNoTensor) {
  millstream_tensor* tensor = nullptr;
  const int64_t negative = -2;
  EXPECT_EQ(Error(millstream_tensor_new(kFloat, &negative, 1, &tensor)).code, kInvalidArgument);
  EXPECT_EQ(Error(millstream_tensor_new(kFloat, nullptr, -1, &tensor)).code, kInvalidArgument);
  EXPECT_EQ(Error(millstream_tensor_new(99, nullptr, 0, &tensor)).message,
            "expected the number of a DataType, got 99");
  EXPECT_EQ(tensor, nullptr);
}

// Counts how often memory was given back.
void CountRelease(void* argument) { ++*static_cast<int*>(argument); }

TEST(BorrowTest, UsesTheMemoryAndGivesItBack) {
  int released = 0;
  const std::vector<float> values = {1, 2};
  const int64_t dim = 2;
  millstream_tensor* tensor = nullptr;
  ExpectOk(millstream_tensor_borrow(kFloat, &dim, 1, values.data(), 8, CountRelease, &released,
                                    &tensor));
  EXPECT_EQ(millstream_tensor_data(tensor), values.data());
  EXPECT_EQ(released, 0);
  millstream_tensor_free(tensor);
  EXPECT_EQ(released, 1);
}

TEST(BorrowTest, CopiesWhatStandsBetweenElements) {
  int released = 0;
  alignas(8) char memory[12] = {};
  const float value = 2.5F;
  std::memcpy(memory + 1, &value, sizeof(value));
  const int64_t dim = 1;
  millstream_tensor* borrowed = nullptr;
  ExpectOk(
      millstream_tensor_borrow(kFloat, &dim, 1, memory + 1, 4, CountRelease, &released, &borrowed));
  const TensorHandle tensor(borrowed);
  EXPECT_EQ(released, 1);
  EXPECT_THAT(FloatsOf(tensor.get()), ElementsAre(2.5F));
}

TEST(BorrowTest, OnErrorTheMemoryStaysTheCallers) {
  int released = 0;
  const float values[2] = {1, 2};
  const int64_t dim = 2;
  millstream_tensor* tensor = nullptr;
  auto borrow = [&](int32_t dtype, const void* data, size_t size) {
    return Error(
        millstream_tensor_borrow(dtype, &dim, 1, data, size, CountRelease, &released, &tensor));
  };
  EXPECT_THAT(borrow(kFloat, values, 7).message, HasSubstr("2 elements of 4 bytes, got 7 bytes"));
  EXPECT_THAT(borrow(kString, values, 8).message, HasSubstr("string cannot be borrowed"));
  EXPECT_THAT(borrow(kFloat, nullptr, 8).message, HasSubstr("got NULL"));
  const int64_t huge = std::numeric_limits<int64_t>::max() / 2 + 1;  // its bytes overflow to 0
  EXPECT_EQ(
      Error(millstream_tensor_borrow(kFloat, &huge, 1, values, 0, CountRelease, &released, &tensor))
          .code,
      kInvalidArgument);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(tensor, nullptr);
}

class AttrsTest : public GraphFixture {
 protected:
  // Text of an attribute, whose name starts with "_" so that any node may have it.
  std::string TextOf(const millstream_attrs* attrs, const char* name) {
    const millstream_output node = Add("NoOp", name, {}, attrs);
    millstream_bytes bytes;
    ExpectOk(millstream_node_attr(graph(), node.node, name, &bytes));
    const std::string value = Take(bytes);
    millstream_bytes text;
    ExpectOk(millstream_message_print_text("AttrValue", value.data(), value.size(), &text));
    return Take(text);
  }
};

TEST_F(AttrsTest, EveryKind) {
  const AttrsHandle handle(millstream_attrs_new());
  millstream_attrs* attrs = handle.get();
  const int64_t dims[] = {2, -1, 5};
  const int32_t ranks[] = {2, -1, 1};
  millstream_attrs_set_int(attrs, "_int", 1);
  millstream_attrs_set_int(attrs, "_int", -3);
  millstream_attrs_set_float(attrs, "_float", 0.5F);
  millstream_attrs_set_bool(attrs, "_bool", 2);
  millstream_attrs_set_string(attrs, "_string", "a\0b", 3);
  millstream_attrs_set_type(attrs, "_type", kInt32);
  millstream_attrs_set_shape(attrs, "_shape", dims, 2);
  millstream_attrs_set_shape(attrs, "_unknown", nullptr, -1);
  millstream_attrs_set_shape_list(attrs, "_shapes", dims, ranks, 3);
  const std::string proto("\x18\x07", 2);  // field 3, an integer: 7
  ExpectOk(millstream_attrs_set_proto(attrs, "_proto", proto.data(), proto.size()));

  EXPECT_EQ(TextOf(attrs, "_int"), "i: -3\n");
  EXPECT_EQ(TextOf(attrs, "_float"), "f: 0.5\n");
  EXPECT_EQ(TextOf(attrs, "_bool"), "b: true\n");
  EXPECT_EQ(TextOf(attrs, "_string"), "s: \"a\\000b\"\n");
  EXPECT_EQ(TextOf(attrs, "_type"), "type: DT_INT32\n");
  EXPECT_EQ(TextOf(attrs, "_shape"),
            "shape {\n  dim {\n    size: 2\n  }\n  dim {\n    size: -1\n  }\n}\n");
  EXPECT_EQ(TextOf(attrs, "_unknown"), "shape {\n  unknown_rank: true\n}\n");
  EXPECT_EQ(TextOf(attrs, "_shapes"),
            "list {\n  shape {\n    dim {\n      size: 2\n    }\n    dim {\n      size: -1\n    }\n"
            "  }\n  shape {\n    unknown_rank: true\n  }\n"
            "  shape {\n    dim {\n      size: 5\n    }\n  }\n}\n");
  EXPECT_EQ(TextOf(attrs, "_proto"), "i: 7\n");
}

TEST_F(AttrsTest, Lists) {
  const AttrsHandle handle(millstream_attrs_new());
  millstream_attrs* attrs = handle.get();
  const int64_t ints[] = {1, -2};
  const float floats[] = {0.25F};
  const int32_t bools[] = {0, 1};
  const char* strings[] = {"x", "yz"};
  const size_t sizes[] = {1, 2};
  const int32_t types[] = {kFloat, kString};
  millstream_attrs_set_int_list(attrs, "_ints", ints, 2);
  millstream_attrs_set_float_list(attrs, "_floats", floats, 1);
  millstream_attrs_set_bool_list(attrs, "_bools", bools, 2);
  millstream_attrs_set_string_list(attrs, "_strings", strings, sizes, 2);
  millstream_attrs_set_type_list(attrs, "_types", types, 2);
  millstream_attrs_set_int_list(attrs, "_none", nullptr, 0);

  EXPECT_EQ(TextOf(attrs, "_ints"), "list {\n  i: 1\n  i: -2\n}\n");
  EXPECT_EQ(TextOf(attrs, "_floats"), "list {\n  f: 0.25\n}\n");
  EXPECT_EQ(TextOf(attrs, "_bools"), "list {\n  b: false\n  b: true\n}\n");
  EXPECT_EQ(TextOf(attrs, "_strings"), "list {\n  s: \"x\"\n  s: \"yz\"\n}\n");
  EXPECT_EQ(TextOf(attrs, "_types"), "list {\n  type: DT_FLOAT\n  type: DT_STRING\n}\n");
  EXPECT_EQ(TextOf(attrs, "_none"), "list {\n}\n");
}

TEST_F(AttrsTest, BorrowedTensorsAreCopied) {
  int released = 0;
  const std::vector<float> values = {1, 2};
  const int64_t dim = 2;
  millstream_tensor* tensor = nullptr;
  ExpectOk(millstream_tensor_borrow(kFloat, &dim, 1, values.data(), 8, CountRelease, &released,
                                    &tensor));
  const AttrsHandle attrs(millstream_attrs_new());
  millstream_attrs_set_tensor(attrs.get(), "value", tensor);
  millstream_attrs_set_type(attrs.get(), "dtype", kFloat);
  millstream_tensor_free(tensor);
  EXPECT_EQ(released, 1);

  const millstream_output output = Add("Const", "c", {}, attrs.get());
  millstream_tensor* constant = nullptr;
  ExpectOk(millstream_output_constant(graph(), output, &constant));
  EXPECT_THAT(FloatsOf(TensorHandle(constant).get()), ElementsAre(1, 2));
}

TEST_F(AttrsTest, BadValuesAreToldWhenTheNodeIsAdded) {
  const AttrsHandle attrs(millstream_attrs_new());
  millstream_attrs_set_type(attrs.get(), "dtype", 99);
  int32_t node = 0;
  const Error error = TryAdd("Placeholder", "x", {}, attrs.get(), &node);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(error.node, "x");
  EXPECT_THAT(error.message, HasSubstr("attribute 'dtype'"));
  EXPECT_THAT(error.message, HasSubstr("DataType, got 99"));
  EXPECT_EQ(node, -1);
}

TEST_F(AttrsTest, ProtoThatIsNone) {
  const AttrsHandle attrs(millstream_attrs_new());
  const Error error = millstream_attrs_set_proto(attrs.get(), "_a", "\xff", 1);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("attribute '_a'"));
}

}  // namespace
}  // namespace millstream::c_api
