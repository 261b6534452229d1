// The rules of OpSpec::UpdateBounds against what the kernels compute.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing/session_fixture.h"
#include "framework/numeric_bounds.h"
#include "framework/op_def.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kHuge = std::numeric_limits<float>::max();

// The ops with rules: how many variables they change, and what else they take.
struct Update {
  std::string op;
  int num_variables;
  int num_scalars_before;  // the gradient
  int num_scalars_behind;
  const char* attr;  // null: none
  bool value;
};

BoundsRule RuleOf(const Node* node) {
  const BoundsRuleFunction function = node->op().bounds_rule;
  return function == nullptr ? nullptr : function(node->attrs());
}

std::string NameOf(const ::testing::TestParamInfo<Update>& info) {
  return absl::StrCat(info.param.op, info.param.attr == nullptr ? "" : "WithNesterov");
}

class UpdateBoundsTest : public SessionTest {
 protected:
  static size_t GradientOf(const Update& update) {
    return static_cast<size_t>(update.num_variables + update.num_scalars_before);
  }
  // Of `dtype`, on variables of `size` elements.
  const Node* NodeOf(const Update& update, DataType dtype, int64_t size = 1) {
    std::vector<Output> inputs;
    for (int i = 0; i < update.num_variables; ++i) {
      inputs.push_back(Variable(absl::StrCat("v", num_variables_++), dtype, {size}));
    }
    const auto add_scalars = [&](int count) {
      for (int i = 0; i < count; ++i) inputs.push_back(Fed(dtype, {}));
    };
    add_scalars(update.num_scalars_before);
    inputs.push_back(Fed(dtype, {size}));
    add_scalars(update.num_scalars_behind);
    if (update.attr == nullptr) return build.NodeOf(update.op, inputs);
    return build.NodeOf(update.op, inputs, {{update.attr, update.value}});
  }
  Output Fed(DataType dtype, const PartialShape& shape) {
    return Placeholder(absl::StrCat("x", num_placeholders_++), dtype, shape);
  }

 private:
  int num_variables_ = 0;
  int num_placeholders_ = 0;
};

class OfEachOp : public UpdateBoundsTest, public ::testing::WithParamInterface<Update> {
 protected:
  template <typename T>
  void ExpectBoundsHold();
};

INSTANTIATE_TEST_SUITE_P(
    Op, OfEachOp,
    ::testing::Values(Update{"AssignAddVariableOp", 1, 0, 0, nullptr, false},
                      Update{"AssignSubVariableOp", 1, 0, 0, nullptr, false},
                      Update{"ResourceApplyGradientDescent", 1, 1, 0, nullptr, false},
                      Update{"ResourceApplyMomentum", 2, 1, 1, nullptr, false},
                      Update{"ResourceApplyMomentum", 2, 1, 1, "use_nesterov", true},
                      Update{"ResourceApplyAdagrad", 2, 1, 0, nullptr, false},
                      Update{"ResourceApplyAdam", 3, 6, 0, nullptr, false},
                      Update{"ResourceApplyAdam", 3, 6, 0, "use_nesterov", true}),
    &NameOf);

// Numbers of every size, among them those at the ends of what a float holds.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed) {}
  uint32_t Below(uint32_t end) {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<uint32_t>((uint64_t{state_} * end) >> 32);
  }
  float Next() {
    switch (Below(16)) {
      case 0: return 0;
      case 1: return 1;
      case 2: return Below(2) ? kHuge : -kHuge;
      case 3: return std::numeric_limits<float>::denorm_min();
      default: break;
    }
    const int exponents = Below(4) == 0 ? 120 : 8;
    const float number = std::ldexp(static_cast<float>(1 + Below(1000)) / 1000.0f,
                                    static_cast<int>(Below(2 * exponents + 1)) - exponents);
    return Below(4) == 0 ? -number : number;
  }

 private:
  uint32_t state_;
};

// Tensors of which the first number says how large the others are.
template <typename T>
Tensor TensorAround(T number, int64_t size, Numbers* numbers) {
  std::vector<T> values = {number};
  while (static_cast<int64_t>(values.size()) < size) {
    values.push_back(number * static_cast<T>(numbers->Below(1001)) / 1000);
  }
  return Values<T>(values);
}

template <typename T>
NumericBounds BoundsOfElements(const Tensor& tensor) {
  const std::vector<T> values = Elements<T>(tensor);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {static_cast<double>(*low), static_cast<double>(*high)};
}

