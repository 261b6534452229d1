// MatMul: float32 through oneDNN, the other types by our own blocked product.
#include <cstdint>
#include <memory>

#include "framework/plugin/plugin.hpp"
#include "kernels/matmul/blocked_gemm.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/library_threads.h"

namespace millstream::kernels {
namespace {

class MatMulBase {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("transpose_a", &transpose_a_));
    return info.Attr("transpose_b", &transpose_b_);
  }

 protected:
  ms::Status Resolve(const ms::Shape& a, const ms::Shape& b, GemmShape* shape) const {
    if (a.rank() != 2) return ms::InvalidArgument("a must be a matrix, but is ", a.ToString());
    if (b.rank() != 2) return ms::InvalidArgument("b must be a matrix, but is ", b.ToString());
    const int64_t depth_a = a[transpose_a_ ? 0 : 1];
    const int64_t depth_b = b[transpose_b_ ? 1 : 0];
    if (depth_a != depth_b) {
      return ms::InvalidArgument("Matrix size-incompatible: a is ", a.ToString(),
                                 transpose_a_ ? " (transposed)" : "", " and b is ", b.ToString(),
                                 transpose_b_ ? " (transposed)" : "", ", so the inner dimensions ",
                                 depth_a, " and ", depth_b, " differ");
    }
    *shape = {a[transpose_a_ ? 1 : 0], b[transpose_b_ ? 0 : 1], depth_a, transpose_a_,
              transpose_b_};
    return ms::Status();
  }

 private:
  bool transpose_a_ = false;
  bool transpose_b_ = false;
};

template <typename T>
class BlockedMatMul : public MatMulBase {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    GemmShape shape;
    MS_TRY(Resolve(frame.input(0).shape(), frame.input(1).shape(), &shape));
    ms::View product;
    MS_TRY(frame.Output(0, {shape.m, shape.n}, &product));
    BlockedGemm<T>(shape, frame.input(0).data<T>(), frame.input(1).data<T>(), product.data<T>())
        .Run(frame);
    return ms::Status();
  }
};

class LibraryMatMul : public MatMulBase {
 public:
  ms::Status Specialize(ms::Specialization& specialization) const {
    GemmShape shape;
    MS_TRY(Resolve(specialization.input(0), specialization.input(1), &shape));
    auto plan = std::make_unique<Plan>(shape, static_cast<int>(specialization.num_threads()));
    specialization.SetScratchBytes(plan->gemm.scratch_bytes());
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const float* a = frame.input(0).data<float>();
    const float* b = frame.input(1).data<float>();
    ms::View product;
    if (const Plan* plan = frame.shape_state<Plan>()) {
      MS_TRY(frame.Output(0, {plan->shape.m, plan->shape.n}, &product));
      return plan->gemm.Run(a, b, product.data<float>(), frame.scratch(),
                            LibraryThreadCount(frame));
    }
    GemmShape shape;
    MS_TRY(Resolve(frame.input(0).shape(), frame.input(1).shape(), &shape));
    MS_TRY(frame.Output(0, {shape.m, shape.n}, &product));
    return RunGemm(frame, shape, a, b, product.data<float>());
  }

 private:
  struct Plan : ms::ShapeState {
    Plan(const GemmShape& gemm_shape, int threads) : shape(gemm_shape), gemm(gemm_shape, threads) {}
    GemmShape shape;
    Gemm gemm;
  };
};

const ms::Registered library_matmul =
    ms::Register<LibraryMatMul>("MatMul", ms::KernelOptions().Type<float>("T"));
const ms::Registered blocked_matmul =
    ms::RegisterForTypes<BlockedMatMul, double, int32_t, int64_t>("MatMul", "T");

}  // namespace
}  // namespace millstream::kernels
