// DynamicStitch and ParallelDynamicStitch: rows of several tensors put at given places of one.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strided_copy.h"
#include "kernels/array/strings.h"
#include "kernels/common/parallel.h"

namespace millstream::kernels {
namespace {

// Inputs: indices (N tensors), data (N tensors, whose shapes begin with those of indices). Where an
// index comes more than once, its last row counts; rows that no index names are zero.
class DynamicStitch {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const uint32_t count = frame.num_inputs() / 2;
    ms::Shape row;
    MS_TRY(FindRowShape(frame, count, &row));
    int64_t rows = 0;
    MS_TRY(CountRows(frame, count, &rows));
    MS_TRY(CheckRank(row.rank() + 1));
    ms::Shape shape{rows};
    for (int64_t dim : row) shape.Append(dim);
    ms::View output;
    MS_TRY(frame.Output(0, shape, &output));
    if (output.size() == 0) return ms::Status();
    const int64_t width = row.num_elements();
    return output.dtype() == MS_STRING ? StitchStrings(frame, count, width, output)
                                       : StitchBytes(frame, count, rows, width, output);
  }

 private:
  static ms::Status FindRowShape(const ms::Frame& frame, uint32_t count, ms::Shape* row) {
    for (uint32_t i = 0; i < count; ++i) {
      const ms::Shape indices = frame.input(i).shape();
      const ms::Shape data = frame.input(count + i).shape();
      const std::string name = ms::StrCat("data[", i, "]");
      MS_TRY(CheckRows(name, data, ms::StrCat("indices[", i, "]"), indices));
      const ms::Shape rest(data.begin() + indices.rank(), data.rank() - indices.rank());
      if (i == 0) *row = rest;
      if (rest == *row) continue;
      return ms::InvalidArgument("rows of ", name, " have shape ", rest.ToString(),
                                 ", those of data[0] ", row->ToString());
    }
    return ms::Status();
  }

  static ms::Status CountRows(const ms::Frame& frame, uint32_t count, int64_t* rows) {
    for (uint32_t i = 0; i < count; ++i) {
      const ms::View indices = frame.input(i);
      const int32_t* values = indices.data<int32_t>();
      for (int64_t k = 0; k < indices.size(); ++k) {
        if (values[k] < 0) {
          return ms::InvalidArgument("indices[", i, "] holds ", values[k], " (at ", k,
                                     " in flat order), which must not be negative");
        }
        *rows = std::max(*rows, int64_t{values[k]} + 1);
      }
    }
    return ms::Status();
  }

  // First finds the row that wins each place, so that threads can share the copying.
  static ms::Status StitchBytes(ms::Frame& frame, uint32_t count, int64_t rows, int64_t width,
                                const ms::View& output) {
    const uint64_t row_bytes = static_cast<uint64_t>(width) * ms::ElementSize(output.dtype());
    ms::View temporary;
    MS_TRY(frame.Temp(static_cast<uint64_t>(rows) * sizeof(const char*), &temporary));
    const char** const winners = temporary.data<const char*>();
    std::fill_n(winners, rows, nullptr);
    for (uint32_t i = 0; i < count; ++i) {
      const ms::View indices = frame.input(i);
      const int32_t* values = indices.data<int32_t>();
      const char* from = frame.input(count + i).data<char>();
      for (int64_t k = 0; k < indices.size(); ++k, from += row_bytes) winners[values[k]] = from;
    }
    char* const target = output.data<char>();
    MS_TRY(StoppableFor(frame, static_cast<uint64_t>(rows), 4 + row_bytes / 8,
                        [=](uint64_t begin, uint64_t end) {
                          for (uint64_t row = begin; row < end; ++row) {
                            char* to = target + row * row_bytes;
                            if (winners[row] == nullptr) {
                              std::memset(to, 0, row_bytes);
                            } else {
                              std::memcpy(to, winners[row], row_bytes);
                            }
                          }
                        }));
    return ms::Status();
  }

  static ms::Status StitchStrings(ms::Frame& frame, uint32_t count, int64_t width,
                                  const ms::View& output) {
    MS_TRY(SetToZero(frame, output));
    for (uint32_t i = 0; i < count; ++i) {
      const ms::View indices = frame.input(i);
      const int32_t* values = indices.data<int32_t>();
      for (int64_t k = 0; k < indices.size(); ++k) {
        MS_TRY(CopyStrings(frame.input(count + i), k * width, output, values[k] * width, width));
      }
    }
    return ms::Status();
  }
};

ms::Registered RegisterStitch(const char* op) {
  return ms::Register<DynamicStitch>(op, ms::KernelOptions().Types("T", MovableTypes()));
}

const ms::Registered dynamic_stitch = RegisterStitch("DynamicStitch");
const ms::Registered parallel_dynamic_stitch = RegisterStitch("ParallelDynamicStitch");

}  // namespace
}  // namespace millstream::kernels
