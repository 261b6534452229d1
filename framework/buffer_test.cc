#include "framework/buffer.h"

#include <limits>
#include <string>

#include "framework/opaque_cell.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

class Marker : public OpaqueObject {
 public:
  explicit Marker(bool* gone) : gone_(gone) {}
  ~Marker() override { *gone_ = true; }
  std::string DebugString() const override { return "marker"; }

 private:
  bool* const gone_;
};

TEST(BufferTest, HoldsTheBytesOfItsElements) {
  const BufferRef buffer = NewBuffer(HostAllocator(), DataType::kDouble, 3);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->size(), 24u);
  EXPECT_TRUE(buffer->writable());
}

TEST(BufferTest, IsUniqueUntilItIsShared) {
  const BufferRef buffer = NewBuffer(HostAllocator(), DataType::kInt8, 1);
  EXPECT_TRUE(buffer->IsUnique());
  {
    const BufferRef other = buffer;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_FALSE(buffer->IsUnique());
  }
  EXPECT_TRUE(buffer->IsUnique());
}

TEST(BufferTest, TheMemoryGoesBackWithTheLastReference) {
  const int64_t before = HostAllocator()->stats().bytes_in_use;
  BufferRef first = NewBuffer(HostAllocator(), DataType::kFloat, 1000);
  BufferRef second = first;
  first = BufferRef();
  EXPECT_EQ(HostAllocator()->stats().bytes_in_use, before + 4000);
  second = BufferRef();
  EXPECT_EQ(HostAllocator()->stats().bytes_in_use, before);
}

TEST(BufferTest, StringsStartEmptyAndAreDestroyed) {
  const BufferRef buffer = NewBuffer(HostAllocator(), DataType::kString, 2);
  auto* cells = static_cast<std::string*>(buffer->data());
  EXPECT_EQ(cells[1], "");
  cells[0] = std::string(1000, 'x');  // the leak checker sees it when it stays
}

TEST(BufferTest, ResourceCellsStartUnsetAndLetGoOfTheirObject) {
  bool gone = false;
  BufferRef buffer = NewBuffer(HostAllocator(), DataType::kResource, 2);
  auto* cells = static_cast<OpaqueCell*>(buffer->data());
  EXPECT_EQ(cells[0], nullptr);
  cells[1] = std::make_shared<Marker>(&gone);
  EXPECT_FALSE(gone);
  buffer = BufferRef();
  EXPECT_TRUE(gone);
}

TEST(BufferTest, ImpossibleSizesGiveNoBuffer) {
  EXPECT_FALSE(NewBuffer(HostAllocator(), DataType::kDouble, -1));
  EXPECT_FALSE(
      NewBuffer(HostAllocator(), DataType::kComplex128, std::numeric_limits<int64_t>::max()));
  EXPECT_FALSE(NewBuffer(HostAllocator(), DataType::kFloat, int64_t{1} << 40));
  EXPECT_FALSE(NewBuffer(HostAllocator(), DataType::kInvalid, 1));
}

TEST(BufferTest, BorrowedMemoryIsReleasedOnce) {
  int released = 0;
  char memory[8];
  BufferRef buffer =
      BorrowBuffer(memory, sizeof(memory), /*writable=*/false, [&released] { ++released; });
  BufferRef copy = std::move(buffer);
  EXPECT_FALSE(copy->writable());
  EXPECT_EQ(copy->data(), memory);
  EXPECT_EQ(released, 0);
  copy = BufferRef();
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace millstream
