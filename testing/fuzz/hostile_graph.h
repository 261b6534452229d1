// GraphDefs that mean harm, in the making, and what must come of them.
#ifndef MILLSTREAM_TESTING_FUZZ_HOSTILE_GRAPH_H_
#define MILLSTREAM_TESTING_FUZZ_HOSTILE_GRAPH_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/c_api/c_api.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "millstream/framework/protos/graph.pb.h"
#include "testing/fuzz/limits.h"

namespace millstream::fuzz {

inline constexpr size_t kMebibyte = 1 << 20;
inline constexpr int kOk = 0;
inline constexpr int kInvalidArgument = 3;
inline constexpr int kNotFound = 5;
inline constexpr int kResourceExhausted = 8;
inline constexpr int64_t k2To40 = int64_t{1} << 40;

// A GraphDef in the making.
class HostileGraph : public ::testing::Test {
 protected:
  proto::NodeDef* Add(const std::string& name, const std::string& op,
                      const std::vector<std::string>& inputs = {}) {
    proto::NodeDef* const node = def_.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }
  static proto::AttrValue* Attr(proto::NodeDef* node, const std::string& name) {
    return &(*node->mutable_attr())[name];
  }
  // A node of one op on floats.
  proto::NodeDef* AddFloat(const std::string& name, const std::string& op,
                           const std::vector<std::string>& inputs) {
    proto::NodeDef* const node = Add(name, op, inputs);
    Attr(node, "T")->set_type(proto::DT_FLOAT);
    return node;
  }
  void AddPlaceholder(const std::string& name) {
    Attr(Add(name, "Placeholder"), "dtype")->set_type(proto::DT_FLOAT);
  }
  // The message of its value.
  proto::TensorProto* AddConst(const std::string& name, proto::DataType dtype,
                               const std::vector<int64_t>& dims) {
    proto::NodeDef* const node = Add(name, "Const");
    Attr(node, "dtype")->set_type(dtype);
    proto::TensorProto* const value = Attr(node, "value")->mutable_tensor();
    value->set_dtype(dtype);
    for (const int64_t dim : dims) value->mutable_tensor_shape()->add_dim()->set_size(dim);
    return value;
  }
  // More nodes of a kind as long as they fit.
  template <typename AddOne>
  int Fill(const AddOne& add_one) {
    int count = 0;
    size_t size = def_.ByteSizeLong();
    while (true) {
      const int before = def_.node_size();
      add_one(count);
      for (int i = before; i < def_.node_size(); ++i) size += def_.node(i).ByteSizeLong() + 4;
      if (size > kMebibyte) {
        def_.mutable_node()->DeleteSubrange(before, def_.node_size() - before);
        return count;
      }
      ++count;
    }
  }

  // Imports within the limits. `error`: what it says; "" for any.
  void Expect(int code, const std::string& error = "") {
    ExpectOfBytes(def_.SerializeAsString(), code, error);
  }
  static void ExpectOfBytes(const std::string& bytes, int code, const std::string& error = "") {
    ASSERT_LE(bytes.size(), kMebibyte);
    millstream_graph* const graph = millstream_graph_new();
    millstream_status* status = nullptr;
    const Cost cost = CostOf([&] {
      status = millstream_graph_import(graph, bytes.data(), bytes.size(), nullptr, 0, "",
                                       "load.py:1", nullptr, nullptr, 0, nullptr, 0, nullptr);
    });
    EXPECT_EQ(millstream_status_code(status), code) << millstream_status_message(status);
    EXPECT_THAT(std::string(millstream_status_message(status)), ::testing::HasSubstr(error));
    EXPECT_EQ(millstream_graph_num_nodes(graph) > 0, code == kOk);
    EXPECT_EQ(Excess(cost), "");
    ::testing::Test::RecordProperty("bytes", absl::StrCat(cost.bytes));
    ::testing::Test::RecordProperty("allocations", absl::StrCat(cost.allocations));
    ::testing::Test::RecordProperty("milliseconds", absl::StrCat(cost.seconds * 1000));
    EXPECT_LE(std::string(millstream_status_message(status)).size(), size_t{10000});
    millstream_status_free(status);
    millstream_graph_free(graph);
  }

  proto::GraphDef def_;
};

}  // namespace millstream::fuzz

#endif  // MILLSTREAM_TESTING_FUZZ_HOSTILE_GRAPH_H_
