// Graphs and their nodes.
#include <cstring>
#include <string>
#include <vector>

#include "core/c_api/c_api.h"
#include "core/c_api/testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream::c_api {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

class GraphTest : public GraphFixture {
 protected:
  // The known dimensions, "?" alone when not even the rank is known.
  std::string ShapeOf(millstream_output output) {
    int64_t dims[4] = {};
    const int32_t rank = millstream_output_shape(graph(), output, dims, 4);
    if (rank < 0) return "?";
    std::string text;
    for (int32_t i = 0; i < rank; ++i) text += std::to_string(dims[i]) + ",";
    return text;
  }

  std::string DeviceOf(int32_t node) {
    millstream_bytes device;
    millstream_node_device(graph(), node, &device);
    return Take(device);
  }

  // A front end whose function "Twice" gives dy + dy, and whose function "Broken" fails.
  struct FrontEnd {
    static int32_t Differentiate(void* state, const char* name, int32_t node, const char* scope,
                                 millstream_gradient_region* region, const millstream_gradient* dy,
                                 int32_t n_dy, millstream_gradient* dx, int32_t n_dx) {
      EXPECT_EQ(region, nullptr);
      auto* self = static_cast<FrontEnd*>(state);
      if (std::string(name) == "Broken") return -1;
      if (std::string(name) != "Twice" || n_dy != 1 || n_dx != 1) return 0;
      self->node = node;
      self->scope = scope;
      const std::string sum = self->scope + "/sum";
      dx->values = self->test->Add("Add", sum.c_str(), {{dy->values}, {dy->values}});
      return 1;
    }
    GraphTest* test;
    int32_t node = -1;
    std::string scope;
  };
};

TEST_F(GraphTest, NodesTellWhatTheyAre) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  EXPECT_EQ(millstream_graph_num_nodes(graph()), 2);
  EXPECT_STREQ(millstream_node_name(graph(), y.node), "y");
  EXPECT_STREQ(millstream_node_op(graph(), y.node), "Neg");
  EXPECT_STREQ(millstream_node_source(graph(), y.node), "model.py:7");
  EXPECT_EQ(DeviceOf(y.node), "");
  ASSERT_EQ(millstream_node_num_inputs(graph(), y.node), 1);
  EXPECT_EQ(millstream_node_input(graph(), y.node, 0).node, x.node);
  EXPECT_EQ(millstream_node_num_outputs(graph(), y.node), 1);
  EXPECT_EQ(millstream_node_output_type(graph(), y.node, 0), kFloat);
  int32_t found = -1;
  ExpectOk(millstream_graph_find_node(graph(), "y", &found));
  EXPECT_EQ(found, y.node);
}

TEST_F(GraphTest, VariadicArgumentsGiveNumbersOfTensors) {
  const millstream_output x = Placeholder("x");
  const millstream_output sum = Add("AddN", "sum", {{x, x, x}});
  EXPECT_EQ(millstream_node_num_inputs(graph(), sum.node), 3);
  millstream_bytes bytes;
  ExpectOk(millstream_node_attr(graph(), sum.node, "N", &bytes));
  EXPECT_EQ(Take(bytes), std::string("\x18\x03", 2));  // field 3, an integer: 3
}

TEST_F(GraphTest, WhatDoesNotExistIsEmpty) {
  const millstream_output x = Placeholder("x");
  for (int32_t node : {-1, 1}) {
    EXPECT_STREQ(millstream_node_name(graph(), node), "");
    EXPECT_STREQ(millstream_node_op(graph(), node), "");
    EXPECT_STREQ(millstream_node_source(graph(), node), "");
    EXPECT_EQ(DeviceOf(node), "");
    EXPECT_EQ(millstream_node_num_inputs(graph(), node), 0);
    EXPECT_EQ(millstream_node_num_outputs(graph(), node), 0);
    EXPECT_EQ(millstream_node_control_inputs(graph(), node, nullptr, 0), 0);
    EXPECT_EQ(ShapeOf({node, 0}), "?");
  }
  EXPECT_EQ(millstream_node_input(graph(), x.node, 0).node, -1);
  EXPECT_EQ(millstream_node_output_type(graph(), x.node, 1), 0);

  millstream_bytes bytes;
  int32_t found = 0;
  EXPECT_EQ(Error(millstream_graph_find_node(graph(), "y", &found)).code, kNotFound);
  EXPECT_EQ(found, -1);
  EXPECT_EQ(Error(millstream_node_attr(graph(), x.node, "nothing", &bytes)).code, kNotFound);
  EXPECT_EQ(Error(millstream_node_def(graph(), 1, &bytes)).code, kInvalidArgument);
  EXPECT_EQ(Error(millstream_node_set_device(graph(), 1, "/cpu:0")).code, kInvalidArgument);
  millstream_tensor* constant = nullptr;
  EXPECT_EQ(Error(millstream_output_constant(graph(), {x.node, 1}, &constant)).code,
            kInvalidArgument);
}

