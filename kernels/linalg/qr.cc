// Qr: A = Q R with Q^H Q = I and R upper triangular, by products of Householder reflectors
// (G. Golub, C. Van Loan: Matrix Computations, 4th edition, section 5.2).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/block_reflector.h"
#include "kernels/linalg/matrices.h"
#include "kernels/linalg/reflector.h"

namespace millstream::kernels {
namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t rank;  // the smaller of both
  int64_t of_q;  // columns of Q and rows of R
  int64_t numbers() const {
    return rows * columns + rank * rows + rows * of_q + rank + TriangleNumbers(rank);
  }
};

// Columns [first, last) of `a`, from row `first` on, become those of R. Their reflectors are rows
// [first, last) of `vectors`, with zeros between column `first` and the diagonal.
template <typename T>
void FactorColumns(const Sizes& sizes, int64_t first, int64_t last, T* a, T* vectors, T* taus) {
  const int64_t m = sizes.rows;
  const int64_t n = sizes.columns;
  for (int64_t i = first; i < m; ++i) {
    for (int64_t j = first; j < last; ++j) {
      vectors[j * m + i] = a[i * n + j];
      a[i * n + j] = T(0);
    }
  }
  for (int64_t j = first; j < last; ++j) {
    T* const v = vectors + j * m;
    for (int64_t i = first; i < j; ++i) {
      a[i * n + j] = v[i];
      v[i] = T(0);
    }
    const Reflection<T> made = MakeReflector(m - j, v + j);
    taus[j] = made.tau;
    a[j * n + j] = T(made.beta);
    if (made.tau == T(0)) continue;
    for (int64_t k = j + 1; k < last; ++k) {
      T* const x = vectors + k * m + j;
      const T sum = SumOfConjugateProducts(m - j, v + j, x);
      SubtractMultiple(m - j, Product(Conjugate(made.tau), sum), v + j, x);
    }
  }
}

// What the factorization needs besides the matrix and Q.
template <typename T>
struct Memory {
  T* vectors;  // the reflectors, one a row
  T* taus;
  T* triangles;  // of the panels; at least kMostReflectors elements
};

// Replaces `a` by R, and sets `q`.
template <typename T>
void Factor(const Sizes& sizes, T* a, T* q, const Memory<T>& memory, Stop* stop) {
  const int64_t m = sizes.rows;
  const int64_t n = sizes.columns;
  const auto panel_from = [&](int64_t first) {
    return ReflectorPanel<T>{std::min(kMostReflectors, sizes.rank - first), m - first,
                             memory.vectors + first * m + first, m};
  };
  for (int64_t first = 0; first < sizes.rank; first += kMostReflectors) {
    if (first > 0 && (*stop)()) return;
    const ReflectorPanel<T> panel = panel_from(first);
    const int64_t last = first + panel.count;
    FactorColumns(sizes, first, last, a, memory.vectors, memory.taus);
    if (last == n && m <= kMostReflectors) break;
    T* const triangle = memory.triangles + TriangleNumbers(first);
    MakeTriangle(panel, memory.taus + first, triangle);
    ReflectBlock(panel, triangle, /*adjoint=*/true, {m - first, n - last, n, a + first * n + last},
                 stop);
  }
  const int64_t width = sizes.of_q;
  std::fill(q, q + m * width, T(0));
  for (int64_t i = 0; i < width; ++i) q[i * width + i] = T(1);
  if (m <= kMostReflectors) {  // a small matrix: one reflector after the other takes less
    for (int64_t j = sizes.rank - 1; j >= 0; --j) {
      ReflectFromLeft(memory.vectors + j * m + j, memory.taus[j],
                      {m - j, width - j, width, q + j * width + j}, memory.triangles);
    }
    return;
  }
  const int64_t panels = (sizes.rank + kMostReflectors - 1) / kMostReflectors;
  for (int64_t first = (panels - 1) * kMostReflectors; first >= 0; first -= kMostReflectors) {
    if ((*stop)()) return;
    ReflectBlock(panel_from(first), memory.triangles + TriangleNumbers(first), /*adjoint=*/false,
                 {m - first, width - first, width, q + first * width + first}, stop);
  }
}

class Qr {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return info.Attr("full_matrices", &full_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t rank = input.rank();
    if (rank < 2) {
      return ms::InvalidArgument("argument 'input' must be matrices, got the shape ",
                                 input.shape().ToString());
    }
    Sizes sizes = {};
    sizes.rows = input.dim(rank - 2);
    sizes.columns = input.dim(rank - 1);
    sizes.rank = std::min(sizes.rows, sizes.columns);
    sizes.of_q = full_ ? sizes.rows : sizes.rank;
    ms::Shape shape = input.shape();
    shape[rank - 1] = sizes.of_q;
    ms::View q;
    MS_TRY(frame.Output(0, shape, &q));
    shape[rank - 2] = sizes.of_q;
    shape[rank - 1] = sizes.columns;
    ms::View r;
    MS_TRY(frame.Output(1, shape, &r));
    const int64_t count = ms::Shape(input.shape().begin(), rank - 2).num_elements();
    if (q.size() == 0 && r.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, sizes, count, input, q, r)
                               : Run<double>(frame, sizes, count, input, q, r);
  }

 private:
  template <typename T>
  ms::Status Run(ms::Frame& frame, const Sizes& sizes, int64_t count, const ms::View& input,
                 const ms::View& q, const ms::View& r) const {
    const int64_t elements = sizes.rows * sizes.columns;
    int64_t refused = 0;
    return ForEachMatrix(
        frame, count, sizes.numbers() * static_cast<int64_t>(sizeof(T)),
        4 * static_cast<double>(elements + 10) * static_cast<double>(sizes.of_q + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          T* const a = reinterpret_cast<T*>(memory);
          T* const vectors = a + elements;
          T* const result = vectors + sizes.rank * sizes.rows;
          T* const taus = result + sizes.rows * sizes.of_q;
          const Memory<T> more = {vectors, taus, taus + sizes.rank};
          access_->load(input.raw(), i * elements, sizes.rows, sizes.columns, false, a);
          int exponent = 0;
          ScaleToOne(elements, a, &exponent);
          Factor(sizes, a, result, more, stop);
          const double scale = std::ldexp(1.0, exponent);
          const int64_t of_r = sizes.of_q * sizes.columns;
          for (int64_t k = 0; k < of_r; ++k) a[k] *= scale;
          access_->store(result, sizes.rows * sizes.of_q, q.raw(), i * sizes.rows * sizes.of_q);
          access_->store(a, of_r, r.raw(), i * of_r);
          return true;
        },
        &refused);
  }

  const ElementAccess* access_ = nullptr;
  bool full_ = false;
};

const ms::Registered qr = ms::Register<Qr>(
    "Qr", ms::KernelOptions().Types(
              "T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));

}  // namespace
}  // namespace millstream::kernels
