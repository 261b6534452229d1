// Sizes, names and inputs of GraphDefs of up to 1 MiB that mean harm: each gives a typed error, or
// a graph, within the limits.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "testing/fuzz/hostile_graph.h"

namespace millstream::fuzz {
namespace {

// ---- Sizes ----

TEST_F(HostileGraph, ASplatOf2To40Elements) {
  AddConst("c", proto::DT_INT8, {k2To40})->add_int_val(1);
  Expect(kResourceExhausted, "node 'c' (op Const)");
}

TEST_F(HostileGraph, ASplatOfAGibibyte) {
  AddConst("c", proto::DT_FLOAT, {1 << 14, 1 << 14})->add_float_val(1);
  Expect(kResourceExhausted, "max_import_expansion");
}

TEST_F(HostileGraph, ManySplatsThatAreNotLargeEach) {
  Fill(
      [&](int i) { AddConst(absl::StrCat("c", i), proto::DT_FLOAT, {1 << 16})->add_float_val(1); });
  Expect(kResourceExhausted);
}

TEST_F(HostileGraph, SplatsInListsOfFunctionAttributes) {
  proto::NodeDef* const node = Add("a", "NoOp");
  for (int i = 0; i < 1000; ++i) {
    proto::TensorProto* const tensor =
        (*Attr(node, "_x")->mutable_func()->mutable_attr())["y"].mutable_list()->add_tensor();
    tensor->set_dtype(proto::DT_STRING);
    tensor->mutable_tensor_shape()->add_dim()->set_size(1 << 16);
  }
  Expect(kResourceExhausted, "node 'a'");
}

TEST_F(HostileGraph, TensorContentOf2To40ElementsThatIsShort) {
  AddConst("c", proto::DT_FLOAT, {k2To40})->set_tensor_content("1234");
  Expect(kResourceExhausted);
}

TEST_F(HostileGraph, ContentOfTheWrongSizeForItsType) {
  AddConst("c", proto::DT_DOUBLE, {2})->set_tensor_content("12345678");
  Expect(kInvalidArgument, "needs 16 bytes of tensor_content, got 8");
}

TEST_F(HostileGraph, AConstantOfAnotherTypeThanItsValue) {
  proto::TensorProto* const value = AddConst("c", proto::DT_FLOAT, {});
  value->set_dtype(proto::DT_INT32);
  value->add_int_val(1);
  Expect(kInvalidArgument, "node 'c'");
}

TEST_F(HostileGraph, SizesThatOverflow) {
  AddConst("c", proto::DT_FLOAT, {int64_t{1} << 32, int64_t{1} << 32})->add_float_val(1);
  Expect(kResourceExhausted);
}

TEST_F(HostileGraph, ANegativeDimension) {
  AddConst("c", proto::DT_FLOAT, {-4})->add_float_val(1);
  Expect(kInvalidArgument, "got -4");
}

TEST_F(HostileGraph, StringsOfHugeLengths) {
  AddConst("c", proto::DT_STRING, {2})->set_tensor_content("\xff\xff\xff\xff\x0f\x01zyx");
  Expect(kInvalidArgument, "node 'c'");
}

TEST_F(HostileGraph, AVariant) {
  AddConst("c", proto::DT_VARIANT, {})->add_variant_val()->set_type_name("x");
  Expect(12, "cannot be read from a message");
}

TEST_F(HostileGraph, ASplitIntoAMillion) {
  AddConst("d", proto::DT_INT32, {})->add_int_val(0);
  AddPlaceholder("x");
  Attr(AddFloat("s", "Split", {"d", "x"}), "num_split")->set_i(1 << 20);
  Expect(kResourceExhausted, "node 's'");
}

TEST_F(HostileGraph, ManySplits) {
  AddConst("d", proto::DT_INT32, {})->add_int_val(0);
  AddPlaceholder("x");
  Fill([&](int i) {
    Attr(AddFloat(absl::StrCat("s", i), "Split", {"d", "x"}), "num_split")->set_i(1000);
  });
  Expect(kResourceExhausted);
}

TEST_F(HostileGraph, ManySmallSplits) {
  for (const int outputs : {2, 3, 4, 5, 16, 64}) {
    SCOPED_TRACE(outputs);
    def_.Clear();
    AddConst("d", proto::DT_INT32, {})->add_int_val(0);
    AddPlaceholder("x");
    Fill([&](int i) {
      const std::string name = absl::StrCat("s", absl::Hex(i));
      Attr(AddFloat(name, "Split", {"d", "x"}), "num_split")->set_i(outputs);
    });
    Expect(outputs < 5 ? kOk : kResourceExhausted, outputs < 5 ? "" : "what is known of them");
  }
}

TEST_F(HostileGraph, OutputsOfAsManyTypesAsFit) {
  AddPlaceholder("x");
  proto::NodeDef* const node = Add("n", "IdentityN");
  auto* const types = Attr(node, "T")->mutable_list();
  for (size_t i = 0; i < kMebibyte / 4 - 100; ++i) {
    node->add_input("x");
    types->add_type(proto::DT_FLOAT);
  }
  Expect(kResourceExhausted, "node 'n'");
}

TEST_F(HostileGraph, AsManyInputsAsFit) {
  AddPlaceholder("x");
  proto::NodeDef* const node = AddFloat("n", "AddN", {});
  constexpr int kInputs = kMebibyte / 3 - 100;
  Attr(node, "N")->set_i(kInputs);
  for (int i = 0; i < kInputs; ++i) node->add_input("x");
  Expect(kOk);
}

TEST_F(HostileGraph, MoreInputsThanThereAre) {
  Attr(AddFloat("a", "AddN", {}), "N")->set_i(int64_t{1} << 20);
  Expect(kInvalidArgument, "expected 1048576 inputs, got 0");
}

TEST_F(HostileGraph, ManyNodesOfMoreInputsThanThereAre) {
  Fill([&](int i) {
    Attr(AddFloat(absl::StrCat("a", i), "AddN", {}), "N")->set_i(int64_t{1} << 20);
  });
  Expect(kInvalidArgument);
}

TEST_F(HostileGraph, AReshapeToSizesThatOverflow) {
  AddPlaceholder("x");
  proto::TensorProto* const shape = AddConst("s", proto::DT_INT64, {2});
  shape->add_int64_val(int64_t{1} << 62);
  shape->add_int64_val(int64_t{1} << 62);
  proto::NodeDef* const node = AddFloat("r", "Reshape", {"x", "s"});
  Attr(node, "Tshape")->set_type(proto::DT_INT64);
  Expect(kInvalidArgument, "node 'r'");
}

TEST_F(HostileGraph, AFillOf2To40) {
  AddConst("d", proto::DT_INT64, {1})->add_int64_val(k2To40);
  AddConst("v", proto::DT_FLOAT, {})->add_float_val(1);
  proto::NodeDef* const node = AddFloat("f", "Fill", {"d", "v"});
  Attr(node, "index_type")->set_type(proto::DT_INT64);
  Expect(kOk);
}

TEST_F(HostileGraph, ARangeOf2To40) {
  for (const auto& [name, value] :
       {std::pair<const char*, int64_t>{"a", 0}, {"b", k2To40}, {"c", 1}}) {
    AddConst(name, proto::DT_INT64, {})->add_int64_val(value);
  }
  Attr(Add("r", "Range", {"a", "b", "c"}), "Tidx")->set_type(proto::DT_INT64);
  Expect(kOk);
}

// ---- Names and inputs ----

TEST_F(HostileGraph, TwoNodesOfAName) {
  AddPlaceholder("x");
  AddPlaceholder("x");
  Expect(kInvalidArgument, "two nodes of this name");
}

TEST_F(HostileGraph, ASelfLoop) {
  AddFloat("a", "Identity", {"a"});
  Expect(kInvalidArgument, "a cycle of 1 nodes: a -> a");
}

TEST_F(HostileGraph, ANodeThatWaitsForItself) {
  Add("a", "NoOp", {"^a"});
  Expect(kInvalidArgument, "cycle");
}

TEST_F(HostileGraph, ACycleOfAllNodes) {
  const int count = Fill([&](int i) { Add(absl::StrCat(i), "NoOp", {absl::StrCat("^", i + 1)}); });
  def_.mutable_node(count - 1)->set_input(0, "^0");
  Expect(kInvalidArgument, "-> ... ->");
}

TEST_F(HostileGraph, AControlEdgeToNobody) {
  Add("a", "NoOp", {"^nobody"});
  Expect(kInvalidArgument, "no node 'nobody'");
}

TEST_F(HostileGraph, AControlEdgeWithAnIndex) {
  AddPlaceholder("x");
  Add("a", "NoOp", {"^x:0"});
  Expect(kInvalidArgument, "no node 'x:0'");
}

TEST_F(HostileGraph, AControlInputBeforeADataInput) {
  AddPlaceholder("x");
  AddFloat("a", "Neg", {"^x", "x"});
  Expect(kInvalidArgument, "stands after a control input");
}

TEST_F(HostileGraph, AnIndexOutOfRange) {
  AddPlaceholder("x");
  AddFloat("a", "Neg", {"x:1"});
  Expect(kInvalidArgument, "'x:1' does not exist");
}

TEST_F(HostileGraph, AnIndexBeyond32Bits) {
  AddPlaceholder("x");
  AddFloat("a", "Neg", {"x:99999999999"});
  Expect(kInvalidArgument, "expected NODE:INDEX");
}

TEST_F(HostileGraph, ANegativeIndex) {
  AddPlaceholder("x");
  AddFloat("a", "Neg", {"x:-1"});
  Expect(kInvalidArgument, "expected NODE:INDEX");
}

TEST_F(HostileGraph, AVeryLongName) {
  AddPlaceholder(std::string(kMebibyte - 100, 'x'));
  Expect(kOk);
}

TEST_F(HostileGraph, AVeryLongNameInAnError) {
  Add(std::string(kMebibyte - 100, 'x'), "NoOp", {"^y"});
  Expect(kInvalidArgument, "xxx...");
}

TEST_F(HostileGraph, AVeryLongUnknownOp) {
  Add("a", std::string(kMebibyte - 100, 'X'));
  Expect(kNotFound);
}

TEST_F(HostileGraph, ManyUnknownOps) {
  Fill([&](int i) { Add(absl::StrCat(i), absl::StrCat("Op", i)); });
  Expect(kNotFound, "unknown ops");
}

TEST_F(HostileGraph, AnUnknownOpWithPlausibleAttributes) {
  Attr(AddFloat("a", "MatMulX", {}), "transpose_a")->set_b(true);
  Expect(kNotFound, "MatMulX");
}

TEST_F(HostileGraph, AnAttributeOfAnotherKind) {
  Attr(Add("x", "Placeholder"), "dtype")->set_s("float");
  Expect(kInvalidArgument, "expected type, got string");
}

TEST_F(HostileGraph, NamesThatAreNoUtf8) {
  // By hand: the class would not encode it.
  ExpectOfBytes(std::string("\x0a\x0a\x0a\x02\xff\xfe\x12\x04NoOp", 12), kInvalidArgument);
}

TEST_F(HostileGraph, ANameWithAZero) {
  Add(std::string("a\0b", 3), "NoOp");
  Expect(kInvalidArgument, "node 0 of the GraphDef: 'a");
}

}  // namespace
}  // namespace millstream::fuzz
