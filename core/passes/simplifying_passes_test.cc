// Random programs give the same bits with and without the passes that simplify, together.
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/passes/pass_fixture.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class SimplifyingPassesTest : public PassTest {
 protected:
  SimplifyingPassesTest() : PassTest({"fold_constants", "simplify_arithmetic", "merge_equal"}) {}

  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }
  Output Any() { return values_[Below(values_.size())]; }
  Output Ints(const std::vector<int32_t>& values) {
    return Constant(Tensor::Vector<int32_t>(values));
  }

  // Of the program's shape; some are neutral, some are not quite.
  Output AnyConstant() {
    const float numbers[] = {1.0f, 0.0f, -0.0f, 2.0f, 0.125f, 3.0f};
    const Output number = Constant(numbers[Below(6)]);
    switch (Below(5)) {
      case 0: return number;
      case 1: return Op("Fill", {Ints({4, 5}), number});
      case 2: return Op("Fill", {Op("Shape", {Any()}), number});
      case 3: return Op("Reshape", {Constant(SpecialNumbers()), Ints({4, 5})});
      default: return Op(Below(2) == 0 ? "OnesLike" : "ZerosLike", {Any()});
    }
  }

  Output Computed() {
    const char* const unary[] = {"Neg", "Abs", "Relu", "Square", "Tanh"};
    const char* const binary[] = {"Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum"};
    switch (Below(4)) {
      case 0: return Op(unary[Below(5)], {Any()});
      // Of two NaNs the first, or the second: the same operation gives the same in both runs.
      case 1: return Op(binary[Below(7)], {Any(), Any()});
      case 2: return Op(binary[Below(7)], {Any(), AnyConstant()});
      default: {
        // The shape must stay that of the program.
        const Output constant =
            Op("Reshape", {Op("Abs", {Constant(SpecialNumbers())}), Ints({4, 5})});
        return Op(binary[Below(7)], {constant, Any()});
      }
    }
  }

  Output Moved() {
    switch (Below(7)) {
      case 0: return Op("Identity", {Any()});
      case 1: {
        const Output turned = Op("Transpose", {Any(), Ints({1, 0})});
        return Op("Transpose", {Below(2) == 0 ? Op("Neg", {turned}) : turned, Ints({1, 0})});
      }
      case 2: return Op("Reshape", {Op("Reshape", {Any(), Ints({5, 4})}), Ints({4, 5})});
      case 3: return Op("Slice", {Any(), Ints({0, 0}), Ints({4, -1})});
      case 4: return Op("Tile", {Any(), Ints({1, 1})});
      case 5: {
        const Output column = Op("Slice", {Any(), Ints({0, 1}), Ints({-1, 1})});
        return Op("Tile", {column, Ints({1, 5})});
      }
      default: {
        const Node* const halves =
            build.Variadic("Split", {{build.Int32(0)}, {Any()}}, {{"num_split", 2}});
        return build
            .Variadic("ConcatV2", {{halves->output(1), halves->output(0)}, {build.Int32(0)}})
            ->output(0);
      }
    }
  }

  // How many instructions the passes save in one program.
  int64_t Program(int number) {
    const Tensor special = SpecialNumbers().Reshaped({4, 5});
    values_ = {FedValue(absl::StrCat("x", number), special),
               Fed(absl::StrCat("y", number), {4, 5})};
    std::vector<Output> fetches;
    std::vector<const Node*> targets;
    const size_t steps = 3 + Below(40);
    for (size_t step = 0; step < steps; ++step) {
      values_.push_back(Below(3) == 0 ? Moved() : Computed());
      if (Below(8) == 0) fetches.push_back(values_.back());
      if (Below(12) == 0) targets.push_back(values_.back().node);
      if (Below(20) == 0) Feed(values_.back(), special);
      build.set_control_inputs({});
      if (Below(10) == 0) build.set_control_inputs({Any().node});
    }
    build.set_control_inputs({});
    fetches.push_back(values_.back());
    return Saved(fetches, targets);
  }

  std::mt19937 random_{23};
  std::vector<Output> values_;
};

TEST_F(SimplifyingPassesTest, RandomPrograms) {
  int64_t saved = 0;
  for (int program = 0; program < 120; ++program) saved += Program(program);
  EXPECT_GT(saved, 300);
}

}  // namespace
}  // namespace millstream