// Runs `node` on variables and other inputs of many sizes, and looks whether what it makes of the
// variables is within the bounds.
template <typename T>
void OfEachOp::ExpectBoundsHold() {
  constexpr int64_t kSize = 37;
  const Update& update = GetParam();
  const Node* const node = NodeOf(update, DataTypeOf<T>(), kSize);
  const BoundsRule rule = RuleOf(node);
  ASSERT_NE(rule, nullptr);
  const size_t num_variables = static_cast<size_t>(update.num_variables);
  std::vector<const Node*> assignments;
  std::vector<Output> fed;
  std::vector<Output> reads;
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    const Output& input = node->inputs()[i];
    fed.push_back(i < num_variables ? Fed(DataTypeOf<T>(), {kSize}) : input);
    if (i >= num_variables) continue;
    assignments.push_back(Assign(input, fed.back()));
    reads.push_back(Read(input));
  }
  int num_bounded = 0;
  Numbers numbers(7);
  for (int round = 0; round < 4000; ++round) {
    std::vector<NumericBounds> before;
    std::vector<Feed> feeds;
    for (size_t i = 0; i < fed.size(); ++i) {
      const T number = static_cast<T>(numbers.Next());
      const bool is_scalar = i >= num_variables && i != GradientOf(update);
      const Tensor value =
          is_scalar ? Tensor::Scalar(number) : TensorAround<T>(number, kSize, &numbers);
      before.push_back(BoundsOfElements<T>(value));
      feeds.push_back({fed[i], value});
    }
    const NumericBoundsList after = rule(before);
    if (after.empty()) continue;
    ++num_bounded;
    ASSERT_EQ(after.size(), num_variables);
    const auto behind_variables = feeds.begin() + static_cast<std::ptrdiff_t>(num_variables);
    ASSERT_EQ(Execute(assignments, {feeds.begin(), behind_variables}), absl::OkStatus());
    ASSERT_EQ(Execute({node}, {behind_variables, feeds.end()}), absl::OkStatus());
    const std::vector<Tensor> results = Run(reads).value();
    for (size_t i = 0; i < num_variables; ++i) {
      const NumericBounds result = BoundsOfElements<T>(results[i]);
      ASSERT_GE(result.low, static_cast<T>(after[i].low)) << "variable " << i << ", " << round;
      ASSERT_LE(result.high, static_cast<T>(after[i].high)) << "variable " << i << ", " << round;
    }
  }
  EXPECT_GE(num_bounded, 40);
}

TEST_P(OfEachOp, TheBoundsHoldOfWhatTheKernelMakesOfFloats) { ExpectBoundsHold<float>(); }

TEST_P(OfEachOp, TheBoundsHoldOfWhatTheKernelMakesOfDoubles) { ExpectBoundsHold<double>(); }

TEST_P(OfEachOp, NothingIsKnownOfWhatMayNotBeFinite) {
  const Node* const node = NodeOf(GetParam(), DataType::kFloat);
  const BoundsRule rule = RuleOf(node);
  ASSERT_NE(rule, nullptr);
  const std::vector<NumericBounds> regular(node->inputs().size(), {0.5, 0.5});
  EXPECT_EQ(rule(regular).size(), static_cast<size_t>(GetParam().num_variables));
  for (const double bad : {1e38, kNaN}) {
    for (size_t input = 0; input < regular.size(); ++input) {
      std::vector<NumericBounds> inputs = regular;
      inputs[input] = {bad, bad};
      EXPECT_TRUE(rule(inputs).empty()) << "input " << input << ": " << bad;
    }
  }
}

TEST_P(OfEachOp, NoRuleIsOfTypesOfWhichRoundingIsNotCounted) {
  EXPECT_NE(RuleOf(NodeOf(GetParam(), DataType::kDouble)), nullptr);
  EXPECT_EQ(RuleOf(NodeOf(GetParam(), DataType::kHalf)), nullptr);
  EXPECT_EQ(RuleOf(NodeOf(GetParam(), DataType::kBFloat16)), nullptr);
}

TEST_F(UpdateBoundsTest, DivisionByWhatMayBeZeroIsNotKnown) {
  const BoundsRule adagrad =
      RuleOf(NodeOf({"ResourceApplyAdagrad", 2, 1, 0, nullptr, false}, DataType::kFloat));
  ASSERT_NE(adagrad, nullptr);
  const NumericBounds one = {1, 1};
  EXPECT_EQ(adagrad({one, {0.1, 1}, one, one}).size(), 2u);
  EXPECT_TRUE(adagrad({one, {0, 1}, one, one}).empty());
  EXPECT_TRUE(adagrad({one, {-1, 1}, one, one}).empty());
  const BoundsRule adam =
      RuleOf(NodeOf({"ResourceApplyAdam", 3, 6, 0, nullptr, false}, DataType::kFloat));
  ASSERT_NE(adam, nullptr);
  const auto after = [&](size_t input, NumericBounds bounds) {
    const NumericBounds power = {0.5, 0.5};
    std::vector<NumericBounds> inputs = {
        one, one, one, power, power, one, {0.9, 0.9}, {0.999, 0.999}, {1e-8, 1e-8}, one};
    inputs[input] = bounds;
    return adam(inputs);
  };
  EXPECT_EQ(after(0, one).size(), 3u);
  EXPECT_TRUE(after(2, {-1, 1}).empty());      // the root of the squares' mean
  EXPECT_TRUE(after(3, {1, 1}).empty());       // 1 - beta1_power
  EXPECT_TRUE(after(4, {2, 2}).empty());       // the root of 1 - beta2_power
  EXPECT_TRUE(after(6, {2, 2}).empty());       // a mean is within what it is of
  EXPECT_TRUE(after(7, {-0.5, 0.5}).empty());  // and squares' is not negative
  EXPECT_TRUE(after(8, {0, 0}).empty());       // epsilon
}

TEST_F(UpdateBoundsTest, AnAccumulatorThatStaysAsItIsHasNoRule) {
  const Update update = {"ResourceApplyAdagrad", 2, 1, 0, "update_slots", false};
  EXPECT_EQ(RuleOf(NodeOf(update, DataType::kFloat)), nullptr);
}

TEST_F(UpdateBoundsTest, OtherOpsHaveNone) {
  EXPECT_EQ(RuleOf(Op("Exp", {Constant(1.0f)}).node), nullptr);
}

}  // namespace
}  // namespace millstream
