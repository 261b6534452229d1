#include "framework/ops/update_bounds.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/dtype.h"
#include "framework/numeric_bounds.h"
#include "framework/status.h"

namespace millstream {
namespace {

// Numbers are followed up to here. A float holds a hundred million times as much.
constexpr double kMost = 1e30;
// What is divided by is no smaller: a float can still tell it from zero.
constexpr double kLeastDivisor = 1e-30;

// What a float may be that was computed as `magnitude`, in up to ten operations: each rounds by no
// more than 2^-24 of the numbers that it takes, or where they are smallest by 2^-149.
double Rounded(double magnitude) { return magnitude * (1 + 1e-6) + 2e-44; }

NumericBounds UpTo(double magnitude) { return {-magnitude, magnitude}; }

bool IsShare(const NumericBounds& bounds) { return bounds.low >= 0 && bounds.high <= 1; }

bool IsFollowed(double number) { return number <= kMost; }  // not so NaN

bool AllFollowed(absl::Span<const NumericBounds> bounds) {
  return absl::c_all_of(bounds,
                        [](const NumericBounds& each) { return IsFollowed(each.Magnitude()); });
}

// Empty when one of them, or of `passing`, is too large to be followed.
NumericBoundsList Followed(NumericBoundsList after, std::initializer_list<double> passing = {}) {
  return AllFollowed(after) && absl::c_all_of(passing, &IsFollowed) ? after : NumericBoundsList();
}

// var + value, var - value.
NumericBoundsList AfterAssignment(absl::Span<const NumericBounds> inputs) {
  return Followed({UpTo(Rounded(inputs[0].Magnitude() + inputs[1].Magnitude()))});
}

// var - alpha * delta.
NumericBoundsList AfterDescent(absl::Span<const NumericBounds> inputs) {
  const double step = Rounded(inputs[1].Magnitude() * inputs[2].Magnitude());
  return Followed({UpTo(Rounded(inputs[0].Magnitude() + step))});
}

// accum = momentum * accum + grad
// var - lr * accum, or var - (lr * grad + lr * momentum * accum)
template <bool use_nesterov>
NumericBoundsList AfterMomentum(absl::Span<const NumericBounds> inputs) {
  const double rate = inputs[2].Magnitude();
  const double gradient = inputs[3].Magnitude();
  const double momentum = inputs[4].Magnitude();
  const double sum = Rounded(inputs[1].Magnitude() * momentum + gradient);
  const double step = use_nesterov ? Rounded(rate * gradient + rate * Rounded(momentum * sum))
                                   : Rounded(rate * sum);
  return Followed({UpTo(Rounded(inputs[0].Magnitude() + step)), UpTo(sum)}, {momentum * sum});
}

// accum + grad^2
// var - lr * grad / sqrt(accum)
NumericBoundsList AfterAdagrad(absl::Span<const NumericBounds> inputs) {
  const NumericBounds& accum = inputs[1];
  if (accum.low < kLeastDivisor) return {};
  const double gradient = inputs[3].Magnitude();
  const double high = Rounded(accum.high + gradient * gradient);
  const double numerator = Rounded(inputs[2].Magnitude() * gradient);
  const double step = Rounded(numerator / std::sqrt(accum.low));
  return Followed({UpTo(Rounded(inputs[0].Magnitude() + step)), {accum.low, high}}, {numerator});
}

// rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
// m and v: as far from themselves towards grad and grad^2 as 1 - beta1 and 1 - beta2 say
// var - rate * m / (sqrt(v) + epsilon); use_nesterov: of a mean of m and grad, no larger than they.
NumericBoundsList AfterAdam(absl::Span<const NumericBounds> inputs) {
  const NumericBounds& square = inputs[2];
  const NumericBounds& power1 = inputs[3];
  const NumericBounds& power2 = inputs[4];
  const NumericBounds& epsilon = inputs[8];
  const bool is_regular = square.low >= 0 && power1.low >= 0 && power1.high < 1 &&
                          IsShare(power2) && IsShare(inputs[6]) && IsShare(inputs[7]) &&
                          epsilon.low >= kLeastDivisor;
  if (!is_regular) return {};
  const double gradient = inputs[9].Magnitude();
  const double mean = Rounded(std::max(inputs[1].Magnitude(), gradient));
  const double squares = Rounded(std::max(square.high, gradient * gradient));
  const double rate = Rounded(inputs[5].Magnitude() / (1 - power1.high));
  const double numerator = Rounded(rate * Rounded(mean));
  const double step = Rounded(numerator / epsilon.low);
  return Followed({UpTo(Rounded(inputs[0].Magnitude() + step)), UpTo(mean), {0, squares}},
                  {rate, numerator});
}

// The rule for inputs that can be followed, all of them.
template <BoundsRule rule>
NumericBoundsList OfFollowed(absl::Span<const NumericBounds> inputs) {
  return AllFollowed(inputs) ? rule(inputs) : NumericBoundsList();
}

// Whether the attribute is a type of which `Rounded` counts the rounding.
bool IsCounted(const AttrMap& attrs, absl::string_view type_attr) {
  const StatusOr<DataType> dtype = GetAttr<DataType>(attrs, type_attr);
  return dtype.ok() && (*dtype == DataType::kFloat || *dtype == DataType::kDouble);
}

bool IsSet(const AttrMap& attrs, absl::string_view name) {
  const StatusOr<bool> value = GetAttr<bool>(attrs, name);
  return value.ok() && *value;
}

}  // namespace

BoundsRule AssignmentBounds(const AttrMap& attrs) {
  return IsCounted(attrs, "dtype") ? &OfFollowed<&AfterAssignment> : nullptr;
}

BoundsRule GradientDescentBounds(const AttrMap& attrs) {
  return IsCounted(attrs, "T") ? &OfFollowed<&AfterDescent> : nullptr;
}

BoundsRule MomentumBounds(const AttrMap& attrs) {
  if (!IsCounted(attrs, "T")) return nullptr;
  return IsSet(attrs, "use_nesterov") ? &OfFollowed<&AfterMomentum<true>>
                                      : &OfFollowed<&AfterMomentum<false>>;
}

BoundsRule AdagradBounds(const AttrMap& attrs) {
  const bool has_rule = IsCounted(attrs, "T") && IsSet(attrs, "update_slots");
  return has_rule ? &OfFollowed<&AfterAdagrad> : nullptr;
}

BoundsRule AdamBounds(const AttrMap& attrs) {
  return IsCounted(attrs, "T") ? &OfFollowed<&AfterAdam> : nullptr;
}

}  // namespace millstream
