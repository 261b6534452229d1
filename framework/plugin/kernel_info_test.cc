#include "framework/plugin/kernel_info.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/op_registry.h"
#include "framework/plugin/host_status.h"
#include "framework/plugin/option_values.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A node of an op with an argument of every kind and attributes of most.
class KernelInfoTest : public ::testing::Test {
 protected:
  KernelInfoTest() {
    op_ = OpSpec("Everything")
              .Input("x: T")
              .Input("more: N * T")
              .Output("y: T")
              .Output("mixed: Tlist")
              .Attr("T: type")
              .Attr("N: int")
              .Attr("Tlist: list(type)")
              .Attr("rate: float")
              .Attr("on: bool")
              .Attr("mode: string")
              .Attr("shape: shape")
              .Attr("value: tensor")
              .Attr("ints: list(int)")
              .Attr("floats: list(float)")
              .Attr("texts: list(string)")
              .Attr("shapes: list(shape)")
              .Build()
              .value();
    SetAttr(&attrs_, "T", DataType::kFloat);
    SetAttr(&attrs_, "N", 3);
    SetAttr(&attrs_, "Tlist", DataTypeList{DataType::kInt32, DataType::kString});
    SetAttr(&attrs_, "rate", 0.5f);
    SetAttr(&attrs_, "on", true);
    SetAttr(&attrs_, "mode", "SAME");
    SetAttr(&attrs_, "shape", PartialShape({2, -1}));
    SetAttr(&attrs_, "value", Tensor::Scalar<float>(4));
    SetAttr(&attrs_, "ints", std::vector<int64_t>{1, 2, 1});
    SetAttr(&attrs_, "floats", AttrValue::Empty());
    SetAttr(&attrs_, "texts", std::vector<std::string>{"a", "bc"});
    SetAttr(&attrs_, "shapes", std::vector<PartialShape>{PartialShape({5}), PartialShape()});
    signature_ = ExpandSignature(op_, attrs_).value();
  }

  // The outcome's message; empty for success.
  static std::string Message(MS_Status* status) {
    return std::string(TakeAbiStatus(status).message());
  }

  OpDef op_;
  AttrMap attrs_;
  NodeSignature signature_;
  const OpCall call_{&op_, &attrs_, &signature_, "scope/node"};
  MS_KernelInfo info_{call_, "/device:CPU:0"};
  const MS_KernelApi* api_ = reinterpret_cast<const MS_KernelApi*>(KernelInterface());
};

TEST_F(KernelInfoTest, NamesAndTypesOfTheNode) {
  EXPECT_EQ(FromAbi(api_->op_type(&info_)), "Everything");
  EXPECT_EQ(FromAbi(api_->node_name(&info_)), "scope/node");
  EXPECT_EQ(FromAbi(api_->device_name(&info_)), "/device:CPU:0");
  EXPECT_EQ(api_->num_inputs(&info_), 4u);
  EXPECT_EQ(api_->num_outputs(&info_), 3u);
  EXPECT_EQ(api_->input_dtype(&info_, 3), MS_FLOAT32);
  EXPECT_EQ(api_->output_dtype(&info_, 1), MS_INT32);
  EXPECT_EQ(api_->output_dtype(&info_, 2), MS_STRING);
  EXPECT_EQ(api_->output_dtype(&info_, 3), 0u);
}

TEST_F(KernelInfoTest, ArgumentsTakeRanges) {
  uint32_t begin = 9, end = 9;
  ASSERT_EQ(api_->input_range(&info_, ToAbi("more"), &begin, &end), nullptr);
  EXPECT_EQ(begin, 1u);
  EXPECT_EQ(end, 4u);
  ASSERT_EQ(api_->output_range(&info_, ToAbi("mixed"), &begin, &end), nullptr);
  EXPECT_EQ(begin, 1u);
  EXPECT_EQ(end, 3u);
  EXPECT_THAT(Message(api_->input_range(&info_, ToAbi("y"), &begin, &end)),
              HasSubstr("op Everything has no argument \"y\""));
}

TEST_F(KernelInfoTest, KindsOfAttributes) {
  const auto kind = [this](const char* name) { return api_->attr_kind(&info_, ToAbi(name)); };
  EXPECT_EQ(kind("N"), MS_ATTR_I64);
  EXPECT_EQ(kind("rate"), MS_ATTR_F32);
  EXPECT_EQ(kind("on"), MS_ATTR_BOOL);
  EXPECT_EQ(kind("mode"), MS_ATTR_STR);
  EXPECT_EQ(kind("T"), MS_ATTR_DTYPE);
  EXPECT_EQ(kind("shape"), MS_ATTR_SHAPE);
  EXPECT_EQ(kind("value"), MS_ATTR_TENSOR);
  EXPECT_EQ(kind("ints"), MS_ATTR_LIST | MS_ATTR_I64);
  EXPECT_EQ(kind("floats"), MS_ATTR_LIST | MS_ATTR_F32) << "empty: the definition tells";
  EXPECT_EQ(kind("absent"), MS_ATTR_NONE);
}

