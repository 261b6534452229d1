// MatMul, BatchMatMul and BatchMatMulV2: float32 and, widened to it, the narrow floats through
// oneDNN; the other types by our own blocked product.
#include <complex>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wide_tensors.h"
#include "kernels/matmul/batched_gemm.h"
#include "kernels/matmul/bias_epilogue.h"
#include "kernels/matmul/blocked_gemm.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/matmul/product_shape.h"

namespace millstream::kernels {
namespace {

// How an op says what is done to the matrices first, and which shapes go together.
struct MatMulOp {
  static ms::Status Init(const ms::KernelInfo& info, GemmShape* transposes) {
    MS_TRY(info.Attr("transpose_a", &transposes->transpose_a));
    return info.Attr("transpose_b", &transposes->transpose_b);
  }
  static ms::Status Resolve(const GemmShape& transposes, const ms::Shape& a, const ms::Shape& b,
                            ProductShape* shape) {
    return ResolveMatMul(transposes, a, b, shape);
  }
};

template <bool kBroadcast>
struct BatchMatMulOp {
  static ms::Status Init(const ms::KernelInfo& info, GemmShape* transposes) {
    MS_TRY(info.Attr("adj_x", &transposes->transpose_a));
    MS_TRY(info.Attr("adj_y", &transposes->transpose_b));
    transposes->conjugate_a = transposes->transpose_a;
    transposes->conjugate_b = transposes->transpose_b;
    return ms::Status();
  }
  static ms::Status Resolve(const GemmShape& transposes, const ms::Shape& x, const ms::Shape& y,
                            ProductShape* shape) {
    return ResolveBatchMatMul(transposes, kBroadcast, x, y, shape);
  }
};

// What follows is compiled once a type, for all ops.

template <typename T>
ms::Status RunBlocked(ms::Frame& frame, const ProductShape& shape) {
  ms::View output;
  MS_TRY(frame.Output(0, shape.output, &output));
  const T* a = frame.input(0).data<T>();
  const T* b = frame.input(1).data<T>();
  T* c = output.data<T>();
  const BlockedGemm<T> gemm(shape.gemm);
  const int64_t tiles = gemm.tiles();
  return StoppableFor(
      frame, shape.count * tiles, gemm.tile_cost_ns(), [&](uint64_t begin, uint64_t end) {
        for (int64_t tile = begin; tile < static_cast<int64_t>(end); ++tile) {
          const int64_t product = tile / tiles;
          const MatrixPair pair = shape.MatricesOf(product);
          gemm.RunTile(tile % tiles, a + pair.a * shape.a_matrix(), b + pair.b * shape.b_matrix(),
                       c + product * shape.output_matrix());
        }
      });
}

struct LibraryPlan : ms::ShapeState {
  LibraryPlan(const ProductShape& shape, int threads)
      : output(shape.output), gemm(shape, threads) {}
  ms::Shape output;
  BatchedGemm gemm;
};

void PlanLibrary(ms::Specialization& specialization, const ProductShape& shape, bool keeps_right) {
  auto plan = std::make_unique<LibraryPlan>(shape, static_cast<int>(specialization.num_threads()));
  const ms::View right = specialization.constant(1);
  if (keeps_right && !right.is_null() && right.size() > 0) {
    plan->gemm.KeepRight(right.data<float>());
  }
  specialization.SetScratchBytes(plan->gemm.scratch_bytes());
  specialization.SetState(std::move(plan));
}

template <typename T>
ms::Status RunPlan(ms::Frame& frame, const LibraryPlan& plan, void* scratch) {
  float* a = nullptr;
  float* b = nullptr;
  MS_TRY(WideInput<T>(frame, 0, &a));
  MS_TRY(WideInput<T>(frame, 1, &b));
  ms::View output;
  MS_TRY(frame.Output(0, plan.output, &output));
  WideOutput<T> product;
  MS_TRY(product.Init(frame, output));
  MS_TRY(plan.gemm.Run(frame, a, b, product.data(), scratch));
  return product.Finish(frame);
}

template <typename T>
ms::Status RunLibrary(ms::Frame& frame, const ProductShape& shape) {
  const LibraryPlan plan(shape, LibraryThreadCount(frame));
  ms::View scratch;
  if (plan.gemm.scratch_bytes() > 0) MS_TRY(frame.Temp(plan.gemm.scratch_bytes(), &scratch));
  return RunPlan<T>(frame, plan, scratch.raw());
}

template <typename Op, typename T>
class BlockedProduct {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return Op::Init(info, &transposes_); }

  ms::Status Compute(ms::Frame& frame) const {
    ProductShape shape;
    MS_TRY(Op::Resolve(transposes_, frame.input(0).shape(), frame.input(1).shape(), &shape));
    return RunBlocked<T>(frame, shape);
  }

 private:
  GemmShape transposes_;
};

template <typename Op, typename T>
class LibraryProduct {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return Op::Init(info, &transposes_); }

  ms::Status Specialize(ms::Specialization& specialization) const {
    ProductShape shape;
    MS_TRY(Op::Resolve(transposes_, specialization.input(0), specialization.input(1), &shape));
    PlanLibrary(specialization, shape, std::is_same_v<T, float>);
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* plan = frame.shape_state<LibraryPlan>()) {
      return RunPlan<T>(frame, *plan, frame.scratch());
    }
    ProductShape shape;
    MS_TRY(Op::Resolve(transposes_, frame.input(0).shape(), frame.input(1).shape(), &shape));
    return RunLibrary<T>(frame, shape);
  }

 private:
  GemmShape transposes_;
};

// _FusedMatMul
class FusedProduct {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(epilogue_.Init(info));
    return product_.Init(info);
  }
  ms::Status Specialize(ms::Specialization& specialization) const {
    return product_.Specialize(specialization);
  }
  ms::Status Compute(ms::Frame& frame) const {
    MS_TRY(product_.Compute(frame));
    return epilogue_.Run(frame);
  }

 private:
  LibraryProduct<MatMulOp, float> product_;
  BiasEpilogue epilogue_;
};

template <typename Op>
struct ProductOf {
  template <typename T>
  using Blocked = BlockedProduct<Op, T>;
  template <typename T>
  using Library = LibraryProduct<Op, T>;
};

template <typename Op>
ms::Registered RegisterProduct(const char* op) {
  ms::RegisterForTypes<ProductOf<Op>::template Library, float, Float16, BFloat16>(op, "T");
  return ms::RegisterForTypes<ProductOf<Op>::template Blocked, double, int32_t, int64_t,
                              std::complex<float>, std::complex<double>>(op, "T");
}

const ms::Registered matmul = RegisterProduct<MatMulOp>("MatMul");
const ms::Registered fused_matmul =
    ms::Register<FusedProduct>("_FusedMatMul", ms::KernelOptions().Type<float>("T"));
const ms::Registered batch_matmul = RegisterProduct<BatchMatMulOp<false>>("BatchMatMul");
const ms::Registered batch_matmul_v2 = RegisterProduct<BatchMatMulOp<true>>("BatchMatMulV2");

}  // namespace
}  // namespace millstream::kernels
