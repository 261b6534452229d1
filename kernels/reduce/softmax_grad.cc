// _SoftmaxGrad: (dy - sum(dy * y)) * y * scale, where the sum is over the last dimension. A few
// rows at a time are summed and finished, so that memory is read once. The bits are those of Mul,
// Sum, Sub, Mul and Mul.
#include <algorithm>
#include <cstdint>

#include "kernels/common/parallel.h"
#include "kernels/reduce/planned_reduction.h"
#include "kernels/reduce/reduce_loops.h"

namespace millstream::kernels {
namespace {

constexpr int64_t kFinishPicoseconds = 300;  // see ParallelElements
constexpr int64_t kPicoseconds = kFinishPicoseconds + kReducePicoseconds;

// Rows that are summed before they are finished: their gradients, outputs and results share the
// first-level cache.
constexpr int64_t kMostElements = 2048;
constexpr int64_t kMostRows = 64;

struct Tensors {
  // The products [begin, begin + n), for a Reduction.
  static void Multiply(const Tensors& source, int64_t begin, int64_t n, float* made) {
    const float* const dy = source.gradients + begin;
    const float* const y = source.outputs + begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) made[i] = dy[i] * y[i];
  }
  static void Make(const void* source, int64_t begin, int64_t n, void* made) {
    RunLoop<&Multiply>(*static_cast<const Tensors*>(source), begin, n, static_cast<float*>(made));
  }

  // The results [begin, end), of a row whose sum is `sum`.
  static void Finish(const Tensors& tensors, int64_t begin, int64_t end, float sum) {
    const float* const dy = tensors.gradients;
    const float* const y = tensors.outputs;
    float* const dx = tensors.results;
    const float scale = tensors.scale;
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) dx[i] = (dy[i] - sum) * y[i] * scale;
  }

  const float* gradients;
  const float* outputs;
  float* results;  // may be the memory of gradients or outputs
  float scale;
};

constexpr ReduceFunctions kSumsOfProducts = {MS_FLOAT32, &kSumLoops.float32, &Tensors::Make,
                                             nullptr};

// Whether the sum of a row is one task, and that of the next row the next.
bool SumsRowByRow(const ReducePlan& plan) { return plan.inner_reduced && plan.groups == 1; }

class SoftmaxGrad : public PlannedReduction<SoftmaxGrad, 0, 1> {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("scale", &scale_); }

  // The sums and the parts of them, where they are not used up at once.
  static uint64_t ScratchBytes(const ReducePlan& plan) {
    if (SumsRowByRow(plan)) return 0;
    return static_cast<uint64_t>(plan.outputs + plan.partial_elements()) * sizeof(float);
  }

  static ms::Status Plan(const ms::Shape& gradients, const ms::Shape& outputs, ReducePlan* plan) {
    if (gradients != outputs) {
      return ms::InvalidArgument(
          "_SoftmaxGrad: inputs gradients and softmax must have the same shape, got ",
          gradients.ToString(), " and ", outputs.ToString());
    }
    if (gradients.rank() == 0) {
      return ms::InvalidArgument(
          "_SoftmaxGrad: input gradients must have at least one dimension, but is a scalar");
    }
    PlanReduction(gradients, uint32_t{1} << (gradients.rank() - 1), true, plan);
    return ms::Status();
  }

  ms::Status Run(ms::Frame& frame, const ReducePlan& plan, void* scratch) const {
    const ms::View gradients = frame.input(0);
    ms::View results;
    MS_TRY(frame.ForwardOrOutput(0, 0, gradients.shape(), &results));
    if (gradients.size() == 0) return ms::Status();
    const Tensors tensors = {gradients.data<float>(), frame.input(1).data<float>(),
                             results.data<float>(), scale_};
    return SumsRowByRow(plan) ? RunByRows(frame, plan, tensors)
                              : RunInTurn(frame, plan, tensors, static_cast<float*>(scratch));
  }

 private:
  static ms::Status RunByRows(ms::Frame& frame, const ReducePlan& plan, const Tensors& tensors) {
    const int64_t columns = plan.count;
    const int64_t together = std::clamp<int64_t>(kMostElements / columns, 1, kMostRows);
    return ParallelRows(
        frame, plan.outputs, columns, kPicoseconds, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; row += together) {
            const int64_t rows = std::min(together, end - row);
            Tensors part = tensors;
            part.gradients += row * columns;
            part.outputs += row * columns;
            part.results += row * columns;
            float sums[kMostRows];
            Reduction(plan, kSumsOfProducts, &part, sums, nullptr).RunTasks(0, rows);
            for (int64_t i = 0; i < rows; ++i) {
              RunLoop<&Tensors::Finish>(part, i * columns, (i + 1) * columns, sums[i]);
            }
          }
        });
  }

  // First all sums: there are few, of long rows, or rows are single elements.
  static ms::Status RunInTurn(ms::Frame& frame, const ReducePlan& plan, const Tensors& tensors,
                              float* scratch) {
    float* const sums = scratch;
    const Reduction reduction(plan, kSumsOfProducts, &tensors, sums, scratch + plan.outputs);
    MS_TRY(ParallelRows(frame, plan.tasks(), plan.elements_per_task(), kReducePicoseconds,
                        [&](int64_t begin, int64_t end) { reduction.RunTasks(begin, end); }));
    if (plan.groups > 1) reduction.CombineGroups();
    const int64_t columns = plan.count;
    return ParallelElements(frame, plan.outputs * columns, kFinishPicoseconds,
                            [&](int64_t begin, int64_t end) {
                              while (begin < end) {
                                const int64_t row = begin / columns;
                                const int64_t stop = std::min(end, (row + 1) * columns);
                                RunLoop<&Tensors::Finish>(tensors, begin, stop, sums[row]);
                                begin = stop;
                              }
                            });
  }

  float scale_ = 1;
};

const ms::Registered softmax_grad = ms::Register<SoftmaxGrad>(
    "_SoftmaxGrad", ms::KernelOptions().Type<float>("T").InPlace(0, 0).InPlace(0, 1));

}  // namespace
}  // namespace millstream::kernels
