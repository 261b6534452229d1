// What plans do for speed besides passes. On unless SessionOptions::disabled_passes names it, so
// that what each gains stays measurable; results are the same bits either way.
#ifndef MILLSTREAM_CORE_STEP_PLAN_FEATURES_H_
#define MILLSTREAM_CORE_STEP_PLAN_FEATURES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace millstream {

// By the names of the switches. Steps that the dynamic executor runs have only three of the last
// four, not late_receives; of the others they have their own.
struct PlanFeatures {
  // Tensors of known shape lie in one planned block of memory; off: each is made by the kernel that
  // computes it, and freed after its last reader.
  bool slab = true;
  // A kernel that may writes its output over an input that nobody reads later; off: outputs have
  // memory of their own.
  bool in_place = true;
  // Integer arithmetic on shapes that are known is done when the plan is made; off: in every step.
  bool fold_shapes = true;
  // What only renames a tensor (Identity, Reshape) costs nothing; off: it runs, and copies.
  bool views = true;
  // A read of a variable shares its memory until somebody writes; off: it copies, where the slab
  // has room for it.
  bool variables = true;
  // Kernels skip outputs that nobody reads; off: they compute all.
  bool unused_outputs = true;
  // Kernels read what is fed where the caller has it; off: it is copied in.
  bool borrowed_feeds = true;
  // What is fetched is the caller's as the kernel wrote it; off: it is copied out.
  bool moved_fetches = true;
  // Of the steps that run at a time, one has all threads and the others one each; off: all have
  // all.
  bool parallelism_permit = true;
  // In a step on several devices, nodes run as late as their readers allow where that takes less
  // memory (core/partition/late_order.h); off: in the program's order.
  bool late_receives = true;
};

// All but the named ones; other names are passes.
PlanFeatures PlanFeaturesWithout(absl::Span<const std::string> disabled);
// In the order of the struct.
std::vector<std::string> PlanFeatureNames();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_PLAN_FEATURES_H_
