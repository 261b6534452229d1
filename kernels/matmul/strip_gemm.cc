#include "kernels/matmul/strip_gemm.h"

#include <algorithm>
#include <array>

#include "kernels/common/parallel.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kMostRows = 256;

}  // namespace

// Measured with AVX2 and one thread (docs/performance.md, "Convolutions and products of our own"):
// the library multiplies at half of its speed where B has many columns, and about as fast as these
// loops where it has few; there they gain by what is kept.
bool StripGemm::Suits(int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMostElements = int64_t{1} << 20;  // of B
  constexpr int64_t kManyColumns = 1024;
  constexpr int64_t kFewestRows = 16;
  const bool has_few_rows = m >= 32 && m <= 48 && n >= kStripColumns;
  const bool has_many_columns = n >= kManyColumns && m >= kFewestRows && m <= kMostRows;
  return (has_few_rows || has_many_columns) && k > 0 && n <= kMostElements / k &&
         ChosenInstructionSet() < InstructionSet::kAvx512;
}

void StripGemm::KeepRight(const float* b) { kept_ = KeepStrips({b, k_, n_, false}); }

uint64_t StripGemm::scratch_bytes() const {
  return kept_ != nullptr ? 0 : static_cast<uint64_t>(StripsSize(k_, n_)) * sizeof(float);
}

ms::Status StripGemm::Run(ms::Frame& frame, const float* a, const float* b, float* c,
                          void* scratch) const {
  constexpr int64_t kProductsPerNanosecond = 30;
  const int64_t offset = 0;
  std::array<const float*, kMostRows> starts;
  for (int64_t i = 0; i < m_; ++i) starts[i] = a + i * k_;
  auto* const arranged = static_cast<float*>(scratch);
  const float* const strips = kept_ != nullptr ? kept_->data()->values : arranged;
  const WindowProduct product{strips, n_, &offset, 1, k_, n_, {}};
  const auto cost = static_cast<uint64_t>(m_ * k_ * kStripColumns / kProductsPerNanosecond + 1);
  return StoppableFor(frame, StripsOf(n_), cost, [&](int64_t begin, int64_t end) {
    const int64_t step = kept_ != nullptr ? end - begin : 1;
    for (int64_t strip = begin; strip < end; strip += step) {
      if (kept_ == nullptr) ArrangeStrips({b, n_, 1}, k_, n_, strip, strip + 1, arranged);
      MultiplyWindows(product, starts.data(), m_, strip, strip + step, c);
    }
  });
}

}  // namespace millstream::kernels
