#include "core/passes/value_readers.h"

#include "core/graph/graph_builder.h"
#include "framework/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millstream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ValueReadersTest : public ::testing::Test {
 protected:
  Output NewValue() { return build_.Const(Tensor::Scalar<float>(0)); }

  Graph graph_;
  GraphBuilder build_{&graph_, ""};
  ValueReaders readers_;
};

TEST_F(ValueReadersTest, AnOperationReadsOnceForEachArgument) {
  const Output a = NewValue();
  const Output b = NewValue();
  readers_.Add(3, {a, b, a});
  readers_.Add(5, {b});
  EXPECT_THAT(readers_.Of(a), ElementsAre(3, 3));
  EXPECT_THAT(readers_.Of(b), ElementsAre(3, 5));
  EXPECT_EQ(readers_.Count(b), 2);
  EXPECT_THAT(readers_.Of(NewValue()), IsEmpty());
}

TEST_F(ValueReadersTest, WhatIsRemovedReadsNoMore) {
  const Output a = NewValue();
  for (int op = 0; op < 4; ++op) readers_.Add(op, {a});
  readers_.Remove(1, {a});
  EXPECT_EQ(readers_.Count(a), 3);
  EXPECT_THAT(readers_.Of(a), ElementsAre(0, 2, 3));
  // Another operation in the same place.
  readers_.Remove(2, {a});
  readers_.Add(2, {a, a});
  EXPECT_THAT(readers_.Of(a), ElementsAre(0, 2, 2, 3));
}

TEST_F(ValueReadersTest, RedirectedArgumentsReadTheOtherValue) {
  const Output a = NewValue();
  const Output b = NewValue();
  const Output c = NewValue();
  readers_.Add(0, {a, b});
  readers_.Add(1, {b, a});
  readers_.Add(2, {a});
  readers_.Remove(2, {a});
  const std::vector<ReadingArgument> changed = readers_.Redirect(a, c);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[1].op, 1);
  EXPECT_EQ(changed[1].number, 1);
  EXPECT_EQ(readers_.Count(a), 0);
  EXPECT_THAT(readers_.Of(c), ElementsAre(0, 1));
  readers_.Remove(0, {c, b});
  EXPECT_THAT(readers_.Of(c), ElementsAre(1));
}

}  // namespace
}  // namespace millstream
