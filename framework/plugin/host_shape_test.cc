// Shape functions of plugins, through the C++ layer.
#include "framework/plugin/host_shape.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/op_registry.h"
#include "framework/plugin/host_interfaces.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/op_registration.h"
#include "framework/plugin/plugin_entry.hpp"
#include "framework/plugin/registrar.h"
#include "framework/plugin/testing/stub_interfaces.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

// What the op's shape function does; set by each test.
std::function<ms::Status(ms::ShapeContext&)> shape_function;
ms::Status CallShape(ms::ShapeContext& context) { return shape_function(context); }

class HostShapeTest : public ::testing::Test {
 protected:
  HostShapeTest() {
    RegisterStubInterfaces();
    const ms::Status bound = ms::BindHost(HostBase());
    EXPECT_TRUE(bound.ok()) << bound.message();
    MS_Registrar registrar("test", &ops_);
    const ms::Status registered = ms::OpDefinition("TestOp")
                                      .Input("x: T")
                                      .Input("sizes: int32")
                                      .Input("handle: resource")
                                      .Output("y: T")
                                      .Output("made: resource")
                                      .Attr("T: {float, double}")
                                      .Attr("axis: int = 1")
                                      .Shape(&CallShape)
                                      .RegisterWith(&registrar);
    EXPECT_TRUE(registered.ok()) << registered.message();
    op_ = registrar.new_ops.at(0);
    SetAttr(&attrs_, "T", DataType::kFloat);
    SetAttr(&attrs_, "axis", 1);
    signature_ = ExpandSignature(op_, attrs_).value();
  }

  Status Infer(const PartialShape& x, std::function<ms::Status(ms::ShapeContext&)> function) {
    shape_function = std::move(function);
    std::vector<InputFacts> inputs(3);
    inputs[0].shape = x;
    inputs[0].dtype = DataType::kFloat;
    inputs[1].dtype = DataType::kInt32;
    inputs[1].shape = PartialShape::Vector(2);
    if (constant_.has_value()) inputs[1].constant = &constant_;
    if (partial_.has_value()) inputs[1].partial_value = &*partial_;
    inputs[2].dtype = DataType::kResource;
    inputs[2].handle = handle_.has_value() ? &*handle_ : nullptr;
    ShapeContext context({&op_, &attrs_, &signature_, ""}, inputs);
    StatusOr<std::vector<OutputFacts>> outputs = InferShapes(&context);
    MS_RETURN_IF_ERROR(outputs.status());
    outputs_ = *std::move(outputs);
    return absl::OkStatus();
  }
  // The shape that `make` says for output 0.
  std::string ShapeOf(const PartialShape& x,
                      std::function<ms::Status(ms::ShapeContext&, ms::PartialShape*)> make) {
    const Status status = Infer(x, [&](ms::ShapeContext& context) -> ms::Status {
      ms::PartialShape shape;
      MS_TRY(make(context, &shape));
      return context.SetOutput(0, shape);
    });
    return status.ok() ? outputs_.at(0).shape.ToString() : std::string(status.message());
  }
  // The size, or the error.
  std::string Size(ms::Status (ms::ShapeContext::*combine)(int64_t, int64_t, int64_t*) const,
                   int64_t a, int64_t b) {
    int64_t size = 0;
    const Status status = Infer(
        PartialShape(), [&](ms::ShapeContext& context) { return (context.*combine)(a, b, &size); });
    return status.ok() ? std::to_string(size) : std::string(status.message());
  }

  OpRegistry ops_;
  OpDef op_;
  AttrMap attrs_;
  NodeSignature signature_;
  Tensor constant_;
  std::optional<PartialValue> partial_;
  std::optional<HandleInfo> handle_;
  std::vector<OutputFacts> outputs_;
};

