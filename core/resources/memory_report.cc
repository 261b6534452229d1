#include "core/resources/memory_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/device/device_memory.h"
#include "core/graph/error_details.h"
#include "core/resources/variable.h"

namespace millstream {
namespace {

constexpr size_t kMostNamed = 5;

}  // namespace

LiveTensor LiveTensor::Of(const Output& source, DataType dtype, const Shape& shape, int64_t bytes) {
  return LiveTensor{source.name(), dtype, shape, bytes, source.node->Describe()};
}

Status WithErrorPlace(const Status& status, absl::string_view device, const DeviceMemory* memory) {
  const std::string plugin = memory == nullptr ? "" : absl::StrCat("; plugin: ", memory->plugin());
  return WithErrorDetail(status, "device", absl::StrCat(device, plugin));
}

void AddVariables(const ResourceManager& resources, const DeviceMemory* device,
                  std::vector<LiveTensor>* live) {
  for (const ResourceRef<Variable>& variable : resources.Variables()) {
    const StatusOr<Tensor> value = variable->Read();
    if (!value.ok()) continue;
    const DeviceMemory* const place = value->is_on_device() ? MemoryOf(*value) : nullptr;
    if (place != device) continue;
    live->push_back(LiveTensor{variable->name(), value->dtype(), value->shape(),
                               static_cast<int64_t>(value->bytes()), "a variable"});
  }
}

Status WithLargest(const Status& status, std::vector<LiveTensor> live) {
  if (!absl::IsResourceExhausted(status) || live.empty()) return status;
  std::stable_sort(live.begin(), live.end(),
                   [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  const size_t named = std::min(live.size(), kMostNamed);
  std::string text = absl::StrCat(status.message(), "\n  The largest of ", live.size(),
                                  live.size() == 1 ? " live tensor:" : " live tensors:");
  for (size_t i = 0; i < named; ++i) {
    const LiveTensor& tensor = live[i];
    absl::StrAppend(&text, "\n    ", tensor.bytes, " bytes, ", DataTypeName(tensor.dtype),
                    tensor.shape.ToString(), ", ", tensor.name, ": ", tensor.made_by);
  }
  return WithErrorText(status, text);
}

}  // namespace millstream
