// Einsum: sums of products of the elements of one or two tensors, as batches of matrix products.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/strided_copy.h"
#include "kernels/common/narrow_float.h"
#include "kernels/common/parallel.h"
#include "kernels/common/wrapping.h"
#include "kernels/matmul/batched_gemm.h"
#include "kernels/matmul/blocked_gemm.h"
#include "kernels/matmul/einsum_plan.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/matmul/product_shape.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kMovePicoseconds = 2000;

template <typename T>
using Number = ComputeTypeOf<T>;

// Computes the elements [begin, end) of what `loops` take of a tensor, each summed over `sum`.
template <typename T>
void Gather(const T* tensor, const EinsumLoops& loops, const EinsumLoops& sum, int64_t begin,
            int64_t end, Number<T>* gathered) {
  const int64_t terms = CountOf(sum);
  const int64_t last = loops.empty() ? 1 : loops.back().extent;
  const int64_t step = loops.empty() ? 0 : loops.back().stride;
  for (int64_t i = begin; i < end;) {
    const int64_t column = i % last;
    const T* from = tensor + PlaceOf(loops, i);
    const int64_t count = std::min(end - i, last - column);
    for (int64_t c = 0; c < count; ++c, ++i, from += step) {
      Number<T> total = static_cast<Number<T>>(*from);
      for (int64_t k = 1; k < terms; ++k) {
        total = WrappingSum(total, static_cast<Number<T>>(from[PlaceOf(sum, k)]));
      }
      gathered[i] = total;
    }
  }
}

template <typename T>
class Einsum {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string text;
    MS_TRY(info.Attr("equation", &text));
    return ParseEquation(text, &equation_);
  }

  ms::Status Compute(ms::Frame& frame) const {
    std::vector<ms::Shape> shapes;
    for (uint32_t i = 0; i < frame.num_inputs(); ++i) shapes.push_back(frame.input(i).shape());
    EinsumPlan plan;
    MS_TRY(PlanEinsum(equation_, shapes, &plan));
    ms::View output;
    MS_TRY(frame.Output(0, plan.output, &output));
    if (output.size() == 0) return ms::Status();
    bool is_empty = false;
    for (const ms::Shape& shape : shapes) is_empty |= shape.num_elements() == 0;
    if (is_empty || !plan.fills) MS_TRY(SetToZero(frame, output));
    return is_empty ? ms::Status() : Run(frame, plan, output);
  }

 private:
  using Num = Number<T>;

  // A matrix for each product; transposed if they can be read like that where they are.
  struct Operand {
    const Num* elements = nullptr;
    bool transposed = false;
  };

  static ms::Status Run(ms::Frame& frame, const EinsumPlan& plan, const ms::View& output) {
    Operand a;
    Operand b;
    MS_TRY(Prepare(frame, plan, 0, &a));
    if (frame.num_inputs() == 1) return Scatter(frame, plan, a.elements, output);
    MS_TRY(Prepare(frame, plan, 1, &b));
    if constexpr (std::is_same_v<T, Num>) {
      if (plan.fills && IsInOrder(plan.scatter)) {
        return Multiply(frame, plan, a, b, output.data<T>());
      }
    }
    Num* product = nullptr;
    MS_TRY(Temp(frame, plan.batch, plan.rows, plan.columns, &product));
    MS_TRY(Multiply(frame, plan, a, b, product));
    return Scatter(frame, plan, product, output);
  }

  static ms::Status Temp(ms::Frame& frame, int64_t x, int64_t y, int64_t z, Num** memory) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(x, y, &bytes) || __builtin_mul_overflow(bytes, z, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<int64_t>(sizeof(Num)), &bytes)) {
      return ms::InvalidArgument("the products of 'inputs' have more elements than 63 bits count");
    }
    ms::View view;
    MS_TRY(frame.Temp(static_cast<uint64_t>(bytes), &view));
    *memory = view.data<Num>();
    return ms::Status();
  }

  static ms::Status Prepare(ms::Frame& frame, const EinsumPlan& plan, uint32_t i,
                            Operand* operand) {
    const T* const tensor = frame.input(i).data<T>();
    if constexpr (std::is_same_v<T, Num>) {
      operand->transposed = !IsInOrder(plan.gather[i]) && frame.num_inputs() == 2;
      if (plan.sum[i].empty() &&
          IsInOrder(operand->transposed ? plan.swapped[i] : plan.gather[i])) {
        operand->elements = tensor;
        return ms::Status();
      }
      operand->transposed = false;
    }
    Num* gathered = nullptr;
    MS_TRY(Temp(frame, plan.batch, plan.inner, i == 0 ? plan.rows : plan.columns, &gathered));
    operand->elements = gathered;
    const EinsumLoops& loops = plan.gather[i];
    return ParallelRows(frame, CountOf(loops), CountOf(plan.sum[i]), kMovePicoseconds,
                        [&](int64_t begin, int64_t end) {
                          Gather(tensor, loops, plan.sum[i], begin, end, gathered);
                        });
  }

  static ms::Status Multiply(ms::Frame& frame, const EinsumPlan& plan, const Operand& a,
                             const Operand& b, Num* product) {
    const GemmShape gemm = {plan.rows, plan.columns, plan.inner, a.transposed, b.transposed};
    if constexpr (std::is_same_v<Num, float>) {
      GemmShape transposes;
      transposes.transpose_a = a.transposed;
      transposes.transpose_b = b.transposed;
      ms::Shape x = {plan.batch, plan.rows, plan.inner};
      ms::Shape y = {plan.batch, plan.inner, plan.columns};
      if (a.transposed) std::swap(x[1], x[2]);
      if (b.transposed) std::swap(y[1], y[2]);
      ProductShape shape;
      MS_TRY(ResolveBatchMatMul(transposes, false, x, y, &shape));
      const BatchedGemm batched(shape, LibraryThreadCount(frame));
      ms::View scratch;
      if (batched.scratch_bytes() > 0) MS_TRY(frame.Temp(batched.scratch_bytes(), &scratch));
      return batched.Run(frame, a.elements, b.elements, product, scratch.raw());
    } else {
      const BlockedGemm<Num> blocked(gemm);
      const int64_t tiles = blocked.tiles();
      return StoppableFor(frame, static_cast<uint64_t>(plan.batch * tiles), blocked.tile_cost_ns(),
                          [&](uint64_t begin, uint64_t end) {
                            for (auto i = static_cast<int64_t>(begin);
                                 i < static_cast<int64_t>(end); ++i) {
                              const int64_t k = i / tiles;
                              blocked.RunTile(i % tiles, a.elements + k * plan.rows * plan.inner,
                                              b.elements + k * plan.inner * plan.columns,
                                              product + k * plan.rows * plan.columns);
                            }
                          });
    }
  }

  static ms::Status Scatter(ms::Frame& frame, const EinsumPlan& plan, const Num* product,
                            const ms::View& output) {
    T* const to = output.data<T>();
    return ParallelElements(frame, plan.batch * plan.rows * plan.columns, kMovePicoseconds,
                            [&](int64_t begin, int64_t end) {
                              for (int64_t i = begin; i < end; ++i) {
                                to[PlaceOf(plan.scatter, i)] = static_cast<T>(product[i]);
                              }
                            });
  }

  EinsumEquation equation_;
};

const ms::Registered einsum =
    ms::RegisterForTypes<Einsum, float, Float16, BFloat16, double, int32_t, int64_t,
                         std::complex<float>, std::complex<double>>("Einsum", "T");

}  // namespace
}  // namespace millstream::kernels
