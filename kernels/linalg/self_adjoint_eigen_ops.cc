// SelfAdjointEigV2, SelfAdjointEig and batch forms: eigenvalues and eigenvectors of self-adjoint
// matrices.
#include <algorithm>
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/matrices.h"
#include "kernels/linalg/self_adjoint_eigen.h"

namespace millstream::kernels {
namespace {

class SelfAdjointEigen {
 public:
  struct Row {
    // Values, as a first row, and vectors are one output.
    bool joined;
  };

  explicit SelfAdjointEigen(const Row& row) : row_(row) {}

  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return row_.joined ? ms::Status() : info.Attr("compute_v", &vectors_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t rank = input.rank();
    if (rank < 2 || input.dim(rank - 1) != input.dim(rank - 2)) {
      return ms::InvalidArgument("argument 'input' must be square matrices, got the shape ",
                                 input.shape().ToString());
    }
    ms::View outputs[2];
    if (row_.joined) {
      ms::Shape shape = input.shape();
      ++shape[rank - 2];
      MS_TRY(frame.Output(0, shape, &outputs[0]));
    } else {
      MS_TRY(frame.Output(0, ms::Shape(input.shape().begin(), rank - 1), &outputs[0]));
      MS_TRY(frame.Output(1, vectors_ ? input.shape() : ms::Shape({0}), &outputs[1]));
    }
    if (input.size() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, input, outputs)
                               : Run<double>(frame, input, outputs);
  }

 private:
  template <typename T>
  ms::Status Run(ms::Frame& frame, const ms::View& input, const ms::View* outputs) const {
    const int64_t n = input.dim(input.rank() - 1);
    const int64_t elements = n * n;
    const int64_t count = input.size() / elements;
    const int64_t numbers = elements + SelfAdjointEigenNumbers<T>(n, vectors_) + 2 * n;
    int64_t refused = 0;
    MS_TRY(ForEachMatrix(
        frame, count, numbers * static_cast<int64_t>(sizeof(T)),
        (vectors_ ? 8.0 : 2.0) * static_cast<double>(elements) * static_cast<double>(n + 10),
        [&](int64_t i, char* memory, Stop* stop) {
          T* const matrix = reinterpret_cast<T*>(memory);
          T* const values = matrix + elements;
          auto* const real_values = reinterpret_cast<double*>(values + n);
          access_->load(input.raw(), i * elements, n, n, false, matrix);
          if (!DecomposeSelfAdjoint(n, vectors_, matrix, real_values, values + 2 * n, stop)) {
            return false;
          }
          std::copy(real_values, real_values + n, values);
          if (row_.joined) {
            access_->store(values, n, outputs[0].raw(), i * (elements + n));
            access_->store(matrix, elements, outputs[0].raw(), i * (elements + n) + n);
            return true;
          }
          access_->store(values, n, outputs[0].raw(), i * n);
          if (vectors_) access_->store(matrix, elements, outputs[1].raw(), i * elements);
          return true;
        },
        &refused));
    if (refused == count) return ms::Status();
    return ms::InvalidArgument("Self-adjoint eigen decomposition was not successful. The input ",
                               "might not be valid: matrix ", refused, " of argument 'input'");
  }

  const Row& row_;
  const ElementAccess* access_ = nullptr;
  bool vectors_ = true;
};

constexpr SelfAdjointEigen::Row kTwoOutputs = {false};
constexpr SelfAdjointEigen::Row kJoined = {true};

ms::KernelOptions Real() { return ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}); }

const ms::Registered eigen = ms::RegisterRow<SelfAdjointEigen>(
    "SelfAdjointEigV2", kTwoOutputs,
    ms::KernelOptions().Types("T",
                              {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128}));
const ms::Registered joined = ms::RegisterRow<SelfAdjointEigen>(
    "SelfAdjointEig", kJoined,
    ms::KernelOptions().Types("T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64}));
const ms::Registered batch =
    ms::RegisterRow<SelfAdjointEigen>("BatchSelfAdjointEigV2", kTwoOutputs, Real());
const ms::Registered batch_joined =
    ms::RegisterRow<SelfAdjointEigen>("BatchSelfAdjointEig", kJoined, Real());

}  // namespace
}  // namespace millstream::kernels
