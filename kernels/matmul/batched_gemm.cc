#include "kernels/matmul/batched_gemm.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernels/common/parallel.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/matmul/small_products.h"

namespace millstream::kernels {
namespace {

// Whether threads share out the products, rather than share in each. It depends on the shape alone,
// as in Choose of gemm.cc.
bool SharesOutProducts(const ProductShape& shape) {
  constexpr int64_t kLargeProducts = 1 << 22;  // about 100 microseconds of one core
  constexpr int64_t kManyProducts = 64;
  if (shape.count == 1) return false;
  return shape.count >= kManyProducts ||
         shape.gemm.m * shape.gemm.n * shape.gemm.k <= kLargeProducts;
}

bool IsSmall(const ProductShape& shape) {
  return shape.count > 1 && SmallProducts::Suits(shape.gemm.m, shape.gemm.n, shape.gemm.k);
}

}  // namespace

BatchedGemm::BatchedGemm(const ProductShape& shape, int threads)
    : shape_(shape), is_small_(IsSmall(shape)) {
  if (!SharesOutProducts(shape)) gemm_ = std::make_unique<Gemm>(shape.gemm, threads);
}

void BatchedGemm::KeepRight(const float* b) {
  if (gemm_ != nullptr && shape_.b_size == shape_.b_matrix()) gemm_->KeepRight(b);
}

ms::Status BatchedGemm::Run(ms::Frame& frame, const float* a, const float* b, float* c,
                            void* scratch) const {
  if (is_small_) return RunSmall(frame, a, b, c);
  if (gemm_ == nullptr) return RunAcross(frame, a, b, c);
  const int threads = LibraryThreadCount(frame);
  for (int64_t product = 0; product < shape_.count; ++product) {
    const MatrixPair pair = shape_.MatricesOf(product);
    if (product > 0) MS_TRY(frame.CheckCancelled());
    MS_TRY(gemm_->Run(frame, a + pair.a * shape_.a_matrix(), b + pair.b * shape_.b_matrix(),
                      c + product * shape_.output_matrix(), scratch, threads));
  }
  return ms::Status();
}

ms::Status BatchedGemm::RunAcross(ms::Frame& frame, const float* a, const float* b,
                                  float* c) const {
  // About 32 products a nanosecond, and half a microsecond for the call.
  const uint64_t cost_ns =
      static_cast<uint64_t>(shape_.gemm.m * shape_.gemm.n * shape_.gemm.k) / 32 + 500;
  std::mutex mutex;
  ms::Status first_error;
  MS_TRY(StoppableFor(frame, shape_.count, cost_ns, [&](uint64_t begin, uint64_t end) {
    for (int64_t product = begin; product < static_cast<int64_t>(end); ++product) {
      const MatrixPair pair = shape_.MatricesOf(product);
      ms::Status status =
          RunPlainGemm(frame, shape_.gemm, a + pair.a * shape_.a_matrix(),
                       b + pair.b * shape_.b_matrix(), c + product * shape_.output_matrix(), 1);
      if (status.ok()) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      if (first_error.ok()) first_error = std::move(status);
      return;
    }
  }));
  return first_error;
}

ms::Status BatchedGemm::RunSmall(ms::Frame& frame, const float* a, const float* b, float* c) const {
  // About 8 products a nanosecond, and some nanoseconds for what surrounds them.
  const GemmShape& gemm = shape_.gemm;
  const int64_t picoseconds = gemm.m * gemm.n * gemm.k * 125 + 10000;
  // From one product to the next along the last of the batch dimensions, steps are equal.
  const uint32_t last = shape_.batch.rank - 1;
  const int64_t together = shape_.batch.dims[last];
  SmallProducts products{};
  products.m = gemm.m;
  products.n = gemm.n;
  products.k = gemm.k;
  products.transpose_a = gemm.transpose_a;
  products.transpose_b = gemm.transpose_b;
  products.a_stride = shape_.batch.x_strides[last] * shape_.a_matrix();
  products.b_stride = shape_.batch.y_strides[last] * shape_.b_matrix();
  return ParallelRows(frame, shape_.count, 1, picoseconds, [&](int64_t begin, int64_t end) {
    SmallProducts run = products;
    for (int64_t product = begin; product < end; product += run.count) {
      const MatrixPair pair = shape_.MatricesOf(product);
      run.count = std::min(end - product, together - product % together);
      run.a = a + pair.a * shape_.a_matrix();
      run.b = b + pair.b * shape_.b_matrix();
      run.c = c + product * shape_.output_matrix();
      MultiplySmall(run);
    }
  });
}

}  // namespace millstream::kernels
