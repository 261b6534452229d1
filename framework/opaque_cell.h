// The elements of resource and variant tensors.
#ifndef MILLSTREAM_FRAMEWORK_OPAQUE_CELL_H_
#define MILLSTREAM_FRAMEWORK_OPAQUE_CELL_H_

#include <memory>
#include <string>

namespace millstream {

// The base of the objects in resource and variant elements. Readers find the type by dynamic_cast.
// The framework only shares, copies and prints the objects.
class OpaqueObject {
 public:
  virtual ~OpaqueObject() = default;
  // A short description, for messages.
  virtual std::string DebugString() const = 0;
};

// One element; null until it is set. Copies share the object.
using OpaqueCell = std::shared_ptr<OpaqueObject>;

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPAQUE_CELL_H_
