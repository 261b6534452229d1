// Gather, GatherV2 and ResourceGather: rows picked by index along one axis.
#include <cstdint>
#include <cstring>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"
#include "kernels/training/variables.h"

namespace millstream::kernels {
namespace {

// params is seen as [batch, outer, size, row], indices as [batch, count], and the output as
// [batch, outer, count, row].
struct GatherGeometry {
  ms::Shape output;
  uint64_t outer = 1;
  uint64_t groups = 1;  // batch * outer
  uint64_t size = 0;
  uint64_t count = 0;
  uint64_t row = 0;
};

ms::Status MakeGeometry(const ms::View& params, const ms::Shape& indices, int64_t given_axis,
                        int64_t given_batch_dims, GatherGeometry* geometry) {
  const ms::Shape source = params.shape();
  if (source.rank() == 0) return ms::InvalidArgument("params must have rank 1 or more");
  uint32_t axis = 0;
  MS_TRY(ResolveAxis(given_axis, source.rank(), "axis", &axis));
  const int64_t batch_dims =
      given_batch_dims < 0 ? given_batch_dims + indices.rank() : given_batch_dims;
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims > axis) {
    return ms::InvalidArgument("batch_dims = ", given_batch_dims, " must not exceed axis = ", axis,
                               " nor the rank of indices, which have shape ", indices.ToString());
  }
  const uint32_t batch_rank = static_cast<uint32_t>(batch_dims);
  for (uint32_t i = 0; i < batch_rank; ++i) {
    if (source[i] == indices[i]) continue;
    return ms::InvalidArgument(
        "params and indices must agree in the first batch_dims = ", batch_rank,
        " dimensions, but have shapes ", source.ToString(), " and ", indices.ToString());
  }
  MS_TRY(CheckRank(source.rank() - 1 + indices.rank() - batch_rank));
  geometry->output = ms::Shape(source.begin(), axis);
  for (uint32_t i = batch_rank; i < indices.rank(); ++i) geometry->output.Append(indices[i]);
  for (uint32_t i = axis + 1; i < source.rank(); ++i) geometry->output.Append(source[i]);
  geometry->outer = static_cast<uint64_t>(DimProduct(source, batch_rank, axis));
  geometry->groups = static_cast<uint64_t>(DimProduct(source, 0, axis));
  geometry->size = static_cast<uint64_t>(source[axis]);
  geometry->count = static_cast<uint64_t>(DimProduct(indices, batch_rank, indices.rank()));
  geometry->row = static_cast<uint64_t>(DimProduct(source, axis + 1, source.rank()));
  return ms::Status();
}

template <uint64_t kBytes>
struct FixedRow {
  uint64_t bytes() const { return kBytes; }
};
struct AnyRow {
  uint64_t size;
  uint64_t bytes() const { return size; }
};

template <typename Index, typename Row>
ms::Status CopyRows(ms::Frame& frame, const GatherGeometry& geometry, Row row, const char* params,
                    const Index* indices, char* output) {
  const uint64_t cost_ns = 2 + row.bytes() / 8;
  const uint64_t total = geometry.groups * geometry.count;
  const auto copy = [&](uint64_t begin, uint64_t end) {
    uint64_t group = begin / geometry.count;
    uint64_t k = begin % geometry.count;
    for (uint64_t unit = begin; unit < end;) {
      const Index* picked = indices + group / geometry.outer * geometry.count;
      const char* source = params + group * geometry.size * row.bytes();
      for (; k < geometry.count && unit < end; ++k, ++unit) {
        std::memcpy(output + unit * row.bytes(),
                    source + static_cast<uint64_t>(picked[k]) * row.bytes(), row.bytes());
      }
      k = 0;
      ++group;
    }
  };
  if (total * cost_ns >= 20000) return StoppableFor(frame, total, cost_ns, copy);
  copy(0, total);
  return ms::Status();
}

template <typename Index>
ms::Status CopyStringRows(const GatherGeometry& geometry, const ms::View& params,
                          const Index* indices, const ms::View& output) {
  const int64_t row = static_cast<int64_t>(geometry.row);
  int64_t unit = 0;
  for (uint64_t group = 0; group < geometry.groups; ++group) {
    const Index* picked = indices + group / geometry.outer * geometry.count;
    const int64_t first = static_cast<int64_t>(group * geometry.size);
    for (uint64_t k = 0; k < geometry.count; ++k, ++unit) {
      const int64_t source = first + static_cast<int64_t>(picked[k]);
      MS_TRY(CopyStrings(params, source * row, output, unit * row, row));
    }
  }
  return ms::Status();
}

template <typename Index>
ms::Status GatherRows(ms::Frame& frame, const GatherGeometry& geometry, const ms::View& params,
                      const ms::View& indices) {
  const Index* picked = indices.data<Index>();
  ms::View output;
  MS_TRY(frame.Output(0, geometry.output, &output));
  // Indices are no harm where there is no dimension that they could be out of.
  if (geometry.groups == 0) return ms::Status();
  MS_TRY(CheckIndices<Index>("indices", indices, geometry.size));
  if (output.size() == 0) return ms::Status();
  if (params.dtype() == MS_STRING) return CopyStringRows(geometry, params, picked, output);
  const char* source = params.data<char>();
  char* target = output.data<char>();
  const uint64_t row_bytes = geometry.row * ms::ElementSize(params.dtype());
  switch (row_bytes) {
    case 1: return CopyRows(frame, geometry, FixedRow<1>(), source, picked, target);
    case 2: return CopyRows(frame, geometry, FixedRow<2>(), source, picked, target);
    case 4: return CopyRows(frame, geometry, FixedRow<4>(), source, picked, target);
    case 8: return CopyRows(frame, geometry, FixedRow<8>(), source, picked, target);
    case 16: return CopyRows(frame, geometry, FixedRow<16>(), source, picked, target);
    default: return CopyRows(frame, geometry, AnyRow{row_bytes}, source, picked, target);
  }
}

ms::Status Gather(ms::Frame& frame, const ms::View& params, const ms::View& indices, int64_t axis,
                  int64_t batch_dims) {
  GatherGeometry geometry;
  MS_TRY(MakeGeometry(params, indices.shape(), axis, batch_dims, &geometry));
  return indices.dtype() == MS_INT32 ? GatherRows<int32_t>(frame, geometry, params, indices)
                                     : GatherRows<int64_t>(frame, geometry, params, indices);
}

// Inputs: params, indices, axis. Attribute: batch_dims, counted from indices' end when negative.
class GatherV2 {
 public:
  ms::Status Init(const ms::KernelInfo& info) { return info.Attr("batch_dims", &batch_dims_); }

