#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels {
namespace {

using testing::IsOk;
using testing::KernelTester;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

struct Sparse {
  Ints indices_shape;
  Ints indices;
  Ints values_shape;
  Floats values;
};

ms::Status ToDense(const Sparse& sparse, const Ints& shape, bool validate, Floats* dense) {
  KernelTester t("SparseToDense");
  t.Attr("T", MS_FLOAT32).Attr("Tindices", MS_INT64).Attr("validate_indices", validate);
  t.Input<int64_t>(sparse.indices_shape, sparse.indices);
  t.Input<int64_t>({static_cast<int64_t>(shape.size())}, shape);
  t.Input<float>(sparse.values_shape, sparse.values).Input<float>({}, {-1});
  t.Outputs({MS_FLOAT32});
  MS_TRY(t.Run());
  *dense = t.Output<float>(0);
  return ms::Status();
}

Floats Dense(const Sparse& sparse, const Ints& shape, bool validate = true) {
  Floats dense;
  EXPECT_TRUE(IsOk(ToDense(sparse, shape, validate, &dense)));
  return dense;
}

std::string Refusal(const Sparse& sparse, const Ints& shape) {
  Floats dense;
  const ms::Status status = ToDense(sparse, shape, true, &dense);
  EXPECT_EQ(status.code(), MS_INVALID_ARGUMENT);
  return std::string(status.message());
}

TEST(SparseToDenseTest, WritesValuesAmongTheDefault) {
  EXPECT_EQ(Dense({{2, 2}, {0, 1, 1, 0}, {2}, {5, 6}}, {2, 2}), (Floats{-1, 5, 6, -1}));
  EXPECT_EQ(Dense({{2}, {0, 2}, {2}, {5, 6}}, {3}), (Floats{5, -1, 6}));
  EXPECT_EQ(Dense({{}, {1}, {}, {5}}, {3}), (Floats{-1, 5, -1}));
  EXPECT_EQ(Dense({{0, 2}, {}, {0}, {}}, {1, 2}), (Floats{-1, -1}));
}

TEST(SparseToDenseTest, OneValueIsForAllPlaces) {
  EXPECT_EQ(Dense({{2}, {0, 2}, {}, {7}}, {3}), (Floats{7, -1, 7}));
}

TEST(SparseToDenseTest, IndicesMayComeInAnyOrderUnlessTheyAreValidated) {
  EXPECT_EQ(Dense({{3}, {2, 0, 2}, {3}, {5, 6, 7}}, {3}, false), (Floats{6, -1, 7}));
  EXPECT_EQ(Refusal({{2, 2}, {1, 0, 0, 1}, {2}, {5, 6}}, {2, 2}),
            "sparse_indices: indices[1] = [0,1] is out of order: each index must come after those "
            "before it, unless validate_indices is false");
  EXPECT_EQ(Refusal({{2}, {1, 1}, {2}, {5, 6}}, {2}),
            "sparse_indices: indices[1] = [1] is repeated");
}

TEST(SparseToDenseTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(Refusal({{1}, {5}, {1}, {1}}, {5}),
            "sparse_indices: indices[0] = [5] is out of bounds: need 0 <= index < [5]");
  EXPECT_EQ(Refusal({{1, 2}, {0, 0}, {1}, {1}}, {5}),
            "output_shape has incorrect number of elements: 1 should be: 2, as sparse_indices has "
            "shape [1,2]");
  EXPECT_EQ(Refusal({{2}, {0, 1}, {3}, {1, 2, 3}}, {5}),
            "sparse_values has incorrect shape [3], should be [] or [2]");
  EXPECT_EQ(Refusal({{1}, {0}, {1}, {1}}, {-5}), "output_shape[0] = -5 is negative");
}

TEST(SparseToDenseTest, WritesStrings) {
  KernelTester t("SparseToDense");
  t.Attr("T", MS_STRING).Attr("Tindices", MS_INT32).Attr("validate_indices", true);
  t.Input<int32_t>({1}, {1}).Input<int32_t>({1}, {2});
  t.Input<std::string>({1}, {"text"}).Input<std::string>({}, {"-"}).Outputs({MS_STRING});
  ASSERT_TRUE(IsOk(t.Run()));
  EXPECT_EQ(t.Output<std::string>(0), (std::vector<std::string>{"-", "text"}));
}

}  // namespace
}  // namespace millstream::kernels
