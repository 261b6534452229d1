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
struct ProductRules {
  ms::Status (*init)(const ms::KernelInfo& info, GemmShape* transposes);
  ms::Status (*resolve)(const GemmShape& transposes, const ms::Shape& a, const ms::Shape& b,
                        ProductShape* shape);
};

ms::Status InitMatMul(const ms::KernelInfo& info, GemmShape* transposes) {
  MS_TRY(info.Attr("transpose_a", &transposes->transpose_a));
  return info.Attr("transpose_b", &transposes->transpose_b);
}

ms::Status InitBatchMatMul(const ms::KernelInfo& info, GemmShape* transposes) {
  MS_TRY(info.Attr("adj_x", &transposes->transpose_a));
  MS_TRY(info.Attr("adj_y", &transposes->transpose_b));
  transposes->conjugate_a = transposes->transpose_a;
  transposes->conjugate_b = transposes->transpose_b;
  return ms::Status();
}

template <bool kBroadcast>
ms::Status ResolveBatches(const GemmShape& transposes, const ms::Shape& x, const ms::Shape& y,
                          ProductShape* shape) {
  return ResolveBatchMatMul(transposes, kBroadcast, x, y, shape);
}

constexpr ProductRules kMatMul = {&InitMatMul, &ResolveMatMul};
constexpr ProductRules kBatchMatMul = {&InitBatchMatMul, &ResolveBatches<false>};
constexpr ProductRules kBatchMatMulV2 = {&InitBatchMatMul, &ResolveBatches<true>};

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

template <typename T>
class BlockedProduct {
 public:
  using Row = ProductRules;

  explicit BlockedProduct(const Row& rules) : rules_(rules) {}
  ms::Status Init(const ms::KernelInfo& info) { return rules_.init(info, &transposes_); }

  ms::Status Compute(ms::Frame& frame) const {
    ProductShape shape;
    MS_TRY(rules_.resolve(transposes_, frame.input(0).shape(), frame.input(1).shape(), &shape));
    return RunBlocked<T>(frame, shape);
  }

 private:
  const Row& rules_;
  GemmShape transposes_;
};

template <typename T>
class LibraryProduct {
 public:
  using Row = ProductRules;

  explicit LibraryProduct(const Row& rules) : rules_(rules) {}
  ms::Status Init(const ms::KernelInfo& info) { return rules_.init(info, &transposes_); }

  ms::Status Specialize(ms::Specialization& specialization) const {
    ProductShape shape;
    MS_TRY(rules_.resolve(transposes_, specialization.input(0), specialization.input(1), &shape));
    PlanLibrary(specialization, shape, std::is_same_v<T, float>);
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    if (const auto* plan = frame.shape_state<LibraryPlan>()) {
      return RunPlan<T>(frame, *plan, frame.scratch());
    }
    ProductShape shape;
    MS_TRY(rules_.resolve(transposes_, frame.input(0).shape(), frame.input(1).shape(), &shape));
    return RunLibrary<T>(frame, shape);
  }

 private:
  const Row& rules_;
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
  LibraryProduct<float> product_{kMatMul};
  BiasEpilogue epilogue_;
};

template <template <typename> class Product, typename... Ts>
void RegisterTypes(const char* op, const ProductRules& rules) {
  (ms::RegisterRow<Product<Ts>>(op, rules, ms::KernelOptions().Type<Ts>("T")), ...);
}

ms::Registered RegisterProduct(const char* op, const ProductRules& rules) {
  RegisterTypes<LibraryProduct, float, Float16, BFloat16>(op, rules);
  RegisterTypes<BlockedProduct, double, int32_t, int64_t, std::complex<float>,
                std::complex<double>>(op, rules);
  return ms::Registered();
}

const ms::Registered matmul = RegisterProduct("MatMul", kMatMul);
const ms::Registered fused_matmul =
    ms::Register<FusedProduct>("_FusedMatMul", ms::KernelOptions().Type<float>("T"));
const ms::Registered batch_matmul = RegisterProduct("BatchMatMul", kBatchMatMul);
const ms::Registered batch_matmul_v2 = RegisterProduct("BatchMatMulV2", kBatchMatMulV2);

}  // namespace
}  // namespace millstream::kernels
