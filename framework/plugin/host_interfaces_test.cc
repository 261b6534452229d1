#include "framework/plugin/host_interfaces.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

template <typename Api>
const Api* Table(const char* id) {
  return reinterpret_cast<const Api*>(HostBase()->get_interface(HostBase(), id));
}

TEST(HostBaseTest, SaysWhoItIs) {
  EXPECT_EQ(HostBase()->magic, MS_HOST_MAGIC);
  EXPECT_EQ(HostBase()->size, sizeof(MS_HostBase));
  EXPECT_EQ(HostBase()->abi_major, MS_ABI_MAJOR);
  EXPECT_EQ(FromAbi(HostBase()->host_version), kHostVersion);
}

TEST(HostBaseTest, TablesAreFoundByTheirIds) {
  for (const char* id :
       {MS_CORE_API, MS_REGISTRY_API, MS_KERNEL_API, MS_SHAPE_API, MS_TENSOR_API}) {
    const MS_Table* table = HostBase()->get_interface(HostBase(), id);
    ASSERT_NE(table, nullptr) << id;
    EXPECT_STREQ(table->id, id);
    EXPECT_EQ(table->minor, MS_ABI_MINOR);
  }
  EXPECT_EQ(HostBase()->get_interface(HostBase(), "ms.core/2"), nullptr);
  EXPECT_EQ(HostBase()->get_interface(HostBase(), nullptr), nullptr);
}

TEST(HostBaseTest, AnInterfaceIsAddedOnce) {
  static const MS_Table first = {sizeof(MS_Table), 1, 0, "ms.x.test/1"};
  static const MS_Table second = first;
  EXPECT_TRUE(RegisterHostInterface(&first).ok());
  EXPECT_TRUE(RegisterHostInterface(&first).ok());
  EXPECT_EQ(RegisterHostInterface(&second).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(FindHostInterface("ms.x.test/1"), &first);
}

TEST(HostStatusTest, RoundTrips) {
  EXPECT_EQ(ToAbiStatus(absl::OkStatus()), nullptr);
  EXPECT_TRUE(TakeAbiStatus(nullptr).ok());
  const Status error = errors::NotFound("no such thing");
  EXPECT_EQ(TakeAbiStatus(ToAbiStatus(error)), error);
}

TEST(HostStatusTest, PluginsMakeAndReadStatuses) {
  const MS_CoreApi* core = Table<MS_CoreApi>(MS_CORE_API);
  MS_Status* status = HostBase()->status_make(MS_ABORTED, ToAbi("stopped"));
  EXPECT_EQ(core->status_code(status), MS_ABORTED);
  EXPECT_EQ(FromAbi(core->status_message(status)), "stopped");
  core->status_free(status);
  EXPECT_EQ(core->status_code(nullptr), MS_OK);
  EXPECT_EQ(core->status_message(nullptr).size, 0u);
  EXPECT_EQ(HostBase()->status_make(MS_OK, ToAbi("fine")), nullptr);
}

TEST(HostStatusTest, WhatIsNoTextInAMessageIsEscaped) {
  const std::string text("a\0b\xff", 4);
  const Status status = TakeAbiStatus(HostBase()->status_make(MS_ABORTED, ToAbi(text)));
  EXPECT_EQ(status.message(), "a\\x00b\\xff");
  EXPECT_EQ(TakeAbiStatus(HostBase()->status_make(MS_ABORTED, MS_Str{nullptr, 9})).message(), "");
}

TEST(HostStatusTest, AnUnknownCodeIsKeptInTheText) {
  const Status status = TakeAbiStatus(HostBase()->status_make(77, ToAbi("odd")));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(status.message()), HasSubstr("77 of a plugin: odd"));
}

TEST(HostCoreTest, BuffersGrowAndTimeGoesOn) {
  const MS_CoreApi* core = Table<MS_CoreApi>(MS_CORE_API);
  MS_Buf buffer;
  core->buf_append(&buffer, MS_Bytes{"ab", 2});
  core->buf_append(&buffer, MS_Bytes{"c", 1});
  EXPECT_EQ(buffer.bytes, "abc");
  const uint64_t before = core->now_ns();
  EXPECT_GE(core->now_ns(), before);
}

TEST(HostCoreTest, TheBreadcrumbIsOfTheThreadAndIsCut) {
  const MS_CoreApi* core = Table<MS_CoreApi>(MS_CORE_API);
  core->breadcrumb_set(ToAbi("in kernel MatMul"));
  EXPECT_EQ(HostBreadcrumb(), "in kernel MatMul");
  core->breadcrumb_set(ToAbi(std::string(1000, 'x')));
  EXPECT_EQ(HostBreadcrumb(), std::string(255, 'x'));
  core->breadcrumb_set(ToAbi(""));
  EXPECT_EQ(HostBreadcrumb(), "");
}