TEST_F(GraphTest, ErrorsNameTheNodeAndItsSource) {
  const millstream_output x = Placeholder("x");
  int32_t node = 0;
  Error error = TryAdd("Frobnicate", "f", {{x}}, nullptr, &node);
  EXPECT_EQ(error.code, kNotFound);
  EXPECT_EQ(error.node, "f");
  EXPECT_THAT(error.message, HasSubstr("'f' (op Frobnicate), made at model.py:7"));
  EXPECT_EQ(node, -1);

  error = TryAdd("Neg", "n", {{{9, 0}}}, nullptr, &node);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(error.node, "n");
  EXPECT_THAT(error.message, HasSubstr("no node number 9"));

  error = TryAdd("Neg", "n", {{{x.node, 1}}}, nullptr, &node);
  EXPECT_THAT(error.message, HasSubstr("no output 1: the node has 1 outputs"));
  EXPECT_EQ(TryAdd("Neg", "x", {{x}}, nullptr, &node).code, kAlreadyExists);
  EXPECT_EQ(TryAdd("NoOp", "n", {}, nullptr, &node, {7}).code, kInvalidArgument);
  EXPECT_EQ(TryAdd("MatMul", "n", {{x}}, nullptr, &node).code, kInvalidArgument);
  EXPECT_EQ(millstream_graph_num_nodes(graph()), 1);
}

TEST_F(GraphTest, UniqueNames) {
  millstream_bytes name;
  for (const char* expected : {"a", "a_1"}) {
    millstream_graph_unique_name(graph(), "a", 1, &name);
    EXPECT_EQ(Take(name), expected);
  }
  for (int i = 0; i < 2; ++i) {
    millstream_graph_unique_name(graph(), "a", 0, &name);
    EXPECT_EQ(Take(name), "a_2");
  }
}

TEST_F(GraphTest, ShapesAreNarrowed) {
  const millstream_output x = Placeholder("x");
  EXPECT_EQ(ShapeOf(x), "?");
  const int64_t dims[] = {-1, 3};
  ExpectOk(millstream_output_set_shape(graph(), x, dims, 2));
  EXPECT_EQ(ShapeOf(x), "-1,3,");
  const int64_t others[] = {5, 4};
  const Error error = millstream_output_set_shape(graph(), x, others, 2);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_EQ(error.node, "x");
  int64_t first = 0;
  EXPECT_EQ(millstream_output_shape(graph(), x, &first, 1), 2);  // one of two is written
  EXPECT_EQ(first, -1);
}

TEST_F(GraphTest, HandlesTellTheirVariable) {
  const int64_t dims[] = {2, 3};
  const AttrsHandle attrs(millstream_attrs_new());
  millstream_attrs_set_type(attrs.get(), "dtype", kFloat);
  millstream_attrs_set_shape(attrs.get(), "shape", dims, 2);
  const millstream_output handle = Add("VarHandleOp", "v", {}, attrs.get());
  EXPECT_EQ(millstream_node_output_type(graph(), handle.node, 0), kResource);
  int32_t dtype = 0;
  int64_t found[2] = {};
  EXPECT_EQ(millstream_output_handle_shape(graph(), handle, &dtype, found, 2), 2);
  EXPECT_EQ(dtype, kFloat);
  EXPECT_EQ(found[1], 3);
  const millstream_output x = Placeholder("x");
  EXPECT_EQ(millstream_output_handle_shape(graph(), x, &dtype, found, 2), -1);
  EXPECT_EQ(dtype, 0);
  ExpectOk(millstream_output_forget_handle_shape(graph(), handle));
  EXPECT_EQ(millstream_output_handle_shape(graph(), handle, &dtype, found, 2), -1);
  EXPECT_EQ(dtype, kFloat);
  EXPECT_EQ(Error(millstream_output_forget_handle_shape(graph(), x)).code, kInvalidArgument);
}

