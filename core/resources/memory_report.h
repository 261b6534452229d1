// What memory is full of, for the error of whoever finds it full.
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

// Names the device below the cause, and the plugin of one with its own memory; null: of others.
Status WithErrorPlace(const Status& status, absl::string_view device, const DeviceMemory* memory);

// Adds the values of variables that are in the memory of `device`, or, null, in the host's.
void AddVariables(const ResourceManager& resources, const DeviceMemory* device,
                  std::vector<LiveTensor>* live);

// RESOURCE_EXHAUSTED gets a list of the five largest, a line each; other errors stay as they are.
Status WithLargest(const Status& status, std::vector<LiveTensor> live);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_MEMORY_REPORT_H_
