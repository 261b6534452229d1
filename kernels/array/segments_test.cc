// Segments of rows: SegmentSum and its family.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::KernelTester;

TEST(SegmentsTest, AnIdThatNoCountOfSegmentsCanExceedIsRefused) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMax"}) {
    KernelTester t(op);
    t.Attr("T", MS_FLOAT32).Attr("Tindices", MS_INT64).DynamicOnly();
    t.Input<float>({2, 1}, {1, 2}).Input<int64_t>({2}, {0, kLargest});
    const ms::Status status = t.Run();
    EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT) << op;
    EXPECT_EQ(status.message(),
              "segment_ids[1] = 9223372036854775807 asks for more segments than 64 bits can count");
  }
}

}  // namespace
}  // namespace millstream::kernels
