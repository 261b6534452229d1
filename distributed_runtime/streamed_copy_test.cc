#include "distributed_runtime/streamed_copy.h"

#include <cstddef>
#include <string>

#include "gtest/gtest.h"

namespace millstream {
namespace {

std::string Letters(size_t count) {
  std::string letters(count, '\0');
  for (size_t i = 0; i < count; ++i) letters[i] = static_cast<char>('a' + i % 23);
  return letters;
}

// Of any size, from any address to any other one; what is around it stays.
TEST(StreamedCopy, CopiesTheBytesAndNoOthers) {
  const std::string source = Letters(600);
  for (const size_t from : {0, 1, 15, 64}) {
    for (const size_t to : {0, 1, 17, 63, 64}) {
      for (const size_t size : {0, 1, 63, 64, 65, 127, 128, 300, 500}) {
        std::string expected(700, '.');
        expected.replace(to, size, source, from, size);
        std::string target(700, '.');
        StreamCopy(source.data() + from, size, &target[to]);
        EndStreaming();
        EXPECT_EQ(target, expected) << from << " " << to << " " << size;
      }
    }
  }
}

}  // namespace
}  // namespace millstream
