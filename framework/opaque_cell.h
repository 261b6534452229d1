// What the elements of resource and variant tensors are.
#ifndef MILLSTREAM_FRAMEWORK_OPAQUE_CELL_H_
#define MILLSTREAM_FRAMEWORK_OPAQUE_CELL_H_

#include <memory>
#include <string>

namespace millstream {

// Base of whatever a resource or variant element holds. What kind it is, the reader finds out by
// dynamic_cast; the framework itself only shares, copies and prints it.
class OpaqueObject {
 public:
  virtual ~OpaqueObject() = default;
  // A few words for messages.
  virtual std::string DebugString() const = 0;
};

// One element; null until it is set. Copies share the object.
using OpaqueCell = std::shared_ptr<OpaqueObject>;

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPAQUE_CELL_H_
