// A feed by the C API: dtype, rank, sizes and the bytes of a tensor, for a placeholder of the first
// type that one step hands on. What comes back must be the bytes that went in.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/c_api/c_api.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/target.h"

namespace {

constexpr int32_t kNumTypes = 24;
constexpr int32_t kString = 7;
constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";

// Whether it is success. Frees it.
bool IsOk(millstream_status* status) {
  const bool ok = status == nullptr;
  millstream_status_free(status);
  return ok;
}

// A session on a graph with a placeholder and an Identity of it for each type.
class Steps {
 public:
  Steps() {
    setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*overwrite=*/0);
    for (int32_t type = 0; type < kNumTypes; ++type) {
      AddPair(type, &inputs_.emplace_back(), &outputs_.emplace_back());
    }
    if (IsOk(millstream_session_new(graph_, nullptr, 0, &session_))) return;
    std::fputs("there is no session\n", stderr);
    std::abort();
  }

  // Null for an error.
  millstream_tensor* Run(int32_t type, millstream_tensor* fed) {
    millstream_tensor* fetched = nullptr;
    const auto entry = static_cast<size_t>(type) % inputs_.size();
    if (inputs_[entry].node < 0) return nullptr;
    IsOk(millstream_session_run(session_, &inputs_[entry], &fed, 1, &outputs_[entry], 1, nullptr, 0,
                                nullptr, &fetched));
    return fetched;
  }

 private:
  void AddPair(int32_t type, millstream_output* input, millstream_output* output) {
    const std::string name = "x" + std::to_string(type);
    millstream_attrs* const attrs = millstream_attrs_new();
    millstream_attrs_set_type(attrs, "dtype", type);
    *input = {-1, 0};
    *output = {-1, 0};
    IsOk(millstream_graph_add_node(graph_, "Placeholder", name.c_str(), nullptr, nullptr, 0,
                                   nullptr, 0, attrs, "", "", &input->node));
    millstream_attrs_free(attrs);
    if (input->node < 0) return;
    const int32_t one = 1;
    IsOk(millstream_graph_add_node(graph_, "Identity", (name + "_too").c_str(), input, &one, 1,
                                   nullptr, 0, nullptr, "", "", &output->node));
  }

  millstream_graph* const graph_ = millstream_graph_new();
  millstream_session* session_ = nullptr;
  std::vector<millstream_output> inputs_, outputs_;
};

millstream_tensor* MakeTensor(int32_t type, const std::vector<int64_t>& dims,
                              absl::string_view bytes) {
  millstream_tensor* tensor = nullptr;
  const auto rank = static_cast<int32_t>(dims.size());
  if (type != kString) {
    IsOk(millstream_tensor_borrow(type, dims.data(), rank, bytes.data(), bytes.size(), nullptr,
                                  nullptr, &tensor));
    return tensor;
  }
  // As large as the program asks for: not more than there are bytes to fill it.
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return nullptr;
  }
  if (count > static_cast<int64_t>(bytes.size())) return nullptr;
  if (!IsOk(millstream_tensor_new(type, dims.data(), rank, &tensor))) return nullptr;
  for (int64_t i = 0; i < count; ++i) {
    millstream_tensor_set_string(tensor, i, bytes.data() + i, bytes.size() - i > 64 ? 64 : 1);
  }
  return tensor;
}

void CheckSame(const millstream_tensor* fed, const millstream_tensor* fetched) {
  const size_t size = millstream_tensor_size(fed);
  const bool same = size == millstream_tensor_size(fetched) &&
                    millstream_tensor_dtype(fed) == millstream_tensor_dtype(fetched);
  if (same &&
      (millstream_tensor_dtype(fed) == kString || size == 0 ||
       std::memcmp(millstream_tensor_data(fed), millstream_tensor_data(fetched), size) == 0)) {
    return;
  }
  std::fputs("a step gave another tensor than it was fed\n", stderr);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const steps = new Steps;
  millstream::fuzz::Input input(data, size);
  const int32_t placeholder = input.Take<uint8_t>();
  const int32_t type = input.Take<int8_t>();
  std::vector<int64_t> dims(input.Take<uint8_t>() % 12);
  for (int64_t& dim : dims) {
    const auto small = input.Take<int8_t>();
    dim = small == -128 ? input.Take<int64_t>() : small;
  }
  millstream_tensor* const fed = MakeTensor(type, dims, input.rest());
  if (fed == nullptr) return 0;
  millstream_tensor* const fetched = steps->Run(placeholder, fed);
  if (fetched != nullptr) CheckSame(fed, fetched);
  millstream_tensor_free(fetched);
  millstream_tensor_free(fed);
  return 0;
}