TEST_F(GraphTest, ConstantsAreKnown) {
  millstream_tensor* value = nullptr;
  ExpectOk(millstream_output_constant(graph(), Const("c", {4}), &value));
  EXPECT_THAT(FloatsOf(TensorHandle(value).get()), ::testing::ElementsAre(4));
  ExpectOk(millstream_output_constant(graph(), Placeholder("x"), &value));
  EXPECT_EQ(value, nullptr);
  ExpectOk(millstream_output_constant(graph(), Add("Rank", "r", {{Const("d", {4})}}), &value));
  const TensorHandle rank(value);
  EXPECT_EQ(millstream_tensor_dtype(rank.get()), kInt32);
  EXPECT_EQ(*static_cast<const int32_t*>(millstream_tensor_data(rank.get())), 1);
  ExpectOk(millstream_output_constant(graph(), Add("Rank", "q", {{Placeholder("y")}}), &value));
  EXPECT_EQ(value, nullptr);
}

TEST_F(GraphTest, DevicesAndControlInputsMayBeAdded) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Placeholder("y");
  ExpectOk(millstream_node_set_device(graph(), y.node, "/cpu:0"));
  EXPECT_EQ(DeviceOf(y.node), "/cpu:0");
  ExpectOk(millstream_node_add_control_input(graph(), y.node, x.node));
  int32_t control = -1;
  EXPECT_EQ(millstream_node_control_inputs(graph(), y.node, &control, 1), 1);
  EXPECT_EQ(control, x.node);
  EXPECT_EQ(Error(millstream_node_add_control_input(graph(), y.node, 5)).code, kInvalidArgument);
}

TEST_F(GraphTest, OnlyMergesTakeBackEdges) {
  const millstream_output x = Placeholder("x");
  const millstream_output y = Add("Neg", "y", {{x}});
  const millstream_output next = Add("NextIteration", "next", {{y}});
  const millstream_output merge = Add("Merge", "merge", {{x, x}});
  ExpectOk(millstream_node_set_back_edge(graph(), merge.node, 1, next.node));
  EXPECT_EQ(millstream_node_input(graph(), merge.node, 1).node, next.node);
  EXPECT_EQ(Error(millstream_node_set_back_edge(graph(), y.node, 0, next.node)).code,
            kInvalidArgument);
  EXPECT_EQ(Error(millstream_node_set_back_edge(graph(), merge.node, 1, 99)).code,
            kInvalidArgument);
}

TEST_F(GraphTest, ExportAndImport) {
  Add("Neg", "y", {{Placeholder("x")}});
  millstream_bytes bytes;
  ExpectOk(millstream_graph_export(graph(), 0, &bytes));
  const std::string def = Take(bytes);

  const GraphHandle copy(millstream_graph_new());
  const char* returned = "y:0";
  millstream_output y;
  ExpectOk(millstream_graph_import(copy.get(), def.data(), def.size(), nullptr, 0, "", "load.py:2",
                                   nullptr, nullptr, 0, &returned, 1, &y));
  EXPECT_STREQ(millstream_node_source(copy.get(), y.node), "load.py:2");
  EXPECT_STREQ(millstream_node_name(copy.get(), y.node), "y");
  EXPECT_EQ(millstream_graph_producer(copy.get()), millstream_graph_producer(graph()));

  const char* replaced = "x";
  const millstream_output by = {0, 0};
  ExpectOk(millstream_graph_import(copy.get(), def.data(), def.size(), nullptr, 99, "again", "",
                                   &replaced, &by, 1, &returned, 1, &y));
  EXPECT_STREQ(millstream_node_name(copy.get(), y.node), "again/y");
  EXPECT_EQ(millstream_node_input(copy.get(), y.node, 0).node, 0);

  const Error error = millstream_graph_import(copy.get(), def.data(), def.size() - 1, nullptr, 0,
                                              "cut", "", nullptr, nullptr, 0, nullptr, 0, nullptr);
  EXPECT_EQ(error.code, kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr(std::to_string(def.size() - 1) + " bytes"));
}

