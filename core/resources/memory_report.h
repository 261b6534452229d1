// The list of the largest tensors for errors about exhausted memory.
#ifndef MILLSTREAM_CORE_RESOURCES_MEMORY_REPORT_H_
#define MILLSTREAM_CORE_RESOURCES_MEMORY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device_memory.h"
#include "core/graph/graph.h"
#include "core/resources/resource_manager.h"
#include "framework/dtype.h"
#include "framework/shape.h"
#include "framework/status.h"
#include "framework/tensor.h"

namespace millstream {

struct LiveTensor {
  std::string name;
  DataType dtype = DataType::kInvalid;
  Shape shape;
  int64_t bytes = 0;
  std::string made_by;  // node, op and the user's line

  static LiveTensor Of(const Output& source, DataType dtype, const Shape& shape, int64_t bytes);
};

// Adds a line with the device to the error, and one with the plugin if the device has its own
// memory (`memory` is not null).
Status WithErrorPlace(const Status& status, absl::string_view device, const DeviceMemory* memory);

// Adds the values of variables that are in the memory of `device`; null: in host memory.
void AddVariables(const ResourceManager& resources, const DeviceMemory* device,
                  std::vector<LiveTensor>* live);

// Adds the five largest tensors to a RESOURCE_EXHAUSTED error, one a line. Returns other errors
// unchanged.
Status WithLargest(const Status& status, std::vector<LiveTensor> live);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_MEMORY_REPORT_H_