TEST_F(HostShapeTest, SeesTheNode) {
  const Status status = Infer(PartialShape({2, -1}), [](ms::ShapeContext& context) -> ms::Status {
    EXPECT_EQ(context.num_inputs(), 3u);
    EXPECT_EQ(context.num_outputs(), 2u);
    EXPECT_EQ(context.info().op(), "TestOp");
    EXPECT_EQ(context.info().input_dtype(0), MS_FLOAT32);
    int64_t axis = 0;
    MS_TRY(context.info().Attr("axis", &axis));
    EXPECT_EQ(axis, 1);
    EXPECT_EQ(context.input(0).rank(), 2u);
    EXPECT_EQ(context.input(0).dim(0), 2);
    EXPECT_EQ(context.input(0).dim(-1), -1);
    EXPECT_EQ(context.input(0).dim(2), -1);
    return context.info().Attr("scale", &axis);
  });
  EXPECT_EQ(status, errors::NotFound("op TestOp has no attribute \"scale\""));
}

TEST_F(HostShapeTest, KnownValuesAreSeenAsValuesAndAsShapes) {
  const auto as_shape = [](ms::ShapeContext& context, ms::PartialShape* shape) {
    return context.InputAsShape(1, shape);
  };
  EXPECT_EQ(ShapeOf(PartialShape(), as_shape), "[?,?]");
  partial_ = PartialValue{3, std::nullopt};
  EXPECT_EQ(ShapeOf(PartialShape(), as_shape), "[3,?]");
  constant_ = Tensor::Vector<int32_t>({3, 4});
  EXPECT_EQ(ShapeOf(PartialShape(), as_shape), "[3,4]");
  ASSERT_TRUE(Infer(PartialShape(), [](ms::ShapeContext& context) -> ms::Status {
                ms::View value;
                MS_TRY(context.Constant(1, &value));
                EXPECT_EQ(value.data<int32_t>()[1], 4);
                EXPECT_NE(value.abi().flags & MS_VIEW_CONST, 0u);
                MS_TRY(context.Constant(0, &value));
                EXPECT_TRUE(value.is_null());
                return ms::Status();
              }).ok());
}

TEST_F(HostShapeTest, RanksAreCheckedAndNamed) {
  const auto with_rank = [](uint32_t rank) {
    return [rank](ms::ShapeContext& context, ms::PartialShape* shape) {
      return context.WithRank(context.input(0), rank, shape);
    };
  };
  EXPECT_EQ(ShapeOf(PartialShape(), with_rank(2)), "[?,?]");
  EXPECT_EQ(ShapeOf(PartialShape({2}), with_rank(2)),
            "Shape must be rank 2 but is rank 1 for argument 'x' of TestOp, which has shape [2]");
  const auto made = [](ms::Status (ms::ShapeContext::*check)(ms::PartialShape, uint32_t,
                                                             ms::PartialShape*) const) {
    return [check](ms::ShapeContext& context, ms::PartialShape* shape) -> ms::Status {
      MS_TRY(context.MakeShape({4, 5}, shape));
      return (context.*check)(*shape, 3, shape);
    };
  };
  EXPECT_EQ(ShapeOf(PartialShape(), made(&ms::ShapeContext::WithRankAtMost)), "[4,5]");
  EXPECT_EQ(ShapeOf(PartialShape(), made(&ms::ShapeContext::WithRankAtLeast)),
            "Shape must be at least rank 3 but is rank 2 for TestOp: [4,5]");
  EXPECT_EQ(ShapeOf(PartialShape(), made(&ms::ShapeContext::WithRank)),
            "Shape must be rank 3 but is rank 2 for TestOp: [4,5]");
}

