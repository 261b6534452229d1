#include "framework/plugin/dlpack.h"

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/host_tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// A struct that somebody else lends, and how often it was given back.
struct Lent {
  Lent() {
    managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Lent*>(self->manager_ctx)->returned;
    };
    managed.dl_tensor = {data, {kDLPackCpu, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  }
  void ExpectRefused(absl::StatusCode code, const std::string& text) {
    const Status status = ImportDLPack(&managed).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(returned, 0) << "it stays with who lent it";
  }

  alignas(16) float data[7] = {0, 1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  int returned = 0;
  DLManagedTensorVersioned managed = {};
};

TEST(DLPackTest, AnExportLendsTheMemoryUntilItIsGivenBack) {
  auto* const tensor = new MS_Tensor(Tensor::FromValues<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
  const auto* api = reinterpret_cast<const MS_TensorApi*>(FindHostInterface(MS_TENSOR_API));
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(api->dlpack_export(tensor, &managed), nullptr);
  api->release(tensor);
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 0u);
  const DLTensor& lent = managed->dl_tensor;
  EXPECT_EQ(lent.device.device_type, kDLPackCpu);
  EXPECT_EQ(lent.dtype.code, MS_CODE_FLOAT);
  EXPECT_EQ(lent.dtype.bits, 32);
  EXPECT_EQ(lent.dtype.lanes, 1);
  ASSERT_EQ(lent.ndim, 2);
  EXPECT_EQ(lent.shape[1], 3);
  EXPECT_EQ(lent.strides[0], 3);
  EXPECT_EQ(lent.strides[1], 1);
  static_cast<float*>(lent.data)[5] = 9;
  // Back again: the same memory, for as long as the import lives.
  MS_Tensor* imported = nullptr;
  ASSERT_EQ(api->dlpack_import(managed, &imported), nullptr);
  EXPECT_EQ(imported->tensor.data<float>()[5], 9);
  EXPECT_FALSE(imported->tensor.buffer()->writable());
  api->release(imported);
}

TEST(DLPackTest, WhatOthersMayReadIsExportedReadOnly) {
  const Tensor tensor = Tensor::Scalar<int32_t>(3);
  const std::vector<Tensor> readers(1, tensor);
  DLManagedTensorVersioned* const managed = *ExportDLPack(tensor);
  EXPECT_EQ(managed->flags, kDLPackReadOnly);
  managed->deleter(managed);
}

TEST(DLPackTest, DTypesWithoutCounterpartStayHere) {
  EXPECT_EQ(ExportDLPack(Tensor::Scalar<std::string>("x")).status().code(),
            absl::StatusCode::kUnimplemented);
  Lent lent;
  lent.managed.dl_tensor.dtype = {MS_CODE_STRING, 0, 1};
  lent.ExpectRefused(absl::StatusCode::kUnimplemented, "no dtype for DLPack's code 226");
  lent.managed.dl_tensor.dtype = {MS_CODE_FLOAT, 32, 4};
  lent.ExpectRefused(absl::StatusCode::kUnimplemented, "4 lanes");
  lent.managed.dl_tensor.dtype = {MS_CODE_FLOAT, 24, 1};
  lent.ExpectRefused(absl::StatusCode::kUnimplemented, "of 24 bits");
}

TEST(DLPackTest, EveryNumericTypeGoesThereAndBack) {
  for (const DataType type :
       {DataType::kFloat, DataType::kDouble, DataType::kHalf, DataType::kBFloat16, DataType::kInt8,
        DataType::kUInt16, DataType::kInt64, DataType::kBool, DataType::kComplex64,
        DataType::kComplex128}) {
    const Tensor tensor = *Tensor::Create(type, Shape({2}));
    const StatusOr<Tensor> back = ImportDLPack(*ExportDLPack(tensor));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->dtype(), type);
    EXPECT_EQ(back->raw(), tensor.raw());
  }
}

TEST(DLPackTest, AnImportIsGivenBackOnceItIsNotUsedAnyMore) {
  Lent lent;
  lent.managed.dl_tensor.strides = lent.strides;
  {
    const StatusOr<Tensor> tensor = ImportDLPack(&lent.managed);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->data<float>(), lent.data);
    EXPECT_EQ(lent.returned, 0);
  }
  EXPECT_EQ(lent.returned, 1);
}

