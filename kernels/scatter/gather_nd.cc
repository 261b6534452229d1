// GatherNd and ResourceGatherNd: slices picked by index vectors.
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"
#include "kernels/scatter/nd_indices.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

ms::Status CopyStringRows(const ms::View& params, const ms::View& ids, int64_t width,
                          const ms::View& output) {
  for (int64_t k = 0; k < ids.size(); ++k) {
    MS_TRY(CopyStrings(params, IndexAt(ids, k) * width, output, k * width, width));
  }
  return ms::Status();
}

ms::Status CopyRows(ms::Frame& frame, const ms::View& params, const ms::View& ids, uint64_t bytes,
                    const ms::View& output) {
  const char* const from = params.data<char>();
  char* const to = output.data<char>();
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const auto row = static_cast<uint64_t>(IndexAt(ids, k));
      const auto place = static_cast<uint64_t>(k);
      // A copy of a fixed size is a load and a store.
      if (bytes == sizeof(uint32_t)) {
        std::memcpy(to + place * 4, from + row * 4, 4);
      } else {
        std::memcpy(to + place * bytes, from + row * bytes, bytes);
      }
    }
  };
  return StoppableFor(frame, static_cast<uint64_t>(ids.size()), 3 + bytes / 8, copy);
}

ms::Status GatherSlices(ms::Frame& frame, const char* name, const ms::View& params,
                        const ms::View& indices) {
  NdIndices slices;
  MS_TRY(slices.Init(name, params.shape(), indices));
  ms::View output;
  MS_TRY(frame.Output(0, slices.slices(), &output));
  // Not even slices that have nothing are picked from nothing.
  if (params.size() == 0 && slices.count() > 0) {
    return ms::InvalidArgument("Requested more than 0 entries, but ", name,
                               " is empty: its shape is ", params.shape().ToString());
  }
  if (output.size() == 0) return ms::Status();
  MS_TRY(slices.Check());
  ms::View ids;
  MS_TRY(slices.ToRows(frame, &ids));
  if (params.dtype() == MS_STRING) return CopyStringRows(params, ids, slices.width(), output);
  const uint64_t bytes = static_cast<uint64_t>(slices.width()) * ms::ElementSize(params.dtype());
  return CopyRows(frame, params, ids, bytes, output);
}

// Inputs: params, indices.
class GatherNd {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    return GatherSlices(frame, "params", frame.input(0), frame.input(1));
  }
};

// Inputs: resource (a variable), indices.
class ResourceGatherNd {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_READ}}, &locks)));
    ms::View params;
    MS_TRY(UnassignedIsNotFound(locks.Read(0, &params)));
    return GatherSlices(frame, "resource", params, frame.input(1));
  }
};

const ms::Registered gather_nd = ms::Register<GatherNd>(
    "GatherNd",
    ms::KernelOptions().Types("Tparams", MovableTypes()).Types("Tindices", IndexTypes()));
const ms::Registered resource_gather_nd = ms::Register<ResourceGatherNd>(
    "ResourceGatherNd",
    ms::KernelOptions().Types("dtype", MovableTypes()).Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