TEST(HostLogTest, OnlyWarningsAndWorseAreWrittenUnlessAskedFor) {
  testing::internal::CaptureStderr();
  HostBase()->log(HostBase(), MS_LOG_INFO, ToAbi("quiet"));
  HostBase()->log(HostBase(), MS_LOG_WARNING, ToAbi("loud"));
  SetHostLogLevel(MS_LOG_DEBUG);
  HostBase()->log(HostBase(), MS_LOG_DEBUG, ToAbi("detail"));
  SetHostLogLevel(MS_LOG_WARNING);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "millstream warning: loud\nmillstream debug: detail\n");
}

TEST(HostTensorTest, AViewShowsTheTensor) {
  const Tensor tensor = Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const MS_TensorView view = MakeView(tensor, nullptr);
  EXPECT_EQ(static_cast<char*>(view.mem.base) + view.mem.offset, tensor.raw());
  EXPECT_EQ(view.mem.bytes, 24u);
  EXPECT_EQ(view.mem.space, MS_SPACE_HOST);
  EXPECT_EQ(view.rank, 2u);
  EXPECT_EQ(view.dims[0], 2);
  EXPECT_EQ(view.dims[1], 3);
  EXPECT_EQ(view.dtype, MS_FLOAT32);
  EXPECT_EQ(view.flags, MS_VIEW_HOST);
  EXPECT_EQ(view.handle, nullptr);
  EXPECT_EQ(NullView().mem.base, nullptr);
  EXPECT_EQ(NullView().rank, MS_UNKNOWN_RANK);
}

TEST(HostTensorTest, HandlesKeepTheirTensor) {
  const MS_TensorApi* api = Table<MS_TensorApi>(MS_TENSOR_API);
  Tensor tensor = Tensor::Scalar<int32_t>(7);
  const BufferRef buffer = tensor.buffer();
  MS_Tensor* handle = new MS_Tensor(std::move(tensor));
  api->retain(handle);
  api->release(handle);
  EXPECT_FALSE(buffer->IsUnique());
  MS_TensorView view = {};
  api->view(handle, &view);
  EXPECT_EQ(view.handle, handle);
  EXPECT_EQ(*static_cast<int32_t*>(view.mem.base), 7);
  api->release(handle);
  EXPECT_TRUE(buffer->IsUnique());
}

TEST(HostTensorTest, PluginsCreateTensors) {
  const MS_TensorApi* api = Table<MS_TensorApi>(MS_TENSOR_API);
  const int64_t dims[] = {2, 5};
  MS_Tensor* tensor = nullptr;
  ASSERT_EQ(api->create(MS_SPACE_HOST, MS_INT64, MS_Dims{dims, 2, 0}, &tensor), nullptr);
  EXPECT_EQ(tensor->tensor.shape(), Shape({2, 5}));
  EXPECT_EQ(tensor->tensor.dtype(), DataType::kInt64);
  api->release(tensor);
}