TEST_F(GraphTest, ProducerMayBeSet) {
  millstream_graph_set_producer(graph(), 21);
  EXPECT_EQ(millstream_graph_producer(graph()), 21);
}

TEST_F(GraphTest, GradientsAreAddedBelowTheScope) {
  const millstream_output x = Placeholder("x");
  const millstream_output other = Placeholder("other");
  const millstream_output y = Add("Square", "y", {{x}});
  const millstream_output xs[] = {x, other};
  const millstream_output none = {-1, 0};
  millstream_gradient gradients[2];
  millstream_bytes made;
  ExpectOk(millstream_graph_gradients(graph(), &y, 1, xs, 2, &none, nullptr, 0, 0, "gradients",
                                      "model.py:9", nullptr, gradients, &made));
  std::vector<int32_t> numbers(made.size / sizeof(int32_t));
  std::memcpy(numbers.data(), made.data, made.size);
  millstream_bytes_free(&made);
  EXPECT_THAT(numbers, Contains(gradients[0].values.node));
  EXPECT_THAT(numbers, Each(Gt(y.node)));
  ASSERT_GE(gradients[0].values.node, 0);
  EXPECT_EQ(gradients[0].indices.node, -1);
  const std::string name = millstream_node_name(graph(), gradients[0].values.node);
  EXPECT_EQ(name.rfind("gradients/", 0), 0) << name;
  EXPECT_STREQ(millstream_node_source(graph(), gradients[0].values.node), "model.py:9");
  EXPECT_EQ(gradients[1].values.node, -1);

  const millstream_output missing = {77, 0};
  EXPECT_EQ(Error(millstream_graph_gradients(graph(), &missing, 1, xs, 2, nullptr, nullptr, 0, 0,
                                             "g", "", nullptr, gradients, nullptr))
                .code,
            kInvalidArgument);
}

TEST_F(GraphTest, FrontEndHasGradientFunctionsOfItsOwn) {
  const millstream_output x = Placeholder("x");
  const millstream_output none = {-1, 0};
  const auto differentiate = [&](const char* name, FrontEnd* front_end, millstream_gradient* out) {
    const AttrsHandle attrs(millstream_attrs_new());
    millstream_attrs_set_string(attrs.get(), "_gradient_op_type", name, std::strlen(name));
    const millstream_output y = Add("Floor", name, {{x}}, attrs.get());
    const millstream_gradient_functions functions = {&FrontEnd::Differentiate, front_end};
    return Error(millstream_graph_gradients(graph(), &y, 1, &x, 1, &none, nullptr, 0, 0, "g", "",
                                            &functions, out, nullptr));
  };
  FrontEnd front_end{this};
  millstream_gradient gradient;
  EXPECT_EQ(differentiate("Twice", &front_end, &gradient).code, 0);
  EXPECT_STREQ(millstream_node_name(graph(), front_end.node), "Twice");
  EXPECT_STREQ(millstream_node_name(graph(), gradient.values.node), "g/Twice_grad/sum");
  EXPECT_EQ(differentiate("Broken", &front_end, &gradient).code, 2);
  const Error missing = differentiate("Missing", &front_end, &gradient);
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.message, HasSubstr("no gradient function is registered for op Missing"));
}

TEST(GradientTest, OpsThatAreNotDifferentiableHaveTheirGradient) {
  EXPECT_NE(millstream_has_gradient("Square"), 0);
  EXPECT_NE(millstream_has_gradient("Floor"), 0);
  EXPECT_EQ(millstream_has_gradient("Twice"), 0);
}

}  // namespace
}  // namespace millstream::c_api