TEST(DLPackTest, ElementsThatAreNotAlignedAreCopied) {
  Lent lent;
  std::vector<char> bytes(7 * sizeof(float) + 1);
  std::memcpy(bytes.data() + 1, lent.data, sizeof(lent.data));
  lent.managed.dl_tensor.data = bytes.data();
  lent.managed.dl_tensor.byte_offset = 1 + sizeof(float);
  const StatusOr<Tensor> tensor = ImportDLPack(&lent.managed);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(lent.returned, 1);
  EXPECT_EQ(tensor->data<float>()[0], 1);
  EXPECT_EQ(tensor->data<float>()[5], 6);
}

// The tensor of a device's memory is the device's to make.
TEST(DLPackTest, MemoryOfADeviceIsTakenWhereTheDeviceIsGiven) {
  Lent lent;
  lent.managed.dl_tensor.device = {7, 2};
  DLPackDevice device;
  device.type = 7;
  device.id = 2;
  device.wrap = [](DataType dtype, const Shape& shape, void* data, size_t bytes,
                   std::function<void()> release) {
    return Tensor(dtype, shape, BorrowBuffer(data, bytes, false, std::move(release)));
  };
  {
    const StatusOr<Tensor> tensor = ImportDLPack(&lent.managed, device);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->raw(), lent.data);
    EXPECT_EQ(lent.returned, 0);
  }
  EXPECT_EQ(lent.returned, 1);
  lent.returned = 0;
  const auto error = [&] {
    return std::string(ImportDLPack(&lent.managed, device).status().message());
  };
  lent.managed.dl_tensor.byte_offset = 1;
  EXPECT_THAT(error(), HasSubstr("not aligned"));
  lent.managed.dl_tensor.byte_offset = 0;
  device.id = 3;
  EXPECT_THAT(error(), HasSubstr("device 2 of type 7; only that of the host and of device 3"));
  EXPECT_EQ(lent.returned, 0);
}

TEST(DLPackTest, OtherVersionsMemoriesAndLayoutsAreRefused) {
  Lent lent;
  lent.managed.version.major = 2;
  lent.ExpectRefused(absl::StatusCode::kUnimplemented, "DLPack of version 2.0");
  lent.managed.version.major = 1;
  lent.managed.dl_tensor.device.device_type = 2;
  lent.ExpectRefused(absl::StatusCode::kUnimplemented, "device type 2");
  lent.managed.dl_tensor.device.device_type = kDLPackCpu;
  lent.strides[0] = 4;
  lent.managed.dl_tensor.strides = lent.strides;
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "not dense and row-major");
  lent.shape[0] = 1;  // whose stride means nothing
  EXPECT_TRUE(ImportDLPack(&lent.managed).ok());
  lent.returned = 0;
  lent.shape[0] = -1;
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "");
  lent.shape[0] = 2;
  lent.managed.dl_tensor.strides = nullptr;
  lent.managed.dl_tensor.data = nullptr;
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "has no memory");
  lent.managed.dl_tensor.ndim = -1;
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "-1 dimensions");
}

// What is read, and where, follows from these numbers.
TEST(DLPackTest, ShapesThatNoTensorCanHaveAreRefused) {
  Lent lent;
  lent.managed.dl_tensor.ndim = MS_MAX_RANK + 1;
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "33");
  lent.managed.dl_tensor.ndim = std::numeric_limits<int32_t>::max();
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "2147483647");
  // 2^62 floats are 2^64 bytes, which is 0 where numbers have 64 bits.
  lent.managed.dl_tensor.ndim = 2;
  lent.shape[0] = int64_t{1} << 31;
  lent.shape[1] = int64_t{1} << 31;
  lent.managed.dl_tensor.strides = nullptr;
  lent.ExpectRefused(absl::StatusCode::kInvalidArgument, "has more than 2^64 bytes");
}

}  // namespace
}  // namespace millstream