TEST(HostTensorTest, BadRequestsForTensorsAreNamed) {
  const MS_TensorApi* api = Table<MS_TensorApi>(MS_TENSOR_API);
  const auto create = [api](uint32_t space, MS_DType dtype, std::vector<int64_t> dims) {
    MS_Tensor* tensor = nullptr;
    const Status status = TakeAbiStatus(api->create(
        space, dtype, MS_Dims{dims.data(), static_cast<uint32_t>(dims.size()), 0}, &tensor));
    EXPECT_EQ(tensor, nullptr);
    return status;
  };
  EXPECT_EQ(create(99, MS_FLOAT32, {1}).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(create(MS_SPACE_HOST, MS_DTYPE(0x77, 8), {1}).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(create(MS_SPACE_HOST, MS_FLOAT32, {-1}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create(MS_SPACE_HOST, MS_FLOAT32, {int64_t{1} << 40}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ShapeFromAbi(MS_Dims{nullptr, MS_UNKNOWN_RANK, 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ShapeFromAbi(MS_Dims{nullptr, 3, 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostTensorTest, StringCellsAreReadAndWritten) {
  const MS_TensorApi* api = Table<MS_TensorApi>(MS_TENSOR_API);
  const Tensor tensor = Tensor::Vector<std::string>({"one", "two"});
  const MS_TensorView view = MakeView(tensor, nullptr);
  MS_Str text = {};
  ASSERT_EQ(api->string_get(&view, 1, &text), nullptr);
  EXPECT_EQ(FromAbi(text), "two");
  ASSERT_EQ(api->string_set(&view, 0, ToAbi("a longer text than fits in place")), nullptr);
  EXPECT_EQ(tensor.data<std::string>()[0], "a longer text than fits in place");

  Status status = TakeAbiStatus(api->string_get(&view, 2, &text));
  EXPECT_EQ(status, errors::InvalidArgument("string cell 2 of a tensor with 2"));
  const Tensor numbers = Tensor::Scalar<float>(1);
  const MS_TensorView number_view = MakeView(numbers, nullptr);
  status = TakeAbiStatus(api->string_set(&number_view, 0, ToAbi("x")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("this tensor is float32"));
}

TEST(HostCoreTest, PayloadsAreAttachedToStatuses) {
  const MS_CoreApi* core = Table<MS_CoreApi>(MS_CORE_API);
  MS_Status* status = HostBase()->status_make(MS_ABORTED, ToAbi("stopped"));
  core->status_add_payload(status, ToAbi("acme.com/where"), MS_Bytes{"a\0b", 3});
  core->status_add_payload(nullptr, ToAbi("acme.com/where"), MS_Bytes{"", 0});
  const Status taken = TakeAbiStatus(status);
  EXPECT_EQ(taken.GetPayload("acme.com/where"), absl::Cord(absl::string_view("a\0b", 3)));
}

TEST(HostCoreTest, ALogThatIsDroppedNeedNotBeMade) {
  const MS_CoreApi* core = Table<MS_CoreApi>(MS_CORE_API);
  SetHostLogLevel(MS_LOG_WARNING);
  EXPECT_EQ(core->log_enabled(MS_LOG_INFO), 0);
  EXPECT_EQ(core->log_enabled(MS_LOG_WARNING), 1);
  ::testing::internal::CaptureStderr();
  core->log(MS_LOG_INFO, ToAbi("quiet"));
  core->log(MS_LOG_ERROR, ToAbi("loud"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "millstream error: loud\n");
}

TEST(HostCoreTest, PluginsReadMillstreamsVariablesAlone) {
  const MS_CoreApi* core = Table<MS_CoreApi>(MS_CORE_API);
  setenv("MILLSTREAM_ACME_LEVEL", "7", 1);
  setenv("ACME_LEVEL", "8", 1);
  MS_Str text = {nullptr, 0};
  ASSERT_EQ(core->env_get(ToAbi("MILLSTREAM_ACME_LEVEL"), &text), 1);
  setenv("MILLSTREAM_ACME_LEVEL", "9", 1);
  EXPECT_EQ(FromAbi(text), "7") << "what was given out stays";
  EXPECT_EQ(core->env_get(ToAbi("ACME_LEVEL"), &text), 0);
  EXPECT_EQ(core->env_get(ToAbi("MILLSTREAM_ACME_ABSENT"), &text), 0);
}

// A tensor of rows [0,1], [2,3], [4,5].
MS_Tensor* Rows() { return new MS_Tensor(Tensor::FromValues<float>({3, 2}, {0, 1, 2, 3, 4, 5})); }

TEST(HostTensorTest, SlicesAndReshapesShareTheMemory) {
  const MS_TensorApi* api = Table<MS_TensorApi>(MS_TENSOR_API);
  MS_Tensor* const whole = Rows();
  MS_Tensor *part = nullptr, *flat = nullptr;
  ASSERT_EQ(api->slice(whole, 1, 3, &part), nullptr);
  const int64_t dims[] = {4};
  ASSERT_EQ(api->reshape(part, MS_Dims{dims, 1, 0}, &flat), nullptr);
  EXPECT_EQ(part->tensor.shape(), Shape({2, 2}));
  EXPECT_EQ(flat->tensor.data<float>(), whole->tensor.data<float>() + 2);
  const float* const data = flat->tensor.data<float>();
  api->release(whole);
  api->release(part);
  EXPECT_EQ(data[3], 5) << "the last view keeps the memory";
  MS_Tensor* none = nullptr;
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{-1, 1}, {2, 1}, {0, 5}}) {
    const Status refused = TakeAbiStatus(api->slice(flat, begin, end, &none));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("are no part of a tensor of shape [4]"));
  }
  const int64_t three[] = {3};
  const Status refused = TakeAbiStatus(api->reshape(flat, MS_Dims{three, 1, 0}, &none));
  EXPECT_EQ(refused.message(), "shape [3] has not as many elements as [4]");
  api->release(flat);
}

TEST(HostTensorTest, StringCellsAreCopiedBetweenTensors) {
  const MS_TensorApi* api = Table<MS_TensorApi>(MS_TENSOR_API);
  const Tensor from = Tensor::Vector<std::string>({"a", "b"});
  const Tensor to = Tensor::Vector<std::string>({"", ""});
  const MS_TensorView source = MakeView(from, nullptr), destination = MakeView(to, nullptr);
  ASSERT_EQ(api->string_copy(&destination, 0, &source, 1), nullptr);
  EXPECT_EQ(to.data<std::string>()[0], "b");
  EXPECT_FALSE(TakeAbiStatus(api->string_copy(&destination, 2, &source, 0)).ok());
  EXPECT_FALSE(TakeAbiStatus(api->string_copy(&destination, 0, &source, 2)).ok());
}

}  // namespace
}  // namespace millstream
