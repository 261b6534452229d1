// MatrixInverse, MatrixDeterminant, LogMatrixDeterminant: functions of square matrices by their
// triangular factors.
#include <cstdint>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/type_table.h"
#include "kernels/linalg/lu.h"
#include "kernels/linalg/matrices.h"

namespace millstream::kernels {
namespace {

class FunctionOfMatrices {
 public:
  enum class Function { kInverse, kDeterminant, kLogDeterminant };
  struct Row {
    Function function;
  };

  explicit FunctionOfMatrices(const Row& row) : function_(row.function) {}

  ms::Status Init(const ms::KernelInfo& info) {
    access_ = FindElementAccess(info.input_dtype(0));
    if (access_ == nullptr) return NoLoopFor(info.input_dtype(0));
    return IsInverse() ? info.Attr("adjoint", &adjoint_) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View input = frame.input(0);
    const uint32_t rank = input.rank();
    if (rank < 2 || input.dim(rank - 1) != input.dim(rank - 2)) {
      return ms::InvalidArgument("argument 'input' must be square matrices, got the shape ",
                                 input.shape().ToString());
    }
    const ms::Shape batch(input.shape().begin(), rank - 2);
    const ms::Shape shape = IsInverse() ? input.shape() : batch;
    Work work = {input, {}, batch.num_elements(), input.dim(rank - 1)};
    for (uint32_t i = 0; i < frame.num_outputs(); ++i) {
      if (frame.output_used(i)) MS_TRY(frame.Output(i, shape, &work.outputs[i]));
    }
    if (shape.num_elements() == 0) return ms::Status();
    return access_->is_complex ? Run<Complex>(frame, work) : Run<double>(frame, work);
  }

 private:
  struct Work {
    ms::View input;
    ms::View outputs[2];
    int64_t count;  // of matrices
    int64_t n;      // rows of each
  };

  bool IsInverse() const { return function_ == Function::kInverse; }

  template <typename T>
  ms::Status Run(ms::Frame& frame, const Work& work) const {
    const int64_t elements = work.n * work.n;
    const int64_t numbers = elements * (IsInverse() ? 2 : 1) + FactorNumbers<T>(work.n);
    const int64_t bytes =
        numbers * static_cast<int64_t>(sizeof(T)) + work.n * static_cast<int64_t>(sizeof(int64_t));
    // A product and a sum cost about a nanosecond; an inverse has three times as many.
    const double cost =
        static_cast<double>(elements) * static_cast<double>(work.n + 10) * (IsInverse() ? 3 : 1);
    int64_t singular = 0;
    MS_TRY(ForEachMatrix(
        frame, work.count, bytes, cost,
        [&](int64_t i, char* memory, Stop* stop) {
          return RunOne(work, i, reinterpret_cast<T*>(memory), stop);
        },
        &singular));
    if (singular == work.count) return ms::Status();
    return ms::InvalidArgument("Input is not invertible: matrix ", singular,
                               " of argument 'input' ", work.input.shape().ToString(),
                               " is singular");
  }

  // False for a matrix that has no inverse.
  template <typename T>
  bool RunOne(const Work& work, int64_t i, T* matrix, Stop* stop) const {
    const int64_t elements = work.n * work.n;
    T* const inverse = matrix + elements;
    T* const memory = IsInverse() ? inverse + elements : inverse;
    auto* const order = reinterpret_cast<int64_t*>(memory + FactorNumbers<T>(work.n));
    access_->load(work.input.raw(), i * elements, work.n, work.n, adjoint_, matrix);
    const int sign = Factorize(work.n, matrix, order, memory, stop);
    if (IsInverse()) {
      if (IsSingular(work.n, matrix)) return false;
      InvertFactors(work.n, matrix, order, inverse, memory, stop);
      access_->store(inverse, elements, work.outputs[0].raw(), i * elements);
      return true;
    }
    const Scaled<T> determinant = Determinant(work.n, matrix, sign);
    if (function_ == Function::kDeterminant) {
      StoreOne(determinant.Rounded(), work.outputs[0], i);
    } else {
      StoreOne(determinant.Sign(), work.outputs[0], i);
      StoreOne(T(determinant.LogOfAbs()), work.outputs[1], i);
    }
    return true;
  }

  template <typename T>
  void StoreOne(T number, const ms::View& output, int64_t i) const {
    if (!output.is_null()) access_->store(&number, 1, output.raw(), i);
  }

  const Function function_;
  const ElementAccess* access_ = nullptr;
  bool adjoint_ = false;
};

const FunctionOfMatrices::Row kInverse = {FunctionOfMatrices::Function::kInverse};
const FunctionOfMatrices::Row kDeterminant = {FunctionOfMatrices::Function::kDeterminant};
const FunctionOfMatrices::Row kLogDeterminant = {FunctionOfMatrices::Function::kLogDeterminant};

ms::KernelOptions Types() {
  return ms::KernelOptions().Types(
      "T", {MS_FLOAT16, MS_FLOAT32, MS_FLOAT64, MS_COMPLEX64, MS_COMPLEX128});
}

const ms::Registered inverse =
    ms::RegisterRow<FunctionOfMatrices>("MatrixInverse", kInverse, Types());
const ms::Registered determinant =
    ms::RegisterRow<FunctionOfMatrices>("MatrixDeterminant", kDeterminant, Types());
const ms::Registered batch_inverse = ms::RegisterRow<FunctionOfMatrices>(
    "BatchMatrixInverse", kInverse, ms::KernelOptions().Types("T", {MS_FLOAT32, MS_FLOAT64}));
const ms::Registered batch_determinant =
    ms::RegisterRow<FunctionOfMatrices>("BatchMatrixDeterminant", kDeterminant, Types());
const ms::Registered log_determinant =
    ms::RegisterRow<FunctionOfMatrices>("LogMatrixDeterminant", kLogDeterminant, Types());

}  // namespace
}  // namespace millstream::kernels
