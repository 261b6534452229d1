#include "framework/tensor_list.h"

#include <limits>
#include <memory>
#include <thread>

#include "framework/opaque_cell.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::HasSubstr;

Tensor Pair(float first, float second) { return Tensor::Vector<float>({first, second}); }

std::shared_ptr<TensorList> ListOf(std::initializer_list<float> values) {
  auto list = std::make_shared<TensorList>(DataType::kFloat, PartialShape({2}));
  for (const float value : values) EXPECT_TRUE(list->Append(Pair(value, value)).ok());
  return list;
}

Tensor ScalarOf(OpaqueCell cell) {
  const Tensor tensor = Tensor::Create(DataType::kVariant, Shape()).value();
  *tensor.data<OpaqueCell>() = std::move(cell);
  return tensor;
}

TEST(TensorListTest, TheLastElementComesFirst) {
  const auto list = ListOf({1, 2});
  EXPECT_EQ(list->size(), 2);
  EXPECT_TRUE(TensorsEqual(list->TakeLast(), Pair(2, 2)));
  EXPECT_TRUE(TensorsEqual(list->TakeLast(), Pair(1, 1)));
  EXPECT_EQ(list->size(), 0);
}

TEST(TensorListTest, ElementsMustFit) {
  const auto list = ListOf({});
  EXPECT_THAT(list->Append(Tensor::Vector<float>({1})).message(),
              HasSubstr("Op element shape: [1] list shape: [2]"));
  EXPECT_THAT(list->Append(Tensor::Vector<int32_t>({1, 2})).message(),
              HasSubstr("op elements int32 but list elements float32"));
  list->Resize(1);
  EXPECT_THAT(list->Set(0, Tensor::Scalar<float>(1)).message(),
              HasSubstr("at a list index. Op element shape: [] list shape: [2]"));
}

TEST(TensorListTest, AFullListTakesNoMore) {
  TensorList list(DataType::kFloat, PartialShape(), 1);
  EXPECT_TRUE(list.Append(Pair(1, 2)).ok());
  EXPECT_THAT(list.Append(Pair(1, 2)).message(),
              HasSubstr("Tried to push item into a full list list size: 1 max_num_elements: 1"));
}

TEST(TensorListTest, UnsetElementsTakeNoMemory) {
  TensorList list(DataType::kFloat, PartialShape({2}));
  list.Resize(std::numeric_limits<int32_t>::max());
  EXPECT_EQ(list.end_of_set(), 0);
  EXPECT_FALSE(list.at(1 << 30).has_value());
  EXPECT_FALSE(list.TakeLast().has_value());
  EXPECT_EQ(list.size(), std::numeric_limits<int32_t>::max() - 1);
  ASSERT_TRUE(list.Set(3, Pair(1, 2)).ok());
  EXPECT_EQ(list.end_of_set(), 4);
  EXPECT_FALSE(list.at(2).has_value());
  list.Resize(2);
  list.Resize(5);
  EXPECT_FALSE(list.at(3).has_value());
  ASSERT_TRUE(list.Append(Pair(3, 4)).ok());
  EXPECT_FALSE(list.at(4).has_value());
  EXPECT_TRUE(TensorsEqual(list.at(5), Pair(3, 4)));
}

TEST(TensorListTest, ALengthWithoutMemoryIsAnError) {
  // From 2^59 on, 64 bits do not count the bytes.
  for (const int64_t size : {int64_t{1} << 50, int64_t{1} << 59, int64_t{1} << 62,
                             std::numeric_limits<int64_t>::max()}) {
    TensorList list(DataType::kFloat, PartialShape({2}));
    list.Resize(size);
    EXPECT_TRUE(absl::IsResourceExhausted(list.Set(size - 1, Pair(1, 2)))) << size;
  }
}

TEST(TensorListTest, AListOfOneCellIsChangedInPlace) {
  OpaqueCell cell = ListOf({1});
  const void* const before = cell.get();
  EXPECT_EQ(ListToChange(&cell), before);
  EXPECT_EQ(cell.get(), before);
}

TEST(TensorListTest, ASharedListIsCopied) {
  OpaqueCell cell = ListOf({1});
  const OpaqueCell other = cell;
  TensorList* const changed = ListToChange(&cell);
  ASSERT_TRUE(changed->Append(Pair(2, 2)).ok());
  EXPECT_EQ(TensorList::In(cell)->size(), 2);
  EXPECT_EQ(TensorList::In(other)->size(), 1);
  // The tensors are shared.
  EXPECT_EQ(TensorList::In(cell)->at(0).raw(), TensorList::In(other)->at(0).raw());
}

// The thread sanitizer sees whether a change comes after what another thread read.
TEST(TensorListTest, AListIsChangedInPlaceAfterOthersLetItGo) {
  OpaqueCell cell = ListOf({1, 2});
  const void* const before = cell.get();
  int64_t size = 0;
  std::thread reader([other = cell, &size]() mutable {
    size = TensorList::In(other)->size();
    other.reset();
  });
  while (cell.use_count() > 1) std::this_thread::yield();
  TensorList* const list = ListToChange(&cell);
  EXPECT_EQ(list, before);
  EXPECT_TRUE(list->Append(Pair(3, 3)).ok());
  reader.join();
  EXPECT_EQ(size, 2);
}

TEST(TensorListTest, ACellWithoutAListHasNone) {
  OpaqueCell cell;
  EXPECT_EQ(TensorList::In(cell), nullptr);
  EXPECT_EQ(ListToChange(&cell), nullptr);
}

TEST(TensorListTest, ListsAreNestedToABound) {
  OpaqueCell inner = ListOf({1});
  for (int depth = 1; depth <= TensorList::kMaxNesting; ++depth) {
    auto outer = std::make_shared<TensorList>(DataType::kVariant, PartialShape::Scalar());
    ASSERT_TRUE(outer->Append(ScalarOf(std::move(inner))).ok());
    EXPECT_EQ(outer->nesting(), depth);
    inner = std::move(outer);
  }
  TensorList outermost(DataType::kVariant, PartialShape::Scalar());
  EXPECT_THAT(outermost.Append(ScalarOf(std::move(inner))).message(), HasSubstr("nested"));
}

TEST(TensorListTest, MessagesShowWhatItIs) {
  EXPECT_EQ(ListOf({1, 2})->DebugString(), "<list of 2 float32 tensors of shape [2]>");
}

}  // namespace
}  // namespace millstream
