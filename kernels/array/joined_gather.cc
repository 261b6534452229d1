// _JoinedGather: rows of several matrices, picked by index and written side by side.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// One matrix, and where its rows go.
template <typename Index>
struct Table {
  const char* rows;
  const Index* picked;
  uint64_t bytes;  // of a row
  uint64_t place;  // in a row of the output
};

// Rows of embeddings are short: a call of memcpy would take longer than the copy.
inline void CopyRow(const char* from, uint64_t bytes, char* to) {
  constexpr uint64_t kPiece = 16;
  constexpr uint64_t kLong = 256;
  if (bytes % kPiece != 0 || bytes > kLong) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (uint64_t at = 0; at < bytes; at += kPiece) std::memcpy(to + at, from + at, kPiece);
}

// Inputs: params (N matrices), indices (N tensors of one shape). Attribute: _nodes, the names of
// the gathers that became one, which may be missing.
class JoinedGather {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    return info.HasAttr("_nodes") ? info.Attr("_nodes", &nodes_) : ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    return frame.input(Count(frame)).dtype() == MS_INT32 ? Gather<int32_t>(frame)
                                                         : Gather<int64_t>(frame);
  }

 private:
  // Matrices whose rows are copied in one pass over the output.
  static constexpr uint32_t kAtOnce = 64;

  static uint32_t Count(const ms::Frame& frame) { return frame.num_inputs() / 2; }

  template <typename Index>
  ms::Status Gather(ms::Frame& frame) const {
    const uint32_t count = Count(frame);
    ms::Shape shape = frame.input(count).shape();
    MS_TRY(CheckRank(shape.rank() + 1));
    int64_t columns = 0;
    for (uint32_t i = 0; i < count; ++i) {
      MS_TRY(Check<Index>(frame, i));
      columns += frame.input(i).dim(1);
    }
    const auto rows = static_cast<uint64_t>(frame.input(count).size());
    shape.Append(columns);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const uint64_t row_bytes = static_cast<uint64_t>(columns) * ms::ElementSize(output.dtype());
    char* const to = output.data<char>();
    uint64_t place = 0;
    for (uint32_t first = 0; first < count; first += kAtOnce) {
      std::array<Table<Index>, kAtOnce> tables;
      const uint32_t size = std::min(kAtOnce, count - first);
      for (uint32_t i = 0; i < size; ++i) {
        const ms::View params = frame.input(first + i);
        const uint64_t bytes =
            static_cast<uint64_t>(params.dim(1)) * ms::ElementSize(params.dtype());
        tables[i] = {params.data<char>(), frame.input(count + first + i).data<Index>(), bytes,
                     place};
        place += bytes;
      }
      MS_TRY(CopyRows(frame, tables.data(), size, rows, row_bytes, to));
    }
    return ms::Status();
  }

  template <typename Index>
  ms::Status Check(const ms::Frame& frame, uint32_t i) const {
    const uint32_t count = Count(frame);
    const ms::View params = frame.input(i);
    const ms::View indices = frame.input(count + i);
    if (params.rank() != 2) {
      return ms::InvalidArgument("params[", i, "] must be a matrix, its shape is ",
                                 params.shape().ToString());
    }
    if (indices.shape() != frame.input(count).shape()) {
      return ms::InvalidArgument("indices[", i, "] must have the shape of indices[0], ",
                                 frame.input(count).shape().ToString(), ", its shape is ",
                                 indices.shape().ToString());
    }
    const auto size = static_cast<uint64_t>(params.dim(0));
    ms::Status status = CheckIndices<Index>("indices", indices, size);
    if (status.ok()) return status;
    if (i >= nodes_.size()) {
      return CheckIndices<Index>(ms::StrCat("indices[", i, "]"), indices, size);
    }
    return ms::Status(status.code(), ms::StrCat("'", nodes_[i], "': ", status.message()));
  }

  // Row after row of the output, so that it is written from its first byte to its last.
  template <typename Index>
  static ms::Status CopyRows(ms::Frame& frame, const Table<Index>* tables, uint32_t count,
                             uint64_t rows, uint64_t row_bytes, char* output) {
    uint64_t nanoseconds = 0;
    for (uint32_t i = 0; i < count; ++i) nanoseconds += 4 + tables[i].bytes / 8;
    return StoppableFor(frame, rows, nanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        char* const to = output + static_cast<uint64_t>(row) * row_bytes;
        for (uint32_t i = 0; i < count; ++i) {
          const Table<Index>& table = tables[i];
          CopyRow(table.rows + static_cast<uint64_t>(table.picked[row]) * table.bytes, table.bytes,
                  to + table.place);
        }
      }
    });
  }

  std::vector<std::string> nodes_;
};

const ms::Registered joined_gather = ms::Register<JoinedGather>(
    "_JoinedGather", ms::KernelOptions()
                         .Types("T", {MS_FLOAT32, MS_FLOAT64, MS_FLOAT16, MS_BFLOAT16})
                         .Types("Tindices", IndexTypes()));

}  // namespace
}  // namespace millstream::kernels
