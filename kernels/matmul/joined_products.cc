// _JoinedMatMul, _PartMatMul and _SummedMatMul: the products of a recurrent network that is
// unrolled, several as one.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "framework/plugin/plugin.hpp"
#include "kernels/common/input_shapes.h"
#include "kernels/common/parallel.h"
#include "kernels/matmul/gemm.h"
#include "kernels/matmul/kept_strips.h"
#include "kernels/matmul/library_threads.h"
#include "kernels/matmul/strip_blocks.h"
#include "kernels/matmul/window_product.h"
#include "kernels/simd/instruction_set.h"

namespace millstream::kernels {
namespace {

struct PreparedGemm : ms::ShapeState {
  PreparedGemm(const GemmShape& gemm_shape, int threads)
      : shape(gemm_shape), gemm(gemm_shape, threads) {}
  GemmShape shape;
  Gemm gemm;
};

ms::Status CheckMatrix(const char* argument, const ms::Shape& shape) {
  if (shape.rank() == 2) return ms::Status();
  return ms::InvalidArgument(argument, " must be a matrix, its shape is ", shape.ToString());
}

// Temporary memory for `count` floats.
ms::Status TempFloats(ms::Frame& frame, int64_t count, float** floats) {
  ms::View memory;
  MS_TRY(frame.Temp(static_cast<uint64_t>(count) * sizeof(float), &memory));
  *floats = static_cast<float*>(memory.raw());
  return ms::Status();
}

// Copies inputs of a kernel, one after the other.
void Join(const ms::Frame& frame, uint32_t first, uint32_t count, float* to) {
  for (uint32_t i = first; i < first + count; ++i) {
    const ms::View part = frame.input(i);
    if (part.size() > 0) std::memcpy(to, part.raw(), part.bytes());
    to += part.size();
  }
}

// C = A * B with the library, prepared if the plan knows the shapes.
ms::Status RunPrepared(ms::Frame& frame, const GemmShape& shape, const float* a, const float* b,
                       float* c) {
  const auto* const prepared = frame.shape_state<PreparedGemm>();
  if (prepared == nullptr) return RunGemm(frame, shape, a, b, c);
  return prepared->gemm.Run(frame, a, b, c, frame.scratch(), LibraryThreadCount(frame));
}

void Prepare(ms::Specialization& specialization, const GemmShape& shape, const float* constant_b) {
  auto prepared =
      std::make_unique<PreparedGemm>(shape, static_cast<int>(specialization.num_threads()));
  if (constant_b != nullptr) prepared->gemm.KeepRight(constant_b);
  specialization.SetScratchBytes(prepared->gemm.scratch_bytes());
  specialization.SetState(std::move(prepared));
}

// The rows of a right operand that are multiplied with.
class Part {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("first_row", &first_));
    MS_TRY(info.Attr("num_rows", &rows_));
    return info.Attr("transpose_b", &transpose_);
  }

  // The product of `count` matrices of shape `a`, one below the other, and the rows of `b`.
  ms::Status Resolve(const ms::Shape& a, const ms::Shape& b, int64_t count,
                     GemmShape* shape) const {
    MS_TRY(CheckMatrix("a", a));
    MS_TRY(CheckMatrix("b", b));
    if (first_ > b[0] || rows_ > b[0] - first_) {
      return ms::InvalidArgument("b has no rows ", first_, " to ", first_ + rows_,
                                 ", its shape is ", b.ToString());
    }
    shape->m = count * a[0];
    shape->k = a[1];
    shape->n = transpose_ ? rows_ : b[1];
    shape->transpose_b = transpose_;
    const int64_t inner = transpose_ ? b[1] : rows_;
    if (shape->k == inner) return ms::Status();
    return ms::InvalidArgument("a must have ", inner, " columns, its shape is ", a.ToString());
  }

  const float* RowsOf(const ms::View& b) const { return b.data<float>() + first_ * b.dim(1); }

 private:
  int64_t first_ = 0;
  int64_t rows_ = 0;
  bool transpose_ = false;
};

struct JoinedPlan : ms::ShapeState {
  std::unique_ptr<Gemm> gemm;  // null where the product is computed from strips
  KeptStrips kept;             // of b, if the plan knows it; else null
};

// The memory of an execution: what the Gemm needs, then the matrices one below the other, their
// product, and the strips of b if these are arranged in each execution. Places are in floats.
struct JoinedMemory {
  JoinedMemory(const GemmShape& shape, const JoinedPlan* plan, bool in_strips) {
    constexpr int64_t kLine = 16;  // floats of a cache line
    const bool has_gemm = plan != nullptr && plan->gemm != nullptr;
    const bool arranges = in_strips && (plan == nullptr || plan->kept == nullptr);
    const auto gemm_bytes = static_cast<int64_t>(has_gemm ? plan->gemm->scratch_bytes() : 0);
    const int64_t line_bytes = kLine * static_cast<int64_t>(sizeof(float));
    joined = (gemm_bytes + line_bytes - 1) / line_bytes * kLine;
    products = joined + shape.m * shape.k;
    strips = products + shape.m * shape.n;
    size = strips + (arranges ? StripsSize(shape.k, shape.n) : 0);
  }

