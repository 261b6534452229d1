// The header is C, and means the same in C and in C++.
#include "core/c_api/c_api.h"
#include "gtest/gtest.h"

extern "C" {
millstream_output c_api_header_no_output(void);
int64_t c_api_header_timeout(int64_t timeout_ms);
size_t c_api_header_gradient_size(void);
}

namespace {

TEST(CApiHeaderTest, CAndCxxAgree) {
  const millstream_output none = c_api_header_no_output();
  EXPECT_EQ(none.node, -1);
  EXPECT_EQ(none.index, 0);
  EXPECT_EQ(c_api_header_timeout(250), 250);
  EXPECT_EQ(c_api_header_gradient_size(), sizeof(millstream_gradient));
}

}  // namespace
