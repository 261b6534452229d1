// TridiagonalMatMul and SparseMatMul: products that pass over what is zero.
#include <algorithm>
#include <complex>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wrapping.h"

namespace millstream::kernels {
namespace {

// Inputs: superdiag, maindiag, subdiag [..., 1, m] and rhs [..., m, n]. Row i of each product is
// superdiag[i] rhs[i + 1] + maindiag[i] rhs[i] + subdiag[i] rhs[i - 1]; the last element of
// superdiag and the first one of subdiag do not count.
template <typename T>
class TridiagonalMatMul {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View rhs = frame.input(3);
    ms::Shape diagonals = rhs.shape();
    if (diagonals.rank() < 2) {
      return ms::InvalidArgument("rhs must have rank 2 or more, but has shape ",
                                 diagonals.ToString());
    }
    const uint32_t last = diagonals.rank() - 1;
    const int64_t m = diagonals[last - 1];
    const int64_t n = diagonals[last];
    diagonals[last - 1] = 1;
    diagonals[last] = m;
    constexpr const char* kNames[] = {"superdiag", "maindiag", "subdiag"};
    for (uint32_t i = 0; i < 3; ++i) {
      if (frame.input(i).shape() == diagonals) continue;
      return ms::InvalidArgument(kNames[i], " must have shape ", diagonals.ToString(),
                                 " for rhs of shape ", rhs.shape().ToString(), ", but has ",
                                 frame.input(i).shape().ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, rhs.shape(), &output));
    if (output.size() == 0) return ms::Status();
    const T* const above = frame.input(0).data<T>();
    const T* const main = frame.input(1).data<T>();
    const T* const below = frame.input(2).data<T>();
    const T* const x = rhs.data<T>();
    T* const y = output.data<T>();
    return ParallelRows(frame, output.size() / n, n, 2000, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t i = row % m;
        const T* const from = x + row * n;
        T* const to = y + row * n;
        for (int64_t j = 0; j < n; ++j) {
          T sum = WrappingProduct(main[row], from[j]);
          if (i + 1 < m) sum = sum + WrappingProduct(above[row], from[j + n]);
          if (i > 0) sum = sum + WrappingProduct(below[row], from[j - n]);
          to[j] = sum;
        }
      }
    });
  }
};

// The element in row i and column k of a matrix that may be given transposed, as a float.
class Elements {
 public:
  Elements(const ms::View& view, bool transposed)
      : view_(view),
        row_step_(transposed ? 1 : view.dim(1)),
        column_step_(transposed ? view.dim(1) : 1) {}
  float At(int64_t i, int64_t k) const {
    const int64_t place = i * row_step_ + k * column_step_;
    return view_.dtype() == MS_BFLOAT16 ? static_cast<float>(view_.data<BFloat16>()[place])
                                        : view_.data<float>()[place];
  }

 private:
  const ms::View view_;
  const int64_t row_step_;
  const int64_t column_step_;
};

// Inputs: a and b, matrices. Zeros of a are passed over.
class SparseMatMul {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("transpose_a", &transpose_a_));
    return info.Attr("transpose_b", &transpose_b_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View a = frame.input(0);
    const ms::View b = frame.input(1);
    for (uint32_t i = 0; i < 2; ++i) {
      if (frame.input(i).rank() == 2) continue;
      return ms::InvalidArgument(i == 0 ? "a" : "b", " must be a matrix, but has shape ",
                                 frame.input(i).shape().ToString());
    }
    const int64_t m = a.dim(transpose_a_ ? 1 : 0);
    const int64_t inner = a.dim(transpose_a_ ? 0 : 1);
    const int64_t n = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != inner) {
      return ms::InvalidArgument("a of shape ", a.shape().ToString(), " and b of shape ",
                                 b.shape().ToString(), " have no product");
    }
    ms::View product;
    MS_TRY(frame.Output(0, ms::Shape{m, n}, &product));
    const Elements left(a, transpose_a_);
    const Elements right(b, transpose_b_);
    return ParallelRows(frame, m, std::max<int64_t>(inner * n, 1), 1000,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            float* const row = product.data<float>() + i * n;
                            for (int64_t j = 0; j < n; ++j) row[j] = 0;
                            for (int64_t k = 0; k < inner; ++k) {
                              const float factor = left.At(i, k);
                              if (factor == 0) continue;
                              for (int64_t j = 0; j < n; ++j) row[j] += factor * right.At(k, j);
                            }
                          }
                        });
  }

 private:
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

const ms::Registered tridiagonal =
    ms::RegisterForTypes<TridiagonalMatMul, float, double, std::complex<float>,
                         std::complex<double>>("TridiagonalMatMul", "T");
const ms::Registered sparse =
    ms::Register<SparseMatMul>("SparseMatMul", ms::KernelOptions()
                                                   .Types("Ta", {MS_FLOAT32, MS_BFLOAT16})
                                                   .Types("Tb", {MS_FLOAT32, MS_BFLOAT16}));

}  // namespace
}  // namespace millstream::kernels
