// Gradients of ops that plugins registered: what they may do, and the nodes that they add.
#include "core/gradients/plugin_gradient.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/gradients/gradients.h"
#include "framework/op_registry.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/registrar.h"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// What the gradient of GradTwo does; set by each test.
std::function<ms::Status(ms::GradientContext&)> gradient_function;
ms::Status CallGradient(ms::GradientContext& context) { return gradient_function(context); }
ms::Status SameShapes(ms::ShapeContext& context) {
  MS_TRY(context.SetOutput(0, context.input(0)));
  return context.SetOutput(1, context.input(1));
}

// The gradient of GradRaw, in C: a Neg of the input, after each test's change to it.
std::function<void(MS_NodeDef*)> change_node;
MS_Status* AddChangedNode(void*, MS_GradCtx* ctx) {
  const MS_GradApi& api = *ms::host_tables.grad;
  const MS_Ref input = api.input(ctx, 0);
  MS_NodeDef node = {};
  node.head.size = sizeof(node);
  node.op = ms::ToAbi("Neg");
  node.inputs = &input;
  node.n_inputs = 1;
  change_node(&node);
  MS_Ref negative = 0;
  uint64_t n = 1;
  if (MS_Status* const failed = api.add_node(ctx, &node, &negative, &n)) return failed;
  return api.set_dx(ctx, 0, negative);
}

void RegisterOps() {
  RegisterStubInterfaces();
  ASSERT_TRUE(ms::BindHost(HostBase()).ok());
  MS_Registrar registrar("acme", OpRegistry::Global());
  registrar.prefixes = {"grad"};
  ASSERT_TRUE(ms::OpDefinition("GradTwo")
                  .Input("a: T")
                  .Input("b: T")
                  .Output("y: T")
                  .Output("z: T")
                  .Attr("T: {float, double, half}")
                  .Attr("axis: int = 1")
                  .Shape(&SameShapes)
                  .Gradient(&CallGradient)
                  .RegisterWith(&registrar)
                  .ok());
  ASSERT_TRUE(ms::OpDefinition("GradNone")
                  .Input("a: float")
                  .Output("y: float")
                  .NotDifferentiable()
                  .RegisterWith(&registrar)
                  .ok());
  ASSERT_TRUE(ms::OpDefinition("GradMissing")
                  .Input("a: float")
                  .Output("y: float")
                  .RegisterWith(&registrar)
                  .ok());
  ASSERT_TRUE(ms::OpDefinition("GradRaw")
                  .Input("a: float")
                  .Output("y: float")
                  .RegisterWith(&registrar)
                  .ok());
  ASSERT_EQ(ms::host_tables.registry->gradient_register(&registrar, ms::ToAbi("GradRaw"),
                                                        &AddChangedNode, nullptr),
            nullptr);
  KernelRegistry kernels;
  ASSERT_TRUE(CommitRegistrations(&registrar, OpRegistry::Global(), &kernels, nullptr).ok());
}

class PluginGradientTest : public ::testing::Test {
 protected:
  PluginGradientTest() : builder_(&graph_, "") {}
  static void SetUpTestSuite() { RegisterOps(); }

  Output Placeholder(const char* name, DataType dtype) {
    NodeSpec spec;
    spec.name = name;
    spec.op = "Placeholder";
    SetAttr(&spec.attrs, "dtype", dtype);
    SetAttr(&spec.attrs, "shape", PartialShape({2, -1}));
    return (*graph_.AddNode(spec))->output(0);
  }
  // The gradients of output 0 of a GradTwo by its inputs, with what it is after.
  StatusOr<std::vector<Gradient>> Add(std::function<ms::Status(ms::GradientContext&)> function,
                                      DataType dtype = DataType::kFloat) {
    gradient_function = std::move(function);
    const Output a = Placeholder("a", dtype);
    const Output b = Placeholder("b", dtype);
    node_ = builder_.NodeOf("GradTwo", {a, b}, {{"axis", 0}});
    return AddGradients(&graph_, {node_->output(0)}, {a, b}, {}, GradientOptions());
  }
  std::string ErrorOf(std::function<ms::Status(ms::GradientContext&)> function) {
    return std::string(Add(std::move(function)).status().message());
  }

  std::string ErrorOfNode(std::function<void(MS_NodeDef*)> change) {
    change_node = std::move(change);
    const std::string name = absl::StrCat("x", ++num_errors_);
    const Output a = Placeholder(name.c_str(), DataType::kFloat);
    const Node* const node = builder_.NodeOf("GradRaw", {a});
    return std::string(
        AddGradients(&graph_, {node->output(0)}, {a}, {}, GradientOptions()).status().message());
  }

  Graph graph_;
  GraphBuilder builder_;
  const Node* node_ = nullptr;
  int num_errors_ = 0;  // asked for by ErrorOfNode
};

