// A naive reduction, and random tensors to compare with it.
#ifndef MILLSTREAM_KERNELS_REDUCE_REDUCE_TESTING_H_
#define MILLSTREAM_KERNELS_REDUCE_REDUCE_TESTING_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/testing/kernel_tester.h"

namespace millstream::kernels::testing {

// The elements that each output is made of, in row-major order of the outputs.
template <typename T>
std::vector<std::vector<T>> GroupElements(const std::vector<int64_t>& dims,
                                          const std::vector<bool>& reduced,
                                          const std::vector<T>& values) {
  size_t outputs = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!reduced[d]) outputs *= static_cast<size_t>(dims[d]);
  }
  std::vector<std::vector<T>> groups(outputs);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t rest = i;
    size_t output = 0;
    size_t stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      const size_t dim = static_cast<size_t>(dims[d]);
      if (!reduced[d]) {
        output += rest % dim * stride;
        stride *= dim;
      }
      rest /= dim;
    }
    groups[output].push_back(values[i]);
  }
  return groups;
}

// Runs `op` over the dimensions that are marked in `reduced`.
template <typename T>
ms::Status RunReduce(const std::string& op, const std::vector<int64_t>& dims,
                     const std::vector<T>& values, const std::vector<int32_t>& axes, bool keep_dims,
                     std::vector<T>* out, std::vector<int64_t>* out_dims = nullptr) {
  KernelTester t(op);
  t.Attr("T", ms::DTypeOf<T>()).Attr("Tidx", MS_INT32).Attr("keep_dims", keep_dims);
  t.Outputs({ms::DTypeOf<T>()});
  t.template Input<T>(dims, values);
  t.ConstInput<int32_t>({static_cast<int64_t>(axes.size())}, axes);
  ms::Status status = t.Run();
  if (status.ok()) {
    *out = t.template Output<T>(0);
    if (out_dims != nullptr) *out_dims = t.OutputShape(0);
  }
  return status;
}

// Compares `op` with `expected` (of the elements of one output) on random shapes and axes.
template <typename T>
void ExpectReduces(const std::string& op, T least, T most,
                   const std::function<double(const std::vector<T>&)>& expected, double relative,
                   double absolute) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 120; ++trial) {
    std::vector<int64_t> dims;
    std::vector<bool> reduced;
    std::vector<int32_t> axes;
    const size_t rank = random() % 5;
    size_t size = 1;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t largest = trial % 4 == 0 ? 70 / static_cast<int64_t>(rank) : 6;
      dims.push_back(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(largest)));
      reduced.push_back(random() % 2 == 0);
      const auto axis = static_cast<int32_t>(d);
      if (reduced[d]) axes.push_back(random() % 2 == 0 ? axis : axis - static_cast<int32_t>(rank));
      size *= static_cast<size_t>(dims[d]);
    }
    std::vector<T> values(size);
    for (T& value : values) {
      const double part = static_cast<double>(random()) / 4294967296.0;
      value = static_cast<T>(static_cast<double>(least) +
                             part * (static_cast<double>(most) - static_cast<double>(least)));
    }
    std::vector<double> wanted;
    for (const std::vector<T>& group : GroupElements(dims, reduced, values)) {
      wanted.push_back(expected(group));
    }
    std::vector<T> out;
    ASSERT_TRUE(IsOk(RunReduce<T>(op, dims, values, axes, trial % 2 == 0, &out)));
    const std::vector<double> got(out.begin(), out.end());
    ASSERT_TRUE(IsNear<double>(got, wanted, relative, absolute)) << op << " trial " << trial;
  }
}

}  // namespace millstream::kernels::testing

#endif  // MILLSTREAM_KERNELS_REDUCE_REDUCE_TESTING_H_
