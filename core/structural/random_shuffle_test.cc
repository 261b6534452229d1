// Rows in random order.
#include <string>
#include <vector>

#include "core/testing/session_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

class RandomShuffleTest : public SessionTest {
 protected:
  Output Shuffled(const Output& value, int64_t seed = 3) {
    return Op("RandomShuffle", {value}, {{"seed", seed}, {"seed2", int64_t{1}}});
  }
};

TEST_F(RandomShuffleTest, HasEachRowOnce) {
  std::vector<float> values(30);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Output vector = Constant(Values<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_THAT(Elements<float>(Value(Shuffled(vector))),
              UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  const Output matrix = Constant(Tensor::FromValues<float>(Shape({10, 3}), values));
  const Tensor shuffled = Value(Shuffled(matrix));
  EXPECT_EQ(shuffled.shape(), Shape({10, 3}));
  const std::vector<float> result = Elements<float>(shuffled);
  EXPECT_THAT(result, UnorderedElementsAreArray(values));
  EXPECT_NE(result, values);
  for (size_t i = 0; i < result.size(); i += 3) {
    EXPECT_EQ(result[i + 1], result[i] + 1);
    EXPECT_EQ(result[i + 2], result[i] + 2);
  }
}

TEST_F(RandomShuffleTest, ShufflesStrings) {
  const Output texts = Constant(Values<std::string>({"a", "b", std::string(100, 'c'), "d"}));
  EXPECT_THAT(Elements<std::string>(Value(Shuffled(texts))),
              UnorderedElementsAre("a", "b", std::string(100, 'c'), "d"));
}

TEST_F(RandomShuffleTest, EachStepHasAnOrderOfItsOwn) {
  const Output value = Placeholder("x", DataType::kFloat);
  const Output first = Shuffled(value);
  const Output same = Shuffled(value);
  std::vector<float> numbers(50);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const std::vector<Feed> feeds = {{value, Values<float>(numbers)}};
  const std::vector<float> order = Elements<float>(Value(first, feeds));
  EXPECT_EQ(order, Elements<float>(Value(same, feeds)));
  EXPECT_NE(order, Elements<float>(Value(first, feeds)));
}

TEST_F(RandomShuffleTest, FewRowsStayAsTheyAre) {
  EXPECT_THAT(Elements<float>(Value(Shuffled(Constant(2.0f)))), ElementsAre(2));
  EXPECT_THAT(Elements<float>(Value(Shuffled(Constant(Values<float>({3}))))), ElementsAre(3));
  const Output empty = Constant(Tensor::FromValues<float>(Shape({3, 0}), {}));
  EXPECT_EQ(Value(Shuffled(empty)).shape(), Shape({3, 0}));
}

}  // namespace
}  // namespace millstream
