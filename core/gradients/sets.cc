// Ops on sets have no gradients.
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

MILLSTREAM_NOT_DIFFERENTIABLE("DenseToDenseSetOperation");
MILLSTREAM_NOT_DIFFERENTIABLE("DenseToSparseSetOperation");
MILLSTREAM_NOT_DIFFERENTIABLE("SetSize");
MILLSTREAM_NOT_DIFFERENTIABLE("SparseToSparseSetOperation");

}  // namespace
}  // namespace millstream
