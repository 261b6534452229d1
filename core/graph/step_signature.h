// The signature of a step: its feeds, fetches and targets.
#ifndef MILLSTREAM_CORE_GRAPH_STEP_SIGNATURE_H_
#define MILLSTREAM_CORE_GRAPH_STEP_SIGNATURE_H_

#include <utility>
#include <vector>

#include "core/graph/graph.h"

namespace millstream {

// The fed tensors, the fetched tensors, and the nodes that run besides.
struct StepSignature {
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  std::vector<const Node*> targets;

  friend bool operator==(const StepSignature& a, const StepSignature& b) {
    return a.feeds == b.feeds && a.fetches == b.fetches && a.targets == b.targets;
  }
  template <typename H>
  friend H AbslHashValue(H h, const StepSignature& signature) {
    return H::combine(std::move(h), signature.feeds, signature.fetches, signature.targets);
  }
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_GRAPH_STEP_SIGNATURE_H_