TEST_F(HostShapeTest, ShapesAreCutJoinedAndMerged) {
  const auto part = [](int32_t begin, int32_t end) {
    return [=](ms::ShapeContext& context, ms::PartialShape* shape) {
      return context.Subshape(context.input(0), begin, shape, end);
    };
  };
  const PartialShape x({2, -1, 4});
  EXPECT_EQ(ShapeOf(x, part(1, INT32_MAX)), "[?,4]");
  EXPECT_EQ(ShapeOf(x, part(-3, -1)), "[2,?]");
  EXPECT_EQ(ShapeOf(x, part(0, 0)), "[]");
  EXPECT_EQ(ShapeOf(x, part(2, 1)), "dimensions [2, 1) are no part of shape [2,?,4]");
  EXPECT_EQ(ShapeOf(x, part(0, 4)), "dimensions [0, 4) are no part of shape [2,?,4]");
  EXPECT_EQ(ShapeOf(PartialShape(), part(0, 1)), "<unknown>");
  const auto joined = [](ms::ShapeContext& context, ms::PartialShape* shape) -> ms::Status {
    MS_TRY(context.MakeShape({7}, shape));
    return context.Concatenate(context.input(0), *shape, shape);
  };
  EXPECT_EQ(ShapeOf(x, joined), "[2,?,4,7]");
  EXPECT_EQ(ShapeOf(PartialShape(), joined), "<unknown>");
  const auto merged = [](ms::ShapeContext& context, ms::PartialShape* shape) -> ms::Status {
    MS_TRY(context.MakeShape({-1, 3, 4}, shape));
    return context.Merge(context.input(0), *shape, shape);
  };
  EXPECT_EQ(ShapeOf(x, merged), "[2,3,4]");
  EXPECT_THAT(ShapeOf(PartialShape({2}), merged), HasSubstr("Op: "));
  const auto bad = [](ms::ShapeContext& context, ms::PartialShape* shape) {
    return context.MakeShape({3, -2}, shape);
  };
  EXPECT_THAT(ShapeOf(x, bad), HasSubstr("got -2"));
}

TEST_F(HostShapeTest, SizesAreCombined) {
  EXPECT_EQ(Size(&ms::ShapeContext::AddDims, 3, 4), "7");
  EXPECT_EQ(Size(&ms::ShapeContext::AddDims, 3, -1), "-1");
  EXPECT_THAT(Size(&ms::ShapeContext::AddDims, INT64_MAX, 1), HasSubstr("more than 63 bits"));
  EXPECT_EQ(Size(&ms::ShapeContext::SubtractDims, 3, 3), "0");
  EXPECT_THAT(Size(&ms::ShapeContext::SubtractDims, 3, 4), HasSubstr("Op: size 4 is taken from 3"));
  EXPECT_EQ(Size(&ms::ShapeContext::MultiplyDims, 0, -1), "0");
  EXPECT_EQ(Size(&ms::ShapeContext::MultiplyDims, 2, -1), "-1");
  EXPECT_THAT(Size(&ms::ShapeContext::MultiplyDims, INT64_MAX, 2), HasSubstr("63 bits"));
  EXPECT_EQ(Size(&ms::ShapeContext::DivideDims, 12, 4), "3");
  EXPECT_EQ(Size(&ms::ShapeContext::DivideDims, -1, 4), "-1");
  EXPECT_THAT(Size(&ms::ShapeContext::DivideDims, 12, 5), HasSubstr("12 is no multiple of 5"));
  EXPECT_THAT(Size(&ms::ShapeContext::DivideDims, 12, 0), HasSubstr("divided by 0"));
  EXPECT_EQ(Size(&ms::ShapeContext::MergeDims, -1, 5), "5");
  EXPECT_THAT(Size(&ms::ShapeContext::MergeDims, 4, 5), HasSubstr("must be equal"));
}

TEST_F(HostShapeTest, HandlesCarryWhatIsKnownOfTheirVariables) {
  const auto copy = [](ms::ShapeContext& context) -> ms::Status {
    MS_DType dtype = 0;
    ms::PartialShape shape;
    MS_TRY(context.Handle(2, &dtype, &shape));
    return dtype == 0 ? ms::Status() : context.SetHandle(1, dtype, shape);
  };
  ASSERT_TRUE(Infer(PartialShape(), copy).ok());
  EXPECT_FALSE(outputs_.at(1).handle.has_value());
  handle_ = HandleInfo{DataType::kDouble, PartialShape({5})};
  ASSERT_TRUE(Infer(PartialShape(), copy).ok());
  EXPECT_EQ(outputs_.at(1).handle->dtype, DataType::kDouble);
  EXPECT_EQ(outputs_.at(1).handle->shape, PartialShape({5}));
}

