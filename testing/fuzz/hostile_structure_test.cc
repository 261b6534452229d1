// Very many nodes, loops, references, and deep nesting in GraphDefs of up to 1 MiB: each gives a
// typed error, or a graph, within the limits.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "testing/fuzz/hostile_graph.h"

namespace millstream::fuzz {
namespace {

// ---- Many nodes ----

TEST_F(HostileGraph, AMebibyteOfEmptyNodes) {
  std::string bytes;
  for (size_t i = 0; i < kMebibyte / 2; ++i) bytes += std::string("\x0a\x00", 2);
  ExpectOfBytes(bytes, kResourceExhausted);
}

TEST_F(HostileGraph, AsManyNodesAsFit) {
  Fill([&](int i) { Add(absl::StrCat(absl::Hex(i)), "NoOp"); });
  Expect(kOk);
}

TEST_F(HostileGraph, AChainOfAsManyNodesAsFit) {
  const int count = Fill([&](int i) {
    Add(absl::StrCat(absl::Hex(i)), "NoOp",
        i == 0 ? std::vector<std::string>()
               : std::vector<std::string>{absl::StrCat("^", absl::Hex(i - 1))});
  });
  EXPECT_GT(count, 40000);
  Expect(kOk);
}

TEST_F(HostileGraph, AChainInTheOtherDirection) {
  AddPlaceholder("0");
  const int count = Fill([&](int i) {
    AddFloat(absl::StrCat(absl::Hex(i + 1)), "Neg", {absl::StrCat(absl::Hex(i))});
  });
  std::reverse(def_.mutable_node()->begin(), def_.mutable_node()->end());
  EXPECT_GT(count, 20000);
  Expect(kOk);
}

TEST_F(HostileGraph, EveryNodeWaitsForManyOthers) {
  for (int i = 0; i < 200; ++i) Add(absl::StrCat(absl::Hex(i)), "NoOp");
  Fill([&](int i) {
    proto::NodeDef* const node = Add(absl::StrCat("n", i), "NoOp");
    for (int k = 0; k < 200; ++k) node->add_input(absl::StrCat("^", absl::Hex(k)));
  });
  Expect(kOk);
}

TEST_F(HostileGraph, LoopsWhoseShapesAreAllWrong) {
  Fill([&](int i) {
    const std::string merge = absl::StrCat("m", i);
    const std::string next = absl::StrCat("n", i);
    proto::NodeDef* const node =
        AddFloat(merge, "Merge", {i == 0 ? next : absl::StrCat("m", i - 1), next});
    Attr(node, "N")->set_i(2);
    auto* const shapes = Attr(node, "_output_shapes")->mutable_list();
    shapes->add_shape()->add_dim()->set_size(3);
    shapes->add_shape();
    AddFloat(next, "NextIteration", {merge});
  });
  Expect(kOk);
}

TEST_F(HostileGraph, LoopsOfWhichEachForgetsADimensionOfAllThatFollow) {
  constexpr int kRank = 12;
  const auto declare = [](proto::NodeDef* node, int wrong) {
    proto::TensorShapeProto* const shape =
        Attr(node, "_output_shapes")->mutable_list()->add_shape();
    for (int i = 0; i < kRank; ++i) shape->add_dim()->set_size(i == wrong ? 8 : 7);
  };
  AddPlaceholder("x");
  std::string last = "x";
  for (int i = 0; i < kRank; ++i) {
    const std::string merge = absl::StrCat("m", i);
    const std::string next = absl::StrCat("n", i);
    proto::NodeDef* const node = AddFloat(merge, "Merge", {last, next});
    Attr(node, "N")->set_i(2);
    declare(node, -1);
    Attr(node, "_output_shapes")->mutable_list()->add_shape();
    // Not from the Merge, which would have to have this shape.
    declare(AddFloat(next, "NextIteration", {"x"}), i);
    last = merge;
  }
  for (int i = 0; i < 20000; ++i) {
    const std::string name = absl::StrCat(absl::Hex(i));
    AddFloat(name, "Neg", {last});
    last = name;
  }
  Expect(kOk);
}

TEST_F(HostileGraph, ShapesOfAsManyDimensionsAsThereMayBe) {
  AddPlaceholder("x");
  auto* const shape = Attr(def_.mutable_node(0), "shape")->mutable_shape();
  constexpr int kMostDimensions = 32;  // docs/security.md
  for (int i = 0; i < kMostDimensions; ++i) shape->add_dim()->set_size(1);
  std::string last = "x";
  Fill([&](int i) {
    const std::string name = absl::StrCat(absl::Hex(i));
    AddFloat(name, "Neg", {last});
    last = name;
  });
  Expect(kResourceExhausted, "what is known of them");
}

TEST_F(HostileGraph, ARankThatAConstantGives) {
  AddPlaceholder("x");
  AddConst("s", proto::DT_INT32, {60000})->add_int_val(1);
  Attr(AddFloat("r", "Reshape", {"x", "s"}), "Tshape")->set_type(proto::DT_INT32);
  Expect(kInvalidArgument, "at most 32 dimensions, got 60000");
}

TEST_F(HostileGraph, SmallConstantsThatAreFollowedThroughManyNodes) {
  AddConst("const", proto::DT_INT32, {1024})->add_int_val(1);
  std::string last = "const";
  Fill([&](int i) {
    const std::string name = absl::StrCat(absl::Hex(i));
    Attr(Add(name, "Identity", {last}), "T")->set_type(proto::DT_INT32);
    last = name;
  });
  Expect(kResourceExhausted);
}

// ---- References ----

class HostileReferences : public HostileGraph {
 protected:
  void AddVariable(const std::string& name) {
    proto::NodeDef* const node = Add(name, "VariableV2");
    Attr(node, "dtype")->set_type(proto::DT_FLOAT);
    Attr(node, "shape")->mutable_shape()->add_dim()->set_size(2);
  }
};

TEST_F(HostileReferences, AChainThatEachWaitsForAnother) {
  AddVariable("v");
  for (int i = 0; i < 4000; ++i) Add(absl::StrCat("c", i), "NoOp");
  std::string last = "v";
  Fill([&](int i) {
    const std::string name = absl::StrCat("r", i);
    AddFloat(name, "RefIdentity", {last, absl::StrCat("^c", i % 4000)});
    last = name;
  });
  Expect(kOk);
}

TEST_F(HostileReferences, ManyReadsThatAllWaitForMany) {
  AddVariable("v");
  for (int i = 0; i < 20000; ++i) Add(absl::StrCat(absl::Hex(i)), "NoOp");
  proto::NodeDef* const node = AddFloat("s", "AddN", {});
  constexpr int kReads = 20000;
  Attr(node, "N")->set_i(kReads);
  for (int i = 0; i < kReads; ++i) node->add_input("v");
  for (int i = 0; i < 20000; ++i) node->add_input(absl::StrCat("^", absl::Hex(i)));
  Expect(kOk);
}

TEST_F(HostileReferences, AChainOfAssignmentsOfOtherShapes) {
  AddVariable("v");
  AddPlaceholder("x");
  std::string last = "v";
  Fill([&](int i) {
    const std::string name = absl::StrCat("a", i);
    Attr(AddFloat(name, "Assign", {last, "x"}), "validate_shape")->set_b(false);
    last = name;
  });
  Expect(kOk);
}

// ---- Nesting ----

// AttrValue { func { attr { "f": <the same> } } }, `depth` times.
proto::AttrValue NestedFunctions(int depth) {
  proto::AttrValue value;
  value.mutable_func()->set_name("g");
  for (int i = 0; i < depth; ++i) {
    proto::AttrValue outer;
    outer.mutable_func()->set_name("g");
    (*outer.mutable_func()->mutable_attr())["f"] = std::move(value);
    value = std::move(outer);
  }
  return value;
}

TEST_F(HostileGraph, FunctionsNestedAsDeepAsMessages) {
  *Attr(Add("a", "NoOp"), "_f") = NestedFunctions(31);
  Expect(kOk);
}

TEST_F(HostileGraph, FunctionsNestedTooDeep) {
  *Attr(Add("a", "NoOp"), "_f") = NestedFunctions(1000);
  Expect(kInvalidArgument);
}

TEST_F(HostileGraph, FunctionsThatCallEachOther) {
  for (const auto& [name, callee] : {std::pair<const char*, const char*>{"f", "g"}, {"g", "f"}}) {
    proto::FunctionDef* const function = def_.mutable_library()->add_function();
    function->mutable_signature()->set_name(name);
    proto::NodeDef* const call = function->add_node_def();
    call->set_name("call");
    call->set_op(callee);
  }
  Add("a", "NoOp");
  Expect(kOk);
}

TEST_F(HostileGraph, AMebibyteOfLists) {
  auto* const list = Attr(Add("a", "NoOp"), "_x")->mutable_list();
  for (size_t i = 0; i < kMebibyte - 1000; ++i) list->add_i(0);
  Expect(kOk);
}

TEST_F(HostileGraph, AMebibyteOfListsOfEmptyShapes) {
  auto* const list = Attr(Add("a", "NoOp"), "_x")->mutable_list();
  for (size_t i = 0; i < kMebibyte / 2 - 1000; ++i) list->add_shape();
  Expect(kResourceExhausted);
}

TEST_F(HostileGraph, AMebibyteOfEmptyStrings) {
  auto* const list = Attr(Add("a", "NoOp"), "_x")->mutable_list();
  for (size_t i = 0; i < kMebibyte / 2 - 1000; ++i) list->add_s("");
  Expect(kOk);
}

TEST_F(HostileGraph, AMebibyteOfWrongAttributesInAnError) {
  auto* const list = Attr(Add("x", "Placeholder"), "dtype")->mutable_list();
  for (size_t i = 0; i < kMebibyte - 1000; ++i) list->add_i(0);
  Expect(kInvalidArgument, "ill-typed attribute 'dtype'");
}

TEST_F(HostileGraph, AMebibyteOfAttributes) {
  proto::NodeDef* const node = Add("a", "NoOp");
  for (int i = 0; i < 80000; ++i) Attr(node, absl::StrCat("_", absl::Hex(i)))->set_i(1);
  for (int i = 0; def_.ByteSizeLong() > kMebibyte; i += 1000) {
    for (int k = i; k < i + 1000; ++k) node->mutable_attr()->erase(absl::StrCat("_", absl::Hex(k)));
  }
  Expect(kOk);
}

}  // namespace
}  // namespace millstream::fuzz