  ms::Status Compute(ms::Frame& frame) const {
    int64_t axis = 0;
    MS_TRY(ReadIndexScalar(frame.input(2), "axis", &axis));
    return Gather(frame, frame.input(0), frame.input(1), axis, batch_dims_);
  }

 private:
  int64_t batch_dims_ = 0;
};

// Inputs: params, indices. The axis is the first one.
class FirstAxisGather {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    return Gather(frame, frame.input(0), frame.input(1), 0, 0);
  }
};

// Inputs: resource (a variable), indices. The axis is the first one behind the batch dimensions.
class ResourceGather {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    MS_TRY(info.Attr("batch_dims", &batch_dims_));
    if (batch_dims_ >= 0) return ms::Status();
    return ms::InvalidArgument("batch_dims = ", batch_dims_, " is negative");
  }

  ms::Status Compute(ms::Frame& frame) const {
    ms::VariableLocks locks;
    MS_TRY(UnassignedIsNotFound(frame.LockVariables({{0, MS_LOCK_READ}}, &locks)));
    ms::View params;
    MS_TRY(UnassignedIsNotFound(locks.Read(0, &params)));
    return Gather(frame, params, frame.input(1), batch_dims_, batch_dims_);
  }

 private:
  int64_t batch_dims_ = 0;
};

const ms::Registered first_axis_gather = ms::Register<FirstAxisGather>(
    "Gather", ms::KernelOptions().Types("Tparams", MovableTypes()).Types("Tindices", IndexTypes()));
const ms::Registered gather =
    ms::Register<GatherV2>("GatherV2", ms::KernelOptions()
                                           .Types("Tparams", MovableTypes())
                                           .Types("Tindices", IndexTypes())
                                           .Types("Taxis", IndexTypes())
                                           .HostArg("axis"));
const ms::Registered resource_gather = ms::Register<ResourceGather>(
    "ResourceGather",
    ms::KernelOptions().Types("dtype", MovableTypes()).Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
