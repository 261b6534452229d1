// Training examples, by the ops that read them. The first byte says which: 'e' examples, 's'
// sequences. Records follow, each as a length of two bytes and so many bytes.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/c_api/c_api.h"
#include "testing/fuzz/input.h"
#include "testing/fuzz/target.h"

namespace {

constexpr int32_t kString = 7;
constexpr size_t kMaxRecords = 16;
constexpr char kCpuPlugin[] = "device_plugins/cpu/libmillstream_cpu.so";

// Each op asks for features of all kinds and types.
constexpr char kGraph[] = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "names" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } } } } } }
node { name: "i" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "i" } } } }
node { name: "s" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "s" } } } }
node { name: "f" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "f" } } } }
node { name: "v" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "v" } } } }
node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } }
    float_val: 1 float_val: 2 } } } }
node { name: "pad" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
  attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: 7 } } } }
node { name: "e" op: "ParseExample" input: "x" input: "names" input: "i" input: "s" input: "f"
  input: "v" input: "two" input: "pad"
  attr { key: "Nsparse" value { i: 2 } } attr { key: "Ndense" value { i: 2 } }
  attr { key: "sparse_types" value { list { type: DT_INT64 type: DT_STRING } } }
  attr { key: "Tdense" value { list { type: DT_FLOAT type: DT_INT64 } } }
  attr { key: "dense_shapes" value { list { shape { dim { size: 2 } }
    shape { dim { size: -1 } } } } } }
node { name: "q" op: "ParseSequenceExample" input: "x" input: "names" input: "two"
  attr { key: "feature_list_dense_missing_assumed_empty" value { list { s: "v" } } }
  attr { key: "Ncontext_sparse" value { i: 1 } } attr { key: "Ncontext_dense" value { i: 1 } }
  attr { key: "Nfeature_list_sparse" value { i: 1 } }
  attr { key: "Nfeature_list_dense" value { i: 1 } }
  attr { key: "context_sparse_keys" value { list { s: "i" } } }
  attr { key: "context_dense_keys" value { list { s: "f" } } }
  attr { key: "feature_list_sparse_keys" value { list { s: "s" } } }
  attr { key: "feature_list_dense_keys" value { list { s: "v" } } }
  attr { key: "context_sparse_types" value { list { type: DT_INT64 } } }
  attr { key: "Tcontext_dense" value { list { type: DT_FLOAT } } }
  attr { key: "context_dense_shapes" value { list { shape { dim { size: 2 } } } } }
  attr { key: "feature_list_sparse_types" value { list { type: DT_STRING } } }
  attr { key: "feature_list_dense_types" value { list { type: DT_INT64 } } }
  attr { key: "feature_list_dense_shapes" value { list { shape { } } } } }
)";
constexpr int kExampleOutputs = 8;
constexpr int kSequenceOutputs = 9;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Whether it is success. Frees it.
bool IsOk(millstream_status* status) {
  const bool ok = status == nullptr;
  millstream_status_free(status);
  return ok;
}

class Parsers {
 public:
  Parsers() {
    setenv("MILLSTREAM_PLUGIN_PATH", kCpuPlugin, /*overwrite=*/0);
    millstream_bytes bytes = {nullptr, 0};
    std::vector<std::string> names = {"x"};
    for (int i = 0; i < kExampleOutputs; ++i) names.push_back("e:" + std::to_string(i));
    for (int i = 0; i < kSequenceOutputs; ++i) names.push_back("q:" + std::to_string(i));
    std::vector<const char*> wanted;
    for (const std::string& name : names) wanted.push_back(name.c_str());
    outputs_.resize(names.size());
    const bool made =
        IsOk(millstream_message_parse_text("GraphDef", kGraph, sizeof(kGraph) - 1, &bytes)) &&
        IsOk(millstream_graph_import(graph_, bytes.data, bytes.size, nullptr, 0, "", "", nullptr,
                                     nullptr, 0, wanted.data(), static_cast<int32_t>(wanted.size()),
                                     outputs_.data())) &&
        IsOk(millstream_session_new(graph_, nullptr, 0, &session_));
    millstream_bytes_free(&bytes);
    if (!made) Fail("there is no session");
  }

  void Run(bool sequences, const std::vector<std::string>& records) {
    const auto count = static_cast<int64_t>(records.size());
    millstream_tensor* fed = nullptr;
    if (!IsOk(millstream_tensor_new(kString, &count, 1, &fed))) return;
    for (int64_t i = 0; i < count; ++i) {
      const std::string& record = records[static_cast<size_t>(i)];
      millstream_tensor_set_string(fed, i, record.data(), record.size());
    }
    const int first = sequences ? 1 + kExampleOutputs : 1;
    const int number = sequences ? kSequenceOutputs : kExampleOutputs;
    std::vector<millstream_tensor*> fetched(static_cast<size_t>(number), nullptr);
    const bool ok =
        IsOk(millstream_session_run(session_, outputs_.data(), &fed, 1, outputs_.data() + first,
                                    number, nullptr, 0, nullptr, fetched.data()));
    if (ok) Check(sequences, count, fetched);
    for (millstream_tensor* tensor : fetched) millstream_tensor_free(tensor);
    millstream_tensor_free(fed);
  }

 private:
  // There is an index for each value, and a row for each record.
  static void Check(bool sequences, int64_t count, const std::vector<millstream_tensor*>& fetched) {
    const auto rows = [&](int i) {
      return millstream_tensor_dims(fetched[static_cast<size_t>(i)])[0];
    };
    const bool same = sequences ? rows(0) == rows(1) && rows(3) == count && rows(4) == rows(5) &&
                                      rows(7) == count && rows(8) == count
                                : rows(0) == rows(2) && rows(1) == rows(3) && rows(6) == count &&
                                      rows(7) == count;
    if (!same) Fail("the tensors of examples do not fit together");
  }

  millstream_graph* const graph_ = millstream_graph_new();
  millstream_session* session_ = nullptr;
  std::vector<millstream_output> outputs_;  // the placeholder, and what the ops give
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const parsers = new Parsers;
  millstream::fuzz::Input input(data, size);
  const bool sequences = input.Take<char>() == 's';
  std::vector<std::string> records;
  while (!input.rest().empty() && records.size() < kMaxRecords) {
    const auto length = input.Take<uint16_t>();
    const absl::string_view record = input.rest().substr(0, length);
    records.emplace_back(record);
    input.Skip(record.size());
  }
  parsers->Run(sequences, records);
  return 0;
}
