// What kernels over variables share: locking, and the checks that fit a value to a variable.
#ifndef MILLSTREAM_KERNELS_TRAINING_VARIABLES_H_
#define MILLSTREAM_KERNELS_TRAINING_VARIABLES_H_

#include <cstdint>
#include <string_view>

#include "framework/plugin/kernel_extensions.h"
#include "framework/plugin/plugin.hpp"
#include "kernels/common/parallel.h"

namespace millstream::kernels {

// For KernelOptions::Extension, of kernels that compute what their op's documentation says.
inline constexpr MS_Ext kBoundedUpdate = {{sizeof(MS_Ext), 0, nullptr}, MS_EXT_BOUNDED_UPDATE};

// An op that reads a variable in passing answers NOT_FOUND, not FAILED_PRECONDITION, when it was
// never assigned: graph programs know such an op's failing by that class.
ms::Status UnassignedIsNotFound(ms::Status status);

// `other` (a gradient, a slot) goes element by element with the variable `name`.
ms::Status CheckSameShape(std::string_view name, const ms::View& variable,
                          std::string_view other_name, const ms::View& other);

// The hyperparameter `name` is a scalar.
ms::Status CheckScalar(const ms::View& view, std::string_view name);

// All of `indices` are rows of a variable of `rows` rows.
ms::Status CheckRowIndices(const ms::View& indices, int64_t rows);

// `indices` is a vector, and `grad` has a row of `variable` for each of them.
ms::Status CheckRowGradient(const ms::View& variable, const ms::View& grad,
                            const ms::View& indices);

// Calls update(begin, end) on ranges that cover the elements, each of `bytes`; `streams` arrays are
// read or written.
void UpdateElements(ms::Frame& frame, int64_t size, uint64_t bytes, uint64_t streams,
                    RangeFunction update);

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_TRAINING_VARIABLES_H_