TEST_F(HostShapeTest, PositionsBeyondTheEndAreErrors) {
  const auto message = [&](std::function<ms::Status(ms::ShapeContext&)> function) {
    return std::string(Infer(PartialShape(), std::move(function)).message());
  };
  EXPECT_EQ(message([](ms::ShapeContext& context) { return context.SetOutputDims(2, {1}); }),
            "the shape function of TestOp set output 2 of 2");
  ms::PartialShape shape;
  EXPECT_EQ(message([&](ms::ShapeContext& context) { return context.InputAsShape(3, &shape); }),
            "the shape function of TestOp asked for input 3 of 3");
}

// What ms.shape/1 gives for an input that there is not.
TEST_F(HostShapeTest, NoShapeIsRefusedWhereverOneIsWanted) {
  const auto* const api = reinterpret_cast<const MS_ShapeApi*>(ShapeInterface());
  using Call = std::function<MS_Status*(MS_ShapeCtx*, const MS_Shape*, const MS_Shape**)>;
  const std::vector<std::pair<std::string, Call>> calls = {
      {"set_output", [&](auto* c, auto* none, auto**) { return api->set_output(c, 0, none); }},
      {"handle_set",
       [&](auto* c, auto* none, auto**) { return api->handle_set(c, 1, MS_FLOAT32, none); }},
      {"with_rank",
       [&](auto* c, auto* none, auto** out) { return api->with_rank(c, none, 1, out); }},
      {"merge",
       [&](auto* c, auto* none, auto** out) { return api->merge(c, none, api->unknown(c), out); }},
      {"concat",
       [&](auto* c, auto* none, auto** out) { return api->concat(c, api->unknown(c), none, out); }},
      {"subshape",
       [&](auto* c, auto* none, auto** out) { return api->subshape(c, none, 0, 1, out); }}};
  for (const auto& [name, call] : calls) {
    // Beside the C++ layer, which keeps its context to itself.
    static const Call* current = nullptr;
    current = &call;
    PluginOpFunctions functions;
    functions.shape = [](void* user, MS_ShapeCtx* ctx) -> MS_Status* {
      const auto* const table = static_cast<const MS_ShapeApi*>(user);
      const MS_Shape* const none = table->input(ctx, 99);
      EXPECT_EQ(none, nullptr);
      EXPECT_EQ(table->rank(none), MS_UNKNOWN_RANK);
      EXPECT_EQ(table->dim(none, 0), -1);
      const MS_Shape* out = nullptr;
      return (*current)(ctx, none, &out);
    };
    functions.shape_user = const_cast<MS_ShapeApi*>(api);
    op_.plugin_functions = std::make_shared<PluginOpFunctions>(functions);
    const Status status = Infer(PartialShape(), nullptr);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(status.message(),
              absl::StrCat("plugin test: the shape function of op TestOp called ms.shape/1.", name,
                           " with NULL for a shape; there are 3 inputs"));
  }
}

TEST_F(HostShapeTest, AShapeOfMoreDimensionsThanATensorHasIsRefused) {
  EXPECT_THAT(ShapeOf(PartialShape(),
                      [](ms::ShapeContext& context, ms::PartialShape* shape) {
                        return context.WithRank(context.input(0), 33, shape);
                      }),
              HasSubstr("asked for a shape of rank 33, at most 32 are allowed"));
  EXPECT_THAT(ShapeOf(PartialShape({1}),
                      [](ms::ShapeContext& context, ms::PartialShape* shape) -> ms::Status {
                        *shape = context.input(0);
                        while (true) MS_TRY(context.Concatenate(*shape, *shape, shape));
                      }),
              HasSubstr("a shape of 64 dimensions, at most 32 are allowed"));
}

}  // namespace
}  // namespace millstream
