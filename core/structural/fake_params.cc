// FakeParam: a tensor that nobody uses.
#include <cstring>
#include <utility>

#include "core/structural/host_kernel.h"

namespace millstream {
namespace {

class FakeParamKernel final : public SyncHostKernel {
 public:
  Status Init(const HostKernelInfo& info) override {
    MS_ASSIGN_OR_RETURN(const DataType dtype, info.Attr<DataType>("dtype"));
    MS_ASSIGN_OR_RETURN(const PartialShape declared, info.Attr<PartialShape>("shape"));
    Shape shape;
    if (declared.known_rank()) {
      for (const int64_t dim : declared.dims()) shape.AddDim(dim == kUnknownDim ? 0 : dim);
    }
    MS_ASSIGN_OR_RETURN(value_, Tensor::Create(dtype, shape));
    if (IsPlainData(dtype)) std::memset(value_.raw(), 0, value_.bytes());
    return absl::OkStatus();
  }
  Status Compute(StructuralFrame* frame) override { return frame->SetOutput(0, value_); }

 private:
  Tensor value_;
};

MILLSTREAM_HOST_KERNEL("FakeParam", FakeParamKernel);

}  // namespace
}  // namespace millstream