  int64_t joined;
  int64_t products;
  int64_t strips;
  int64_t size;
};

// Inputs: a (N matrices of one shape), b.
class JoinedProducts {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("in_strips", &in_strips_));
    return part_.Init(info);
  }

  ms::Status Specialize(ms::Specialization& specialization) const {
    const uint32_t count = specialization.num_inputs() - 1;
    GemmShape shape;
    MS_TRY(part_.Resolve(specialization.input(0), specialization.input(count), count, &shape));
    const ms::View b = specialization.constant(count);
    const bool is_known = !b.is_null() && shape.k > 0 && shape.n > 0;
    auto plan = std::make_unique<JoinedPlan>();
    if (!in_strips_) {
      plan->gemm = std::make_unique<Gemm>(shape, static_cast<int>(specialization.num_threads()));
      if (is_known) plan->gemm->KeepRight(part_.RowsOf(b));
    } else if (is_known) {
      plan->kept = KeepStrips({part_.RowsOf(b), shape.k, shape.n, shape.transpose_b});
    }
    const JoinedMemory places(shape, plan.get(), in_strips_);
    specialization.SetScratchBytes(static_cast<uint64_t>(places.size) * sizeof(float));
    specialization.SetState(std::move(plan));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs() - 1;
    const ms::Shape first = frame.input(0).shape();
    GemmShape shape;
    MS_TRY(part_.Resolve(first, frame.input(count).shape(), count, &shape));
    for (uint32_t i = 1; i < count; ++i) {
      if (frame.input(i).shape() == first) continue;
      return ms::InvalidArgument("a[", i, "] must have the shape of a[0], ", first.ToString(),
                                 ", its shape is ", frame.input(i).shape().ToString());
    }
    const auto* const plan = frame.shape_state<JoinedPlan>();
    const JoinedMemory places(shape, plan, in_strips_);
    auto* memory = plan == nullptr ? nullptr : static_cast<float*>(frame.scratch());
    if (plan == nullptr) MS_TRY(TempFloats(frame, places.size, &memory));
    Join(frame, 0, count, memory + places.joined);
    MS_TRY(in_strips_ ? MultiplyInStrips(frame, shape, places, memory)
                      : MultiplyByGemm(frame, shape, places, memory));
    const float* const products = memory + places.products;
    for (uint32_t i = 0; i < count; ++i) {
      ms::View output;
      MS_TRY(frame.Output(i, ms::Shape{first[0], shape.n}, &output));
      if (!frame.output_used(i) || output.size() == 0) continue;
      std::memcpy(output.raw(), products + i * output.size(), output.bytes());
    }
    return ms::Status();
  }

 private:
  const float* RightOf(const ms::Frame& frame) const {
    return part_.RowsOf(frame.input(frame.num_inputs() - 1));
  }

  ms::Status MultiplyByGemm(ms::Frame& frame, const GemmShape& shape, const JoinedMemory& places,
                            float* memory) const {
    const auto* const plan = frame.shape_state<JoinedPlan>();
    const float* const a = memory + places.joined;
    float* const c = memory + places.products;
    if (plan == nullptr) return RunGemm(frame, shape, a, RightOf(frame), c);
    void* const scratch = plan->gemm->scratch_bytes() > 0 ? memory : nullptr;
    return plan->gemm->Run(frame, a, RightOf(frame), c, scratch, LibraryThreadCount(frame));
  }

  ms::Status MultiplyInStrips(ms::Frame& frame, const GemmShape& shape, const JoinedMemory& places,
                              float* memory) const {
    const auto* const plan = frame.shape_state<JoinedPlan>();
    const float* strips = nullptr;
    if (plan != nullptr && plan->kept != nullptr) {
      strips = plan->kept->data()->values;
    } else {
      const StridedMatrix b{RightOf(frame), shape.transpose_b ? 1 : shape.n,
                            shape.transpose_b ? shape.k : 1};
      ArrangeStrips(b, shape.k, shape.n, 0, StripsOf(shape.n), memory + places.strips);
      strips = memory + places.strips;
    }
    const float* const a = memory + places.joined;
    float* const c = memory + places.products;
    return ForEachStripBlock(frame, shape.m, shape.k, shape.n, [&](const StripBlock& block) {
      MultiplyStrips({a + block.row * shape.k, shape.k, block.rows, strips + block.column * shape.k,
                      shape.k, block.columns, c + block.row * shape.n + block.column, shape.n});
    });
  }

  Part part_;
  bool in_strips_ = false;
};