TEST_F(KernelInfoTest, ScalarAttributes) {
  int64_t number = 0;
  EXPECT_EQ(api_->attr_i64(&info_, ToAbi("N"), &number), nullptr);
  EXPECT_EQ(number, 3);
  float rate = 0;
  EXPECT_EQ(api_->attr_f32(&info_, ToAbi("rate"), &rate), nullptr);
  EXPECT_EQ(rate, 0.5f);
  uint8_t on = 0;
  EXPECT_EQ(api_->attr_bool(&info_, ToAbi("on"), &on), nullptr);
  EXPECT_EQ(on, 1);
  MS_Str mode = {};
  EXPECT_EQ(api_->attr_str(&info_, ToAbi("mode"), &mode), nullptr);
  EXPECT_EQ(FromAbi(mode), "SAME");
  MS_DType dtype = 0;
  EXPECT_EQ(api_->attr_dtype(&info_, ToAbi("T"), &dtype), nullptr);
  EXPECT_EQ(dtype, MS_FLOAT32);
  MS_Dims shape = {};
  EXPECT_EQ(api_->attr_shape(&info_, ToAbi("shape"), &shape), nullptr);
  EXPECT_THAT(std::vector<int64_t>(shape.d, shape.d + shape.rank), ElementsAre(2, -1));
  MS_TensorView value = {};
  EXPECT_EQ(api_->attr_tensor(&info_, ToAbi("value"), &value), nullptr);
  EXPECT_EQ(*static_cast<float*>(value.mem.base), 4);
  EXPECT_EQ(value.flags, MS_VIEW_HOST | MS_VIEW_CONST);
}

TEST_F(KernelInfoTest, ListAttributesStayValid) {
  uint64_t n = 9;
  const int64_t* ints = nullptr;
  ASSERT_EQ(api_->attr_i64_list(&info_, ToAbi("ints"), &ints, &n), nullptr);
  EXPECT_THAT(std::vector<int64_t>(ints, ints + n), ElementsAre(1, 2, 1));
  const float* floats = nullptr;
  ASSERT_EQ(api_->attr_f32_list(&info_, ToAbi("floats"), &floats, &n), nullptr);
  EXPECT_EQ(n, 0u);
  const MS_Str* texts = nullptr;
  ASSERT_EQ(api_->attr_str_list(&info_, ToAbi("texts"), &texts, &n), nullptr);
  ASSERT_EQ(n, 2u);
  const MS_DType* dtypes = nullptr;
  ASSERT_EQ(api_->attr_dtype_list(&info_, ToAbi("Tlist"), &dtypes, &n), nullptr);
  EXPECT_THAT(std::vector<MS_DType>(dtypes, dtypes + n), ElementsAre(MS_INT32, MS_STRING));
  const MS_Dims* shapes = nullptr;
  ASSERT_EQ(api_->attr_shape_list(&info_, ToAbi("shapes"), &shapes, &n), nullptr);
  ASSERT_EQ(n, 2u);
  EXPECT_EQ(shapes[0].d[0], 5);
  EXPECT_EQ(shapes[1].rank, MS_UNKNOWN_RANK);
  EXPECT_EQ(FromAbi(texts[1]), "bc") << "kept while other lists were asked for";
}

TEST_F(KernelInfoTest, FunctionsAndListsOfTruthsTensorsAndFunctions) {
  SetAttr(&attrs_, "body", FunctionRef{"Body", nullptr});
  SetAttr(&attrs_, "bodies", std::vector<FunctionRef>{{"A", nullptr}, {"B", nullptr}});
  SetAttr(&attrs_, "truths", std::vector<bool>{true, false, true});
  SetAttr(&attrs_, "tensors", std::vector<Tensor>{Tensor::Scalar<int32_t>(5)});
  SetAttr(&attrs_, "none", AttrValue::Empty());
  MS_Str name = {};
  ASSERT_EQ(api_->attr_func(&info_, ToAbi("body"), &name), nullptr);
  EXPECT_EQ(FromAbi(name), "Body");
  const MS_Str* names = nullptr;
  uint64_t n = 9;
  ASSERT_EQ(api_->attr_func_list(&info_, ToAbi("bodies"), &names, &n), nullptr);
  ASSERT_EQ(n, 2u);
  const uint8_t* truths = nullptr;
  ASSERT_EQ(api_->attr_bool_list(&info_, ToAbi("truths"), &truths, &n), nullptr);
  EXPECT_THAT(std::vector<int>(truths, truths + n), ElementsAre(1, 0, 1));
  const MS_TensorView* tensors = nullptr;
  ASSERT_EQ(api_->attr_tensor_list(&info_, ToAbi("tensors"), &tensors, &n), nullptr);
  ASSERT_EQ(n, 1u);
  EXPECT_EQ(*static_cast<int32_t*>(tensors[0].mem.base), 5);
  EXPECT_NE(tensors[0].flags & MS_VIEW_CONST, 0u);
  ASSERT_EQ(api_->attr_bool_list(&info_, ToAbi("none"), &truths, &n), nullptr);
  EXPECT_EQ(n, 0u);
  EXPECT_EQ(FromAbi(names[1]), "B");
  EXPECT_FALSE(TakeAbiStatus(api_->attr_func(&info_, ToAbi("N"), &name)).ok());
}

