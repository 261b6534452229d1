// The equation of an Einsum: which dimensions of its inputs go together, and which the output has.
#ifndef MILLSTREAM_FRAMEWORK_OPS_EINSUM_EQUATION_H_
#define MILLSTREAM_FRAMEWORK_OPS_EINSUM_EQUATION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "framework/status.h"

namespace millstream {

// Stands in subscripts for "...": any number of dimensions, which broadcast.
inline constexpr char kEinsumEllipsis = '.';

// "ij,jk->ik". Subscripts have a letter for each dimension, and at most one kEinsumEllipsis.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;
};

// INVALID_ARGUMENT for anything else than letters, one "->" and an ellipsis in each subscripts at
// most, and for a label of the output that no input has.
StatusOr<EinsumEquation> ParseEinsumEquation(absl::string_view text);

inline bool HasLabel(const std::string& subscripts, char label) {
  return subscripts.find(label) != std::string::npos;
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OPS_EINSUM_EQUATION_H_