// Inputs: a, b, addends.
class PartProduct {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return part_.Init(info); }

  ms::Status Specialize(ms::Specialization& specialization) const {
    GemmShape shape;
    MS_TRY(part_.Resolve(specialization.input(0), specialization.input(1), 1, &shape));
    const ms::View b = specialization.constant(1);
    Prepare(specialization, shape, b.is_null() || b.size() == 0 ? nullptr : part_.RowsOf(b));
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View b = frame.input(1);
    GemmShape shape;
    MS_TRY(part_.Resolve(frame.input(0).shape(), b.shape(), 1, &shape));
    for (uint32_t i = 2; i < frame.num_inputs(); ++i) {
      const ms::Shape addend = frame.input(i).shape();
      const bool is_vector = addend == ms::Shape{shape.n};
      if (is_vector || addend == ms::Shape{shape.m, shape.n}) continue;
      return ms::InvalidArgument("addends must go with a product of shape [", shape.m, ",", shape.n,
                                 "], one has shape ", addend.ToString());
    }
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{shape.m, shape.n}, &output));
    MS_TRY(RunPrepared(frame, shape, frame.input(0).data<float>(), part_.RowsOf(b),
                       output.data<float>()));
    return AddAll(frame, shape.n, output);
  }

 private:
  static constexpr int64_t kPicoseconds = 250;  // see ParallelElements

  static void Add(const float* addend, int64_t columns, float* elements) {
#pragma GCC ivdep
    for (int64_t i = 0; i < columns; ++i) elements[i] += addend[i];
  }

  // Row by row, so that each is in the first cache.
  static ms::Status AddAll(ms::Frame& frame, int64_t columns, const ms::View& output) {
    if (output.size() == 0 || frame.num_inputs() == 2) return ms::Status();
    float* const values = output.data<float>();
    return ParallelRows(frame, output.dim(0), columns, kPicoseconds * (frame.num_inputs() - 2),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t row = begin; row < end; ++row) {
                            for (uint32_t i = 2; i < frame.num_inputs(); ++i) {
                              const ms::View addend = frame.input(i);
                              const int64_t skipped = addend.rank() == 1 ? 0 : row * columns;
                              RunLoop<&Add>(addend.data<float>() + skipped, columns,
                                            values + row * columns);
                            }
                          }
                        });
  }

  Part part_;
};

// Inputs: a (N matrices), b (N matrices).
class SummedProducts {
 public:
  ms::Status Init(const ms::KernelInfo&) { return ms::Status(); }

  ms::Status Specialize(ms::Specialization& specialization) const {
    GemmShape shape;
    MS_TRY(Resolve(specialization, &shape));
    Prepare(specialization, shape, nullptr);
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    GemmShape shape;
    MS_TRY(Resolve(InputShapes{frame}, &shape));
    const uint32_t count = frame.num_inputs() / 2;
    float* a = nullptr;
    float* b = nullptr;
    MS_TRY(TempFloats(frame, shape.k * shape.m, &a));
    MS_TRY(TempFloats(frame, shape.k * shape.n, &b));
    Join(frame, 0, count, a);
    Join(frame, count, count, b);
    ms::View output;
    MS_TRY(frame.Output(0, ms::Shape{shape.m, shape.n}, &output));
    return RunPrepared(frame, shape, a, b, output.data<float>());
  }

 private:
  // The sum of products is one product, of the matrices one below the other.
  template <typename Inputs>
  static ms::Status Resolve(const Inputs& inputs, GemmShape* shape) {
    const uint32_t count = inputs.num_inputs() / 2;
    shape->transpose_a = true;
    for (uint32_t i = 0; i < count; ++i) {
      const ms::Shape a = inputs.input(i);
      const ms::Shape b = inputs.input(count + i);
      MS_TRY(CheckMatrix("a", a));
      MS_TRY(CheckMatrix("b", b));
      if (i == 0) {
        shape->m = a[1];
        shape->n = b[1];
      }
      if (a[0] != b[0] || a[1] != shape->m || b[1] != shape->n) {
        return ms::InvalidArgument("a[", i, "] and b[", i, "] must have equally many rows, and ",
                                   shape->m, " and ", shape->n, " columns, their shapes are ",
                                   a.ToString(), " and ", b.ToString());
      }
      shape->k += a[0];
    }
    return ms::Status();
  }
};

template <typename Kernel>
ms::Registered RegisterJoined(const char* op) {
  return ms::Register<Kernel>(op, ms::KernelOptions().Type<float>("T"));
}

const ms::Registered joined = RegisterJoined<JoinedProducts>("_JoinedMatMul");
const ms::Registered part = RegisterJoined<PartProduct>("_PartMatMul");
const ms::Registered summed = RegisterJoined<SummedProducts>("_SummedMatMul");

}  // namespace
}  // namespace millstream::kernels
