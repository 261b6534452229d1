#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

Floats Iota(int64_t size) {
  Floats values;
  for (int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(i));
  return values;
}

ms::Status Reverse(const Ints& axes, Floats* reversed) {
  KernelTester t("ReverseV2");
  t.Attr("T", MS_FLOAT32).Attr("Tidx", MS_INT64);
  t.Input<float>({2, 3}, Iota(6)).Input<int64_t>({static_cast<int64_t>(axes.size())}, axes);
  MS_TRY(t.Run());
  EXPECT_EQ(t.OutputShape(0), (Ints{2, 3}));
  *reversed = t.Output<float>(0);
  return ms::Status();
}

Floats Reversed(const Ints& axes) {
  Floats reversed;
  EXPECT_TRUE(IsOk(Reverse(axes, &reversed)));
  return reversed;
}

TEST(ReverseTest, ReversesTheDimensionsThatAreNamed) {
  EXPECT_EQ(Reversed({}), Iota(6));
  EXPECT_EQ(Reversed({0}), (Floats{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(Reversed({-1}), (Floats{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(Reversed({1, 0}), (Floats{5, 4, 3, 2, 1, 0}));
}

TEST(ReverseTest, RefusesADimensionThatIsNamedTwiceOrIsNotThere) {
  Floats unused;
  ms::Status status = Reverse({0, -2}, &unused);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "axis 0 specified more than once, as axis[1] = -2");
  status = Reverse({2}, &unused);
  EXPECT_EQ(status.message(), "axis[0] = 2 is outside [-2, 2)");
}

TEST(ReverseTest, TakesOneTruthForEachDimension) {
  KernelTester t("Reverse");
  t.Attr("T", MS_FLOAT32);
  t.Input<float>({2, 3}, Iota(6)).Input<bool>({2}, {false, true});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (Floats{2, 1, 0, 5, 4, 3}));

  KernelTester wrong("Reverse");
  wrong.Attr("T", MS_FLOAT32);
  wrong.Input<float>({2, 3}, Iota(6)).Input<bool>({1}, {true});
  EXPECT_EQ(wrong.Run().message(),
            "dims must have one entry for each dimension of tensor, which has shape [2,3], but has "
            "shape [1]");
}

struct Dims {
  int64_t batch;
  int64_t seq;
};

ms::Status ReverseSequences(const Ints& shape, const Dims& dims, const Ints& lengths,
                            Floats* reversed) {
  int64_t size = 1;
  for (int64_t dim : shape) size *= dim;
  KernelTester t("ReverseSequence");
  t.Attr("T", MS_FLOAT32).Attr("Tlen", MS_INT64);
  t.Attr("batch_dim", dims.batch).Attr("seq_dim", dims.seq);
  t.Input<float>(shape, Iota(size));
  t.Input<int64_t>({static_cast<int64_t>(lengths.size())}, lengths);
  MS_TRY(t.Run());
  *reversed = t.Output<float>(0);
  return ms::Status();
}

Floats Reversed(const Ints& shape, const Dims& dims, const Ints& lengths) {
  Floats reversed;
  EXPECT_TRUE(IsOk(ReverseSequences(shape, dims, lengths, &reversed)));
  return reversed;
}

std::string Refusal(const Ints& shape, const Dims& dims, const Ints& lengths) {
  Floats unused;
  const ms::Status status = ReverseSequences(shape, dims, lengths, &unused);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  return std::string(status.message());
}

TEST(ReverseSequenceTest, ReversesEachSequenceUpToItsLength) {
  EXPECT_EQ(Reversed({2, 3}, {0, 1}, {2, 3}), (Floats{1, 0, 2, 5, 4, 3}));
  EXPECT_EQ(Reversed({3, 2}, {1, 0}, {0, 3}), (Floats{0, 5, 2, 3, 4, 1}));
}

// The two dimensions need not be neighbours, nor the outermost or the innermost ones.
TEST(ReverseSequenceTest, MovesRowsBetweenAndBehindTheDimensions) {
  constexpr int64_t kSize = 4;
  const Ints shape(5, kSize);
  const Ints strides = {256, 64, 16, 4, 1};
  const Ints lengths = {4, 1, 0, 3};
  for (int64_t batch_dim = 0; batch_dim < 5; ++batch_dim) {
    for (int64_t seq_dim = 0; seq_dim < 5; ++seq_dim) {
      if (batch_dim == seq_dim) continue;
      Floats expected = Iota(1024);
      for (int64_t i = 0; i < 1024; ++i) {
        const auto length =
            lengths[static_cast<size_t>(i / strides[static_cast<size_t>(batch_dim)] % kSize)];
        const int64_t stride = strides[static_cast<size_t>(seq_dim)];
        const int64_t step = i / stride % kSize;
        if (step >= length) continue;
        expected[static_cast<size_t>(i)] = static_cast<float>(i + (length - 1 - 2 * step) * stride);
      }
      EXPECT_EQ(Reversed(shape, {batch_dim, seq_dim}, lengths), expected)
          << batch_dim << " " << seq_dim;
    }
  }
}

TEST(ReverseSequenceTest, MovesStrings) {
  KernelTester t("ReverseSequence");
  t.Attr("T", MS_STRING).Attr("Tlen", MS_INT32);
  t.Attr("batch_dim", int64_t{0}).Attr("seq_dim", int64_t{1});
  t.Input<std::string>({1, 3}, {"a", "b", "c"}).Input<int32_t>({1}, {2});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<std::string>(0), (std::vector<std::string>{"b", "a", "c"}));
}

TEST(ReverseSequenceTest, RefusesLengthsThatAreNotThere) {
  EXPECT_EQ(Refusal({2, 3}, {0, 1}, {3, 4}),
            "seq_lengths[1] = 4 is not in [0, 3], the size of dimension seq_dim = 1 of input");
  EXPECT_EQ(Refusal({2, 3}, {0, 1}, {-1, 1}),
            "seq_lengths[0] = -1 is not in [0, 3], the size of dimension seq_dim = 1 of input");
  EXPECT_EQ(Refusal({2, 3}, {0, 1}, {1}), "seq_lengths must have shape [2], but has shape [1]");
  EXPECT_EQ(Refusal({2, 3}, {1, 1}, {1, 1, 1}),
            "batch_dim = 1 and seq_dim = 1 must be two dimensions of input, which has shape [2,3]");
}

}  // namespace
}  // namespace millstream::kernels
