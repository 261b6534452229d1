#include "framework/buffer.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

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

TEST(BufferTest, ARepeatedElementIsWrittenWhenTheBytesAreAskedFor) {
  const float value = 1.5F;
  const absl::string_view element(reinterpret_cast<const char*>(&value), sizeof(value));
  const BufferRef buffer = NewRepeatedBuffer(HostAllocator(), DataType::kFloat, 300001, element);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->size(), 1200004u);
  EXPECT_EQ(buffer->repeated_element(), element);
  const auto* const values = static_cast<const float*>(buffer->data());
  EXPECT_TRUE(std::all_of(values, values + 300001, [](float each) { return each == 1.5F; }));
  EXPECT_EQ(buffer->repeated_element(), "");  // whoever has the address may have written since
}

TEST(BufferTest, ARepeatedElementIsWrittenOnceForAllThreads) {
  const BufferRef buffer = NewRepeatedBuffer(HostAllocator(), DataType::kUInt8, 1 << 20, "x");
  std::vector<std::thread> threads;
  std::atomic<int> whole = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto* const bytes = static_cast<const char*>(buffer->data());
      if (std::count(bytes, bytes + (1 << 20), 'x') == 1 << 20) ++whole;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(whole, 4);
}

TEST(BufferTest, ARepeatedBufferThatNobodyReadsGivesItsMemoryBack) {
  const int64_t before = HostAllocator()->stats().bytes_in_use;
  BufferRef buffer = NewRepeatedBuffer(HostAllocator(), DataType::kUInt8, 1 << 20, "x");
  EXPECT_EQ(HostAllocator()->stats().bytes_in_use, before + (1 << 20));
  buffer = BufferRef();
  EXPECT_EQ(HostAllocator()->stats().bytes_in_use, before);
  EXPECT_FALSE(NewRepeatedBuffer(HostAllocator(), DataType::kUInt8, -1, "x"));
}

}  // namespace
}  // namespace millstream
