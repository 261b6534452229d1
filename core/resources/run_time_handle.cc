#include "core/resources/run_time_handle.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

class HeldResource final : public OpaqueObject {
 public:
  explicit HeldResource(ResourceRef<Resource> resource) : resource_(std::move(resource)) {}
  std::string DebugString() const override {
    return absl::StrCat("handle of a ", resource_->type());
  }
  Resource* resource() const { return resource_.get(); }

 private:
  const ResourceRef<Resource> resource_;
};

// A tensor without elements shows no bytes either.
bool HasElements(const MS_TensorView& view) {
  if (view.rank == MS_UNKNOWN_RANK) return true;
  for (uint32_t i = 0; i < view.rank; ++i) {
    if (view.dims[i] == 0) return false;
  }
  return true;
}

}  // namespace

OpaqueCell HandleCell(ResourceRef<Resource> resource) {
  return std::make_shared<HeldResource>(std::move(resource));
}

StatusOr<Tensor> MakeRunTimeHandle(ResourceRef<Resource> resource) {
  MS_ASSIGN_OR_RETURN(Tensor handle, Tensor::Create(DataType::kResource, Shape()));
  *handle.data<OpaqueCell>() = HandleCell(std::move(resource));
  return handle;
}

Resource* ResourceOf(const MS_TensorView& view) {
  if (PointsToResource(view)) return static_cast<Resource*>(view.mem.base);
  if (view.dtype != MS_RESOURCE || view.mem.base == nullptr) return nullptr;
  if (view.mem.bytes != sizeof(OpaqueCell)) return nullptr;
  const char* const element = static_cast<const char*>(view.mem.base) + view.mem.offset;
  const OpaqueCell& cell = *reinterpret_cast<const OpaqueCell*>(element);
  const auto* const held = dynamic_cast<const HeldResource*>(cell.get());
  return held == nullptr ? nullptr : held->resource();
}

void PointToResource(Resource* resource, MS_TensorView* view) {
  view->mem.base = resource;
  view->mem.bytes = 0;
  view->flags |= MS_VIEW_RESOURCE;
}

bool PointsToResource(const MS_TensorView& view) {
  return view.dtype == MS_RESOURCE && view.mem.base != nullptr && view.mem.bytes == 0 &&
         HasElements(view);
}

}  // namespace millstream
