// Optimizations of plans besides passes. SessionOptions::disabled_passes switches them off by name,
// to measure what each is worth. They do not change bits of results.
#ifndef MILLSTREAM_CORE_STEP_PLAN_FEATURES_H_
#define MILLSTREAM_CORE_STEP_PLAN_FEATURES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace millstream {

// The field names are the names of the switches. The dynamic executor uses only borrowed_feeds,
// moved_fetches and parallelism_permit.
struct PlanFeatures {
  // Tensors of known shape have places in one planned slab. Off: the kernel that computes a tensor
  // allocates it, and it is freed after its last reader.
  bool slab = true;
  // A kernel that allows it writes its output over an input without later readers. Off: outputs
  // have memory of their own.
  bool in_place = true;
  // Integer arithmetic on known shapes is computed when the plan is made. Off: in every step.
  bool fold_shapes = true;
  // Outputs of nodes that only rename (Identity, Reshape) are views. Off: the nodes run and copy.
  bool views = true;
  // A read of a variable or of an element of a list shares its memory until it is written. Off: it
  // copies, if the slab has a place for the value.
  bool variables = true;
  // Kernels do not compute outputs without readers. Off: they compute all.
  bool unused_outputs = true;
  // Kernels read feeds in the caller's memory. Off: feeds are copied.
  bool borrowed_feeds = true;
  // The caller gets fetched tensors as kernels wrote them. Off: they are copied.
  bool moved_fetches = true;
  // Of the steps that run at the same time, one has all threads and the others one each. Off: all
  // steps have all threads.
  bool parallelism_permit = true;
  // In a step on several devices, nodes run as late as their readers allow, if that takes less
  // memory (core/partition/late_order.h). Off: they run in the program's order.
  bool late_receives = true;
  // A device records the work of rows of kernels once, and later steps enqueue each row as a whole
  // (core/plan/plan_capture.h). Off: every step calls every kernel.
  bool capture = true;
  // Loops and conditionals that do not need the dynamic executor run as plans
  // (core/loops/raise_loops.h). Off: all run on the dynamic executor.
  bool raise_loops = true;
};

// All features except the named ones. Ignores other names, which are passes.
PlanFeatures PlanFeaturesWithout(absl::Span<const std::string> disabled);
// The names, in the order of the struct.
std::vector<std::string> PlanFeatureNames();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_PLAN_FEATURES_H_
