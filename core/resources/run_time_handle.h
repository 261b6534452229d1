// The resource that a handle leads to. There are two kinds of handles. That of a handle op
// (resource_handle.h) is an address, which exists before the step begins. A kernel may also make a
// handle, of a resource that the step has made or that it was given: such a handle is a tensor,
// whose element holds a reference to the resource.
#ifndef MILLSTREAM_CORE_RESOURCES_RUN_TIME_HANDLE_H_
#define MILLSTREAM_CORE_RESOURCES_RUN_TIME_HANDLE_H_

#include "core/resources/resource.h"
#include "framework/opaque_cell.h"
#include "framework/plugin/plugin.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

// A handle for a kernel's output: a scalar of dtype kResource.
StatusOr<Tensor> MakeRunTimeHandle(ResourceRef<Resource> resource);

// What such a tensor has as its element.
OpaqueCell HandleCell(ResourceRef<Resource> resource);

// The resource of a handle of either kind; null if `view` is no handle, or a tensor of several.
// Valid as long as the view.
Resource* ResourceOf(const MS_TensorView& view);

// The view of a handle of the first kind. It shows no bytes, which tells it from a tensor.
void PointToResource(Resource* resource, MS_TensorView* view);
// True for such a view.
bool PointsToResource(const MS_TensorView& view);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_RUN_TIME_HANDLE_H_