TEST_F(PluginGradientTest, SeesTheNodeAndWhatHasCome) {
  const auto gradients = Add([&](ms::GradientContext& context) -> ms::Status {
    EXPECT_EQ(context.info().op(), "GradTwo");
    EXPECT_EQ(context.info().node_name(), "GradTwo");
    int64_t axis = -1;
    MS_TRY(context.info().Attr("axis", &axis));
    EXPECT_EQ(axis, 0);
    EXPECT_TRUE(context.has_dy(0));
    EXPECT_FALSE(context.has_dy(1));
    EXPECT_FALSE(context.has_dy(2));
    EXPECT_EQ(context.input(2), 0u);
    EXPECT_EQ(context.output(2), 0u);
    EXPECT_EQ(context.dtype(context.input(0)), MS_FLOAT32);
    MS_Dims dims{};
    MS_TRY(context.Dims(context.output(1), &dims));
    EXPECT_EQ(dims.rank, 2u);
    EXPECT_EQ(dims.d[0], 2);
    EXPECT_EQ(dims.d[1], -1);
    MS_TRY(context.SetDx(0, context.dy(0)));
    return context.SetDx(1, context.dy(1));
  });
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ((*gradients)[1].values.node->op().name, "ZerosLike");
  EXPECT_EQ((*gradients)[1].values.node->input(0), node_->output(1));
}

TEST_F(PluginGradientTest, AddsNodesBelowItsScopeWithAttributes) {
  const auto gradients = Add([](ms::GradientContext& context) -> ms::Status {
    const MS_Ref joined =
        context.Ops("ConcatV2", {context.input(0), context.input(1), context.Scalar<int32_t>(1)},
                    {2, 1}, {}, {}, 1)[0];
    const MS_Ref sum =
        context.Op("Sum", {joined, context.Scalar<int32_t>(1)}, {{"keep_dims", "true"}});
    const MS_Ref copied = context.Op("GradTwo", {sum, sum}, {}, {"axis"});
    MS_TRY(context.SetDx(0, copied));
    return context.SetDx(1, 0);
  });
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const Node& copied = *(*gradients)[0].values.node;
  EXPECT_EQ(copied.name(), "gradients/GradTwo_grad/GradTwo");
  EXPECT_EQ(*copied.Attr<int64_t>("axis"), 0);
  EXPECT_TRUE(*copied.input(0).node->Attr<bool>("keep_dims"));
  EXPECT_EQ(copied.input(0).node->input(0).node->num_inputs(), 3);
  EXPECT_TRUE((*gradients)[1].is_none());
}

TEST_F(PluginGradientTest, ScalarsHaveTheTypeThatIsAskedFor) {
  const auto gradients = Add(
      [](ms::GradientContext& context) {
        return context.SetDx(
            0, context.Op("Mul", {context.ScalarLike(context.input(0), 3), context.dy(0)}));
      },
      DataType::kHalf);
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_EQ((*gradients)[0].values.dtype(), DataType::kHalf);
}

TEST_F(PluginGradientTest, AGradientMayBeRows) {
  const auto gradients = Add([](ms::GradientContext& context) {
    return context.SetDxRows(0, context.dy(0), context.Scalar<int32_t>(0),
                             context.Op("Shape", {context.input(0)}));
  });
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  EXPECT_TRUE((*gradients)[0].is_slices());
}

TEST_F(PluginGradientTest, ErrorsNameTheNode) {
  const std::string where = "in the gradient of node 'GradTwo' (op GradTwo): ";
  EXPECT_EQ(ErrorOf([](ms::GradientContext&) { return ms::InvalidArgument("no such mode"); }),
            where + "no such mode");
}

TEST_F(PluginGradientTest, ThrownExceptionsAreErrors) {
  EXPECT_THAT(ErrorOf([](ms::GradientContext&) -> ms::Status {
                throw std::runtime_error("thrown by the gradient");
              }),
              HasSubstr("thrown by the gradient"));
}

TEST_F(PluginGradientTest, TheFirstErrorStaysThoughTheFunctionGoesOn) {
  EXPECT_THAT(ErrorOf([](ms::GradientContext& context) -> ms::Status {
                const MS_Ref bad = context.Op("NoSuchOp", {context.input(0)});
                EXPECT_EQ(bad, 0u);
                context.Op("Neg", {bad});
                return ms::Status();
              }),
              HasSubstr("Op type not registered 'NoSuchOp'"));
}

TEST_F(PluginGradientTest, WhatIsNoTensorIsRefused) {
  EXPECT_THAT(ErrorOf([](ms::GradientContext& context) { return context.SetDx(0, 99); }),
              HasSubstr("gave no tensor for the gradient of input 0"));
}
TEST_F(PluginGradientTest, WhatIsNoInputIsRefused) {
  EXPECT_THAT(ErrorOf([](ms::GradientContext& context) { return context.SetDx(2, 0); }),
              HasSubstr("set the gradient of input 2 of 2"));
}
constexpr char kOfAcme[] = "in the gradient of node 'GradTwo' (op GradTwo): plugin acme: ";

