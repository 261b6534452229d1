#include "framework/dtype.h"

#include <set>

#include "gtest/gtest.h"

namespace millstream {
namespace {

TEST(DataTypeTest, EveryTypeIsFoundByAllItsNames) {
  for (DataType dtype : AllDataTypes()) {
    EXPECT_EQ(ParseDataType(DataTypeName(dtype)), dtype);
    EXPECT_EQ(ParseDataType(DataTypeSpecName(dtype)), dtype);
  }
  EXPECT_EQ(ParseDataType("DT_FLOAT"), DataType::kFloat);
  EXPECT_EQ(ParseDataType("DT_HALF"), DataType::kHalf);
  EXPECT_EQ(ParseDataType("DT_COMPLEX128"), DataType::kComplex128);
}

TEST(DataTypeTest, OtherNamesAreInvalid) {
  for (const char* name : {"", "DT_", "DT_FLOAT32", "Float", "FLOAT", "float 32", "T", "invalid"}) {
    EXPECT_EQ(ParseDataType(name), DataType::kInvalid) << name;
  }
}

TEST(DataTypeTest, AbiNumbersAreDistinctAndLeadBack) {
  std::set<uint32_t> seen;
  for (DataType dtype : AllDataTypes()) {
    EXPECT_TRUE(seen.insert(ToAbiDataType(dtype)).second) << DataTypeName(dtype);
    EXPECT_EQ(FromAbiDataType(ToAbiDataType(dtype)), dtype);
  }
  EXPECT_EQ(FromAbiDataType(0xffffffff), DataType::kInvalid);
  EXPECT_EQ(ToAbiDataType(DataType::kInvalid), 0u);
}

TEST(DataTypeTest, EveryTypeIsOfOneKind) {
  for (DataType dtype : AllDataTypes()) {
    const int kinds = IsFloating(dtype) + IsInteger(dtype) + IsComplex(dtype) + IsQuantized(dtype) +
                      (dtype == DataType::kBool) + !IsPlainData(dtype);
    EXPECT_EQ(kinds, 1) << DataTypeName(dtype);
    EXPECT_GT(DataTypeSize(dtype), 0u) << DataTypeName(dtype);
  }
}

TEST(DataTypeTest, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(DataTypeSize(DataTypeOf<float>()), sizeof(float));
  EXPECT_EQ(DataTypeSize(DataTypeOf<std::complex<double>>()), sizeof(std::complex<double>));
  EXPECT_EQ(DataTypeSize(DataTypeOf<std::string>()), sizeof(std::string));
  EXPECT_EQ(DataTypeSize(DataTypeOf<long long>()), sizeof(int64_t));  // NOLINT: the type is meant
  EXPECT_EQ(DataTypeSize(DataType::kInvalid), 0u);
  EXPECT_EQ(DataTypeOf<long long>(), DataType::kInt64);  // NOLINT: the type is meant
}

TEST(DataTypeTest, NumbersOutsideTheEnumAreNoTypes) {
  for (int32_t number : {-1, 0, 24, 101, 1 << 30}) {
    EXPECT_FALSE(IsValidDataType(number));
    EXPECT_EQ(DataTypeSize(static_cast<DataType>(number)), 0u);
    EXPECT_EQ(DataTypeName(static_cast<DataType>(number)), "invalid");
  }
}

TEST(DataTypeTest, ListsPrintAsInSpecifications) {
  EXPECT_EQ(DataTypeListName({}), "{}");
  EXPECT_EQ(DataTypeListName({DataType::kFloat, DataType::kHalf}), "{float, half}");
}

}  // namespace
}  // namespace millstream
