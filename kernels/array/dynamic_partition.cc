// DynamicPartition: rows dealt out to several outputs.
#include <cstdint>
#include <cstring>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/indices.h"
#include "kernels/array/strings.h"

namespace millstream::kernels {
namespace {

// Inputs: data, partitions (their shape begins data's). Output i holds the rows of partition i.
class DynamicPartition {
 public:
  ms::Status Compute(ms::Frame& frame) const {
    const ms::View data = frame.input(0);
    const ms::View partitions = frame.input(1);
    MS_TRY(CheckRows("data", data.shape(), "partitions", partitions.shape()));
    std::vector<int64_t> counts(frame.num_outputs(), 0);
    MS_TRY(Count(partitions, &counts));

    const ms::Shape whole = data.shape();
    std::vector<ms::View> outputs(counts.size());
    for (uint32_t i = 0; i < frame.num_outputs(); ++i) {
      ms::Shape shape{counts[i]};
      for (uint32_t d = partitions.rank(); d < whole.rank(); ++d) shape.Append(whole[d]);
      MS_TRY(frame.Output(i, shape, &outputs[i]));
    }
    const int64_t row = DimProduct(whole, partitions.rank(), whole.rank());
    return data.dtype() == MS_STRING ? DealStrings(data, partitions, row, outputs)
                                     : DealBytes(data, partitions, row, outputs);
  }

 private:
  // How many rows each partition gets.
  static ms::Status Count(const ms::View& partitions, std::vector<int64_t>* counts) {
    const int64_t most = static_cast<int64_t>(counts->size());
    const int32_t* numbers = partitions.data<int32_t>();
    for (int64_t i = 0; i < partitions.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] >= most) {
        return NotInRange("partitions", partitions, i, most);
      }
      ++(*counts)[static_cast<size_t>(numbers[i])];
    }
    return ms::Status();
  }

  static ms::Status DealBytes(const ms::View& data, const ms::View& partitions, int64_t row,
                              const std::vector<ms::View>& outputs) {
    const uint64_t row_bytes = static_cast<uint64_t>(row) * ms::ElementSize(data.dtype());
    if (row_bytes == 0) return ms::Status();
    std::vector<char*> next;
    for (const ms::View& output : outputs) next.push_back(output.data<char>());
    const int32_t* numbers = partitions.data<int32_t>();
    const char* from = data.data<char>();
    for (int64_t i = 0; i < partitions.size(); ++i, from += row_bytes) {
      char*& to = next[static_cast<size_t>(numbers[i])];
      std::memcpy(to, from, row_bytes);
      to += row_bytes;
    }
    return ms::Status();
  }

  static ms::Status DealStrings(const ms::View& data, const ms::View& partitions, int64_t row,
                                const std::vector<ms::View>& outputs) {
    std::vector<int64_t> next(outputs.size(), 0);
    const int32_t* numbers = partitions.data<int32_t>();
    for (int64_t i = 0; i < partitions.size(); ++i) {
      const size_t number = static_cast<size_t>(numbers[i]);
      MS_TRY(CopyStrings(data, i * row, outputs[number], next[number], row));
      next[number] += row;
    }
    return ms::Status();
  }
};

const ms::Registered registered = ms::Register<DynamicPartition>(
    "DynamicPartition", ms::KernelOptions().Types("T", MovableTypes()));

}  // namespace
}  // namespace millstream::kernels
