#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "framework/ops/shape_tester.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

std::string Shapes(absl::string_view op, const std::vector<std::string>& inputs) {
  ShapeTester tester(op);
  if (absl::StartsWith(op, "LSTM") || absl::StartsWith(op, "Block")) {
    tester.Attr("use_peephole", false);
  }
  for (const std::string& input : inputs) tester.Input(input);
  return tester.Shapes();
}

// An LSTM of 2 inputs and 3 units.
const std::vector<std::string> kWeights = {"[5,12]", "[3]", "[3]", "[3]", "[12]"};

std::string Lstm(absl::string_view op, std::vector<std::string> inputs) {
  inputs.insert(inputs.end(), kWeights.begin(), kWeights.end());
  return Shapes(op, inputs);
}

TEST(LstmShapeTest, StatesAreOfTheUnits) {
  EXPECT_EQ(Lstm("LSTMBlockCell", {"[4,2]", "[4,3]", "[4,3]"}),
            "[4,3] [4,3] [4,3] [4,3] [4,3] [4,3] [4,3]");
  EXPECT_EQ(Lstm("LSTMBlockCell", {"?", "?", "[4,?]"}),
            "[4,3] [4,3] [4,3] [4,3] [4,3] [4,3] [4,3]");
  EXPECT_EQ(Lstm("BlockLSTM", {"[]", "[7,?,2]", "[?,3]", "[?,3]"}),
            "[7,?,3] [7,?,3] [7,?,3] [7,?,3] [7,?,3] [7,?,3] [7,?,3]");
}

TEST(LstmShapeTest, NamesWhatDoesNotFit) {
  EXPECT_THAT(Lstm("LSTMBlockCell", {"[4,2]", "[5,3]", "[4,3]"}), HasSubstr("'cs_prev' of"));
  EXPECT_THAT(Lstm("LSTMBlockCell", {"[4,3]", "[4,3]", "[4,3]"}), HasSubstr("'w' of"));
  EXPECT_THAT(Lstm("BlockLSTM", {"[]", "[4,2]", "[4,3]", "[4,3]"}), HasSubstr("'x' of"));
  EXPECT_THAT(Lstm("BlockLSTM", {"[1]", "[7,4,2]", "[4,3]", "[4,3]"}),
              HasSubstr("'seq_len_max' of"));
}

TEST(LstmShapeTest, GradientsHaveTheShapesOfWhatTheyAreFor) {
  std::vector<std::string> cell = {"[4,2]", "[4,3]", "[4,3]"};
  std::vector<std::string> run = {"[]", "[7,4,2]", "[4,3]", "[4,3]"};
  cell.insert(cell.end(), kWeights.begin(), kWeights.end());
  run.insert(run.end(), kWeights.begin(), kWeights.end());
  cell.insert(cell.end(), 8, "[4,3]");
  run.insert(run.end(), 9, "[7,4,3]");
  EXPECT_EQ(Shapes("LSTMBlockCellGrad", cell), "[4,3] [4,12] [3] [3] [3]");
  EXPECT_EQ(Shapes("BlockLSTMGrad", run), "[7,4,2] [4,3] [4,3] [5,12] [3] [3] [3] [12]");
  run.back() = "[6,4,3]";
  EXPECT_THAT(Shapes("BlockLSTMGradV2", run), HasSubstr("'h_grad' of"));
}

TEST(GruShapeTest, GatesAreOfTheUnits) {
  std::vector<std::string> inputs = {"[4,2]", "[?,3]", "[5,6]", "[5,3]", "[6]", "[3]"};
  EXPECT_EQ(Shapes("GRUBlockCell", inputs), "[4,3] [4,3] [4,3] [4,3]");
  inputs.insert(inputs.end(), 4, "[4,3]");
  EXPECT_EQ(Shapes("GRUBlockCellGrad", inputs), "[4,2] [4,3] [4,3] [4,6]");
  inputs[2] = "[5,3]";
  EXPECT_THAT(Shapes("GRUBlockCellGrad", inputs), HasSubstr("'w_ru' of"));
}

}  // namespace
}  // namespace millstream
