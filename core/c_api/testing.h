// For the tests of the C API: handles that free themselves, and graphs in few words.
#ifndef MILLSTREAM_CORE_C_API_TESTING_H_
#define MILLSTREAM_CORE_C_API_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/c_api/c_api.h"
#include "gtest/gtest.h"

namespace millstream::c_api {

template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* handle) const { Free(handle); }
};
template <typename T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, Free>>;

using StatusHandle = Handle<millstream_status, millstream_status_free>;
using TensorHandle = Handle<millstream_tensor, millstream_tensor_free>;
using AttrsHandle = Handle<millstream_attrs, millstream_attrs_free>;
using GraphHandle = Handle<millstream_graph, millstream_graph_free>;
using SessionHandle = Handle<millstream_session, millstream_session_free>;
using CallableHandle = Handle<millstream_callable, millstream_callable_free>;
using FileHandle = Handle<millstream_file, millstream_file_free>;
using CancellationHandle = Handle<millstream_cancellation, millstream_cancellation_free>;

constexpr int32_t kFloat = 1;
constexpr int32_t kInt32 = 3;
constexpr int32_t kString = 7;
constexpr int32_t kResource = 20;

constexpr int32_t kCancelled = 1;
constexpr int32_t kInvalidArgument = 3;
constexpr int32_t kNotFound = 5;
constexpr int32_t kAlreadyExists = 6;
constexpr int32_t kPermissionDenied = 7;
constexpr int32_t kResourceExhausted = 8;
constexpr int32_t kFailedPrecondition = 9;

// What an error says; frees it.
struct Error {
  Error(millstream_status* status)  // NOLINT: conversion is the point
      : code(millstream_status_code(status)),
        message(millstream_status_message(status)),
        node(millstream_status_node(status)),
        system_error(millstream_status_errno(status)) {
    millstream_status_free(status);
  }
  int32_t code;
  std::string message;
  std::string node;
  int32_t system_error;
};

inline void ExpectOk(const Error& error) { EXPECT_EQ(error.code, 0) << error.message; }

inline std::string Take(millstream_bytes bytes) {
  std::string text(bytes.data == nullptr ? "" : bytes.data, bytes.size);
  millstream_bytes_free(&bytes);
  return text;
}

inline TensorHandle NewTensor(int32_t dtype, const std::vector<int64_t>& dims) {
  millstream_tensor* tensor = nullptr;
  ExpectOk(millstream_tensor_new(dtype, dims.data(), static_cast<int32_t>(dims.size()), &tensor));
  return TensorHandle(tensor);
}

// A vector.
inline TensorHandle Floats(const std::vector<float>& values) {
  TensorHandle tensor = NewTensor(kFloat, {static_cast<int64_t>(values.size())});
  if (tensor == nullptr) return tensor;
  std::copy(values.begin(), values.end(),
            static_cast<float*>(millstream_tensor_data(tensor.get())));
  return tensor;
}

inline std::vector<float> FloatsOf(const millstream_tensor* tensor) {
  if (tensor == nullptr || millstream_tensor_dtype(tensor) != kFloat) {
    ADD_FAILURE() << "expected a float tensor";
    return {};
  }
  const auto* data = static_cast<const float*>(millstream_tensor_data(tensor));
  return std::vector<float>(data, data + millstream_tensor_num_elements(tensor));
}

// A graph and ways to add to it.
class GraphFixture : public ::testing::Test {
 protected:
  using Arguments = std::vector<std::vector<millstream_output>>;

  millstream_graph* graph() const { return graph_.get(); }

  // Adds a node made at "model.py:7"; its number, or -1 and the error.
  Error TryAdd(const char* op, const char* name, const Arguments& arguments,
               const millstream_attrs* attrs, int32_t* node,
               const std::vector<int32_t>& controls = {}) {
    std::vector<millstream_output> inputs;
    std::vector<int32_t> counts;
    for (const auto& argument : arguments) {
      inputs.insert(inputs.end(), argument.begin(), argument.end());
      counts.push_back(static_cast<int32_t>(argument.size()));
    }
    return millstream_graph_add_node(
        graph(), op, name, inputs.data(), counts.data(), static_cast<int32_t>(counts.size()),
        controls.data(), static_cast<int32_t>(controls.size()), attrs, "", "model.py:7", node);
  }

  // Output 0 of a new node.
  millstream_output Add(const char* op, const char* name, const Arguments& arguments,
                        const millstream_attrs* attrs = nullptr) {
    int32_t node = -1;
    ExpectOk(TryAdd(op, name, arguments, attrs, &node));
    return {node, 0};
  }

  // A float placeholder of any shape.
  millstream_output Placeholder(const char* name) {
    const AttrsHandle attrs(millstream_attrs_new());
    millstream_attrs_set_type(attrs.get(), "dtype", kFloat);
    return Add("Placeholder", name, {}, attrs.get());
  }

  millstream_output Const(const char* name, const std::vector<float>& values) {
    const TensorHandle tensor = Floats(values);
    const AttrsHandle attrs(millstream_attrs_new());
    millstream_attrs_set_type(attrs.get(), "dtype", kFloat);
    millstream_attrs_set_tensor(attrs.get(), "value", tensor.get());
    return Add("Const", name, {}, attrs.get());
  }

 private:
  const GraphHandle graph_{millstream_graph_new()};
};

}  // namespace millstream::c_api

#endif  // MILLSTREAM_CORE_C_API_TESTING_H_