TEST_F(PluginGradientTest, AGradientOfAnotherTypeThanItsInputIsRefused) {
  EXPECT_EQ(
      ErrorOf([](ms::GradientContext& context) {
        return context.SetDx(1, context.Op("Cast", {context.dy(0)}, {{"DstT", "DT_DOUBLE"}}));
      }),
      absl::StrCat(kOfAcme, "the gradient of input 1 must be float32[2,?], got float64[2,?]"));
}
TEST_F(PluginGradientTest, AGradientOfAnotherShapeThanItsInputIsRefused) {
  EXPECT_EQ(
      ErrorOf([](ms::GradientContext& context) {
        return context.SetDx(0, context.Op("Sum", {context.dy(0), context.Scalar<int32_t>(0)}));
      }),
      absl::StrCat(kOfAcme, "the gradient of input 0 must be float32[2,?], got float32[?]"));
}
TEST_F(PluginGradientTest, RowsOfAnotherShapeThanTheInputsAreRefused) {
  EXPECT_EQ(
      ErrorOf([](ms::GradientContext& context) {
        const MS_Ref cube = context.Op("ExpandDims", {context.dy(0), context.Scalar<int32_t>(0)});
        return context.SetDxRows(0, cube, context.Scalar<int32_t>(0),
                                 context.Op("Shape", {context.input(0)}));
      }),
      absl::StrCat(kOfAcme,
                   "the gradient of input 0 must be rows of float32[2,?], got rows "
                   "float32[1,2,?]"));
}
TEST_F(PluginGradientTest, IndicesOfRowsAreIntegers) {
  EXPECT_EQ(ErrorOf([](ms::GradientContext& context) {
              return context.SetDxRows(0, context.dy(0), context.Scalar<float>(0),
                                       context.Op("Shape", {context.input(0)}));
            }),
            absl::StrCat(kOfAcme, "the indices of the gradient of input 0 must be int32 or int64, ",
                         "got float32"));
}
TEST_F(PluginGradientTest, CountsMustFitTheInputs) {
  EXPECT_THAT(ErrorOf([](ms::GradientContext& context) -> ms::Status {
                context.Ops("AddN", {context.input(0)}, {2}, {}, {}, 1);
                return ms::Status();
              }),
              HasSubstr("node of op AddN: the counts of the arguments do not make 1 inputs"));
}
TEST_F(PluginGradientTest, AttributesThatCannotBeReadAreNamed) {
  EXPECT_THAT(ErrorOf([](ms::GradientContext& context) -> ms::Status {
                context.Op("Sum", {context.input(0), context.Scalar<int32_t>(1)},
                           {{"keep_dims", "perhaps"}});
                return ms::Status();
              }),
              HasSubstr("node of op Sum: attribute \"keep_dims\""));
}

TEST_F(PluginGradientTest, WhatIsNotThereIsNotRead) {
  EXPECT_EQ(ErrorOfNode([](MS_NodeDef*) {}), "");
  EXPECT_THAT(ErrorOfNode([](MS_NodeDef* node) { node->inputs = nullptr; }),
              HasSubstr("MS_NodeDef.inputs: 1 items, and the array is null"));
  EXPECT_THAT(ErrorOfNode([](MS_NodeDef* node) { node->n_inputs = uint64_t{1} << 60; }),
              HasSubstr("MS_NodeDef.inputs: 1152921504606846976 items"));
  EXPECT_THAT(ErrorOfNode([](MS_NodeDef* node) { node->op.data = nullptr; }),
              HasSubstr("MS_NodeDef.op has 3 bytes, and its data is null"));
  EXPECT_THAT(ErrorOfNode([](MS_NodeDef* node) { node->name = ms::ToAbi("\xff"); }),
              HasSubstr("MS_NodeDef.name is no UTF-8 text"));
  EXPECT_THAT(ErrorOfNode([](MS_NodeDef* node) { node->n_attrs = 2; }),
              HasSubstr("MS_NodeDef.attrs: 2 items, and the array is null"));
  EXPECT_THAT(ErrorOfNode([](MS_NodeDef* node) { node->n_copied_attrs = 2; }),
              HasSubstr("MS_NodeDef.copied_attrs: 2 items, and the array is null"));
  static const MS_KV attr = {ms::ToAbi("T"), {nullptr, 9}};
  EXPECT_THAT(
      ErrorOfNode([](MS_NodeDef* node) {
        node->attrs = &attr;
        node->n_attrs = 1;
      }),
      HasSubstr("the value of an attribute of MS_NodeDef has 9 bytes, and its data is null"));
}

TEST_F(PluginGradientTest, OpsAreDifferentiableAsTheirPluginsSay) {
  const std::vector<std::string> ops = DifferentiableOps();
  EXPECT_THAT(ops, Contains("GradTwo"));
  EXPECT_THAT(ops, Not(Contains("GradNone")));
  EXPECT_TRUE(std::is_sorted(ops.begin(), ops.end()));
  ASSERT_TRUE(FindGradient("GradNone").ok());
  EXPECT_EQ(*FindGradient("GradNone"), nullptr);
  EXPECT_EQ(FindGradient("GradMissing").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace millstream
