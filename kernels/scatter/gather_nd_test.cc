// Slices picked by index vectors.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Floats = std::vector<float>;

using Ints = std::vector<int64_t>;

// GatherNd of the matrix (1, 2, 3), (4, 5, 6).
struct Gathering {
  Gathering(const Ints& shape, const Ints& indices) : t("GatherNd") {
    t.Attr("Tparams", MS_FLOAT32).Attr("Tindices", MS_INT64);
    t.Input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).Input<int64_t>(shape, indices);
    status = t.Run();
  }
  KernelTester t;
  ms::Status status;
};

TEST(GatherNdTest, PicksElementsRowsAndTheWhole) {
  const Gathering elements({3, 2}, {0, 1, 1, 2, 0, 1});
  ASSERT_TRUE(IsOk(elements.status));
  EXPECT_EQ(elements.t.Output<float>(0), (Floats{2, 6, 2}));

  const Gathering rows({2, 1, 1}, {1, 0});
  ASSERT_TRUE(IsOk(rows.status));
  EXPECT_EQ(rows.t.OutputShape(0), (Ints{2, 1, 3}));
  EXPECT_EQ(rows.t.Output<float>(0), (Floats{4, 5, 6, 1, 2, 3}));

  const Gathering whole({2, 0}, {});
  ASSERT_TRUE(IsOk(whole.status));
  EXPECT_EQ(whole.t.Output<float>(0), (Floats{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST(GatherNdTest, NamesTheIndexThatIsOutside) {
  const Gathering outside({2, 2}, {0, 1, 1, -1});
  EXPECT_EQ(outside.status.code(), MS_INVALID_ARGUMENT);
  EXPECT_EQ(outside.status.message(), "indices[1,1] = -1 is not in [0, 3)");
}

TEST(GatherNdTest, RefusesLongerVectorsThanThereAreDimensions) {
  EXPECT_EQ(
      Gathering({1, 3}, {0, 0, 0}).status.message(),
      "indices, of shape [1,3], has 3 numbers for each slice, but params, of shape [2,3], has "
      "2 dimensions");
}

TEST(GatherNdTest, PicksNothingFromNothing) {
  for (const int64_t count : {1, 0}) {
    KernelTester t("GatherNd");
    t.Attr("Tparams", MS_FLOAT32).Attr("Tindices", MS_INT64);
    t.Input<float>({3, 0}, {}).Input<int64_t>({count, 1}, Ints(static_cast<size_t>(count), 5));
    const ms::Status status = t.Run();
    if (count == 0) {
      ASSERT_TRUE(IsOk(status));
      EXPECT_EQ(t.OutputShape(0), (Ints{0, 0}));
      continue;
    }
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "Requested more than 0 entries, but params is empty: its shape is [3,0]");
  }
}

TEST(GatherNdTest, ReadsAVariable) {
  KernelTester t("ResourceGatherNd");
  t.Attr("dtype", MS_FLOAT32).Attr("Tindices", MS_INT64).Outputs({MS_FLOAT32});
  t.Variable<float>({2, 2}, {1, 2, 3, 4}).Input<int64_t>({1, 2}, {1, 0});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<float>(0), (Floats{3}));
}

}  // namespace
}  // namespace millstream::kernels