TEST_F(KernelInfoTest, AllAttributesAreCounted) {
  SetAttr(&attrs_, "_free", 1);
  std::vector<std::string> names;
  for (uint64_t i = 0; i < api_->attr_count(&info_); ++i) {
    names.emplace_back(FromAbi(api_->attr_name(&info_, i)));
  }
  EXPECT_EQ(names.size(), attrs_.size());
  EXPECT_THAT(names, ::testing::Contains("_free"));
  EXPECT_THAT(names, ::testing::Contains("mode"));
  EXPECT_EQ(api_->attr_name(&info_, names.size()).size, 0u);
}

TEST_F(KernelInfoTest, TheDigestIsOfWhatTheNodeDoes) {
  const uint64_t digest = api_->node_digest(&info_);
  const MS_KernelInfo renamed({&op_, &attrs_, &signature_, "other"}, "/device:CPU:1");
  EXPECT_EQ(api_->node_digest(&renamed), digest);
  std::vector<uint64_t> digests = {digest};
  const auto differs = [&](const char* name, AttrValue value) {
    AttrMap changed = attrs_;
    SetAttr(&changed, name, std::move(value));
    const MS_KernelInfo info({&op_, &changed, &signature_, "scope/node"}, "/device:CPU:0");
    EXPECT_THAT(digests, ::testing::Not(::testing::Contains(api_->node_digest(&info)))) << name;
    digests.push_back(api_->node_digest(&info));
  };
  differs("N", 4);
  differs("rate", -0.0f);
  differs("rate", 0.0f);
  differs("on", false);
  differs("on", 1);
  differs("mode", "VALID");
  differs("shape", PartialShape({2}));
  differs("shape", PartialShape());
  differs("value", Tensor::Scalar<float>(5));
  differs("value", Tensor::Vector<float>({4}));
  differs("value", Tensor::Scalar<std::string>("ab"));
  differs("ints", std::vector<int64_t>{1, 2});
  differs("ints", AttrValue::Empty());
  differs("texts", std::vector<std::string>{"ab", "c"});
  differs("texts", std::vector<std::string>{"a", "b", "c"});
  differs("texts", std::vector<bool>{true});
  differs("body", FunctionRef{"Body", std::make_shared<AttrMap>(attrs_)});
  differs("body", FunctionRef{"Body", nullptr});
}

TEST_F(KernelInfoTest, OptionsAreThoseOfThePluginWhoseKernelItIs) {
  SetOptionValues("acme", {{"level", "3"}});
  const MS_KernelInfo info(call_, "d", "acme");
  MS_Str value = {};
  ASSERT_EQ(api_->option_get(&info, ToAbi("level"), &value), nullptr);
  SetOptionValues("acme", {{"level", "4"}});
  EXPECT_EQ(FromAbi(value), "3") << "what was given out stays";
  EXPECT_EQ(Message(api_->option_get(&info, ToAbi("mode"), &value)),
            "plugin acme was given no option \"mode\"");
  EXPECT_FALSE(TakeAbiStatus(api_->option_get(&info_, ToAbi("level"), &value)).ok());
}

TEST_F(KernelInfoTest, ErrorsNameNodeAndAttribute) {
  int64_t number = 0;
  Status status = TakeAbiStatus(api_->attr_i64(&info_, ToAbi("absent"), &number));
  EXPECT_EQ(status, errors::NotFound("node scope/node (Everything) has no attribute \"absent\""));
  status = TakeAbiStatus(api_->attr_i64(&info_, ToAbi("rate"), &number));
  EXPECT_EQ(status,
            errors::InvalidArgument("node scope/node (Everything): attribute \"rate\" is float, "
                                    "its kernel expects int"));
  EXPECT_EQ(TakeAbiStatus(api_->attr_i64(&info_, ToAbi("floats"), &number)).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace millstream
