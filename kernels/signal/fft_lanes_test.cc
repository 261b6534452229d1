#include "kernels/signal/fft_lanes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace millstream::kernels {
namespace {

// How sequences lie in a tensor: in numbers T, from one sequence to the next and from one complex
// number to the next.
struct Places {
  int64_t sequence;
  int64_t element;
};

// One behind the other, side by side, and neither.
std::vector<Places> PlacesOf(int64_t count) {
  return {{2 * count, 2}, {2, 2 * kMostLanes}, {2 * count + 5, 2}, {6, 6 * kMostLanes}};
}

template <typename T, typename Element>
Sequences<Element> SequencesIn(Element* numbers, const Places& places, int64_t lanes) {
  Sequences<Element> sequences{};
  sequences.lanes = lanes;
  sequences.step = places.element / 2;
  for (int64_t l = 0; l < lanes; ++l) sequences.starts[l] = numbers + l * places.sequence;
  return sequences;
}

// One more than what the sequences take: all begin at an odd address for their vectors.
template <typename T>
std::vector<T> Numbers(const Places& places, int64_t count) {
  std::vector<T> numbers(
      static_cast<size_t>(places.sequence * kMostLanes + places.element * count + 1));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(i + 1);
  return numbers;
}

template <typename T>
void ExpectLoaded(const Places& places, int64_t lanes, int64_t count) {
  const std::vector<T> numbers = Numbers<T>(places, count);
  const T* const first = numbers.data() + 1;
  const T guard = -1;
  std::vector<T> re(static_cast<size_t>(lanes * count) + 1, guard);
  std::vector<T> im(re);
  LoadLanes<T>(SequencesIn<T>(first, places, lanes), count, T(-2), {re.data(), im.data()});
  for (int64_t l = 0; l < lanes; ++l) {
    for (int64_t j = 0; j < count; ++j) {
      const int64_t place = l * places.sequence + j * places.element;
      ASSERT_EQ(re[j * lanes + l], first[place]) << "lane " << l << " element " << j;
      ASSERT_EQ(im[j * lanes + l], -2 * first[place + 1]) << "lane " << l << " element " << j;
    }
  }
  EXPECT_EQ(re.back(), guard);
  EXPECT_EQ(im.back(), guard);
}

template <typename T>
void ExpectStored(const Places& places, int64_t lanes, int64_t count) {
  std::vector<T> expected = Numbers<T>(places, count);
  std::vector<T> numbers = expected;
  std::vector<T> re;
  std::vector<T> im;
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t l = 0; l < lanes; ++l) {
      re.push_back(static_cast<T>(-j * lanes - l));
      im.push_back(static_cast<T>(-5000 - j * lanes - l));
      const int64_t place = 1 + l * places.sequence + j * places.element;
      expected[place] = 2 * re.back();
      expected[place + 1] = 3 * im.back();
    }
  }
  StoreLanes<T>({re.data(), im.data()}, count, T(2), T(3),
                SequencesIn<T>(numbers.data() + 1, places, lanes));
  EXPECT_EQ(numbers, expected);
}

TEST(FftLanes, NumbersGoWhereTheyBelong) {
  for (int64_t lanes = 1; lanes <= kMostLanes; ++lanes) {
    for (const int64_t count : {1, 2, 3, 4, 5, 8, 9, 16, 21}) {
      for (const Places& places : PlacesOf(count)) {
        SCOPED_TRACE(::testing::Message() << lanes << " lanes of " << count << ", "
                                          << places.sequence << " and " << places.element);
        ExpectLoaded<float>(places, lanes, count);
        ExpectLoaded<double>(places, lanes, count);
        ExpectStored<float>(places, lanes, count);
        ExpectStored<double>(places, lanes, count);
      }
    }
  }
}

}  // namespace
}  // namespace millstream::kernels
