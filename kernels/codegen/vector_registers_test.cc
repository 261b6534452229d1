#include "kernels/codegen/vector_registers.h"

#include <gtest/gtest.h>

namespace millstream::kernels {
namespace {

using Value = VectorProgram::Value;

TEST(VectorRegistersTest, AResultTakesTheRegisterOfAnOperandThatNobodyReadsLater) {
  VectorProgram p;
  Value x = p.Load(0);
  for (int i = 0; i < 100; ++i) x = p.Mul(x, x);
  p.Store(1, x);
  const RegisterAssignment assignment = AssignRegisters(p, 1);
  EXPECT_EQ(assignment.instructions, p.instructions().size());
}

TEST(VectorRegistersTest, ValuesThatAreReadLaterHaveRegistersOfTheirOwn) {
  VectorProgram p;
  const Value x = p.Load(0);
  const Value y = p.Load(1);
  const Value sum = p.Add(x, y);
  const Value product = p.Mul(sum, x);
  p.Store(2, p.Sub(product, y));
  const RegisterAssignment three = AssignRegisters(p, 3);
  ASSERT_EQ(three.instructions, p.instructions().size());
  EXPECT_NE(three.registers[x], three.registers[y]);
  EXPECT_NE(three.registers[sum], three.registers[x]);
  EXPECT_NE(three.registers[sum], three.registers[y]);
  EXPECT_EQ(AssignRegisters(p, 2).instructions, 2u) << "the sum has none";
}

// The loop comes back to the first instruction: what is there throughout must not lie where an
// earlier value does.
TEST(VectorRegistersTest, AnInvariantSharesItsRegisterWithNoValue) {
  VectorProgram p;
  Value x = p.Load(0);
  std::vector<Value> invariants;
  for (int i = 1; i <= 5; ++i) {
    invariants.push_back(p.Number(static_cast<float>(i)));
    x = p.Add(x, invariants.back());
  }
  p.Store(1, x);
  const RegisterAssignment assignment = AssignRegisters(p, 6);
  ASSERT_EQ(assignment.instructions, p.instructions().size());
  for (size_t i = 0; i < p.instructions().size(); ++i) {
    if (VectorProgram::IsInvariant(p.instructions()[i].code)) continue;
    for (const Value invariant : invariants) {
      EXPECT_NE(assignment.registers[i], assignment.registers[invariant]) << i;
    }
  }
  // Load, then a number and a sum each, as long as numbers find registers.
  EXPECT_EQ(AssignRegisters(p, 4).instructions, 7u);
}

TEST(VectorRegistersTest, EqualInvariantsAreOne) {
  VectorProgram p;
  EXPECT_EQ(p.Number(2), p.Number(2));
  EXPECT_NE(p.Number(0.0f), p.Number(-0.0f));
  EXPECT_EQ(p.Broadcast(7), p.Broadcast(7));
  EXPECT_NE(p.Broadcast(7), p.Broadcast(8));
}

TEST(VectorRegistersTest, AValueThatNobodyReadsGivesItsRegisterBack) {
  VectorProgram p;
  const Value x = p.Load(0);
  for (int i = 0; i < 10; ++i) p.Mul(x, x);
  p.Store(1, x);
  EXPECT_EQ(AssignRegisters(p, 2).instructions, p.instructions().size());
}

}  // namespace
}  // namespace millstream::kernels
