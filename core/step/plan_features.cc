#include "core/step/plan_features.h"

#include "absl/algorithm/container.h"

namespace millstream {
namespace {

struct Feature {
  const char* name;
  bool PlanFeatures::*is_on;
};

constexpr Feature kFeatures[] = {
    {"slab", &PlanFeatures::slab},
    {"in_place", &PlanFeatures::in_place},
    {"fold_shapes", &PlanFeatures::fold_shapes},
    {"views", &PlanFeatures::views},
    {"variables", &PlanFeatures::variables},
    {"unused_outputs", &PlanFeatures::unused_outputs},
    {"borrowed_feeds", &PlanFeatures::borrowed_feeds},
    {"moved_fetches", &PlanFeatures::moved_fetches},
    {"parallelism_permit", &PlanFeatures::parallelism_permit},
    {"late_receives", &PlanFeatures::late_receives},
    {"capture", &PlanFeatures::capture},
    {"raise_loops", &PlanFeatures::raise_loops},
};

}  // namespace

PlanFeatures PlanFeaturesWithout(absl::Span<const std::string> disabled) {
  PlanFeatures features;
  for (const Feature& feature : kFeatures) {
    features.*feature.is_on = !absl::c_linear_search(disabled, feature.name);
  }
  return features;
}

std::vector<std::string> PlanFeatureNames() {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) names.push_back(feature.name);
  return names;
}

}  // namespace millstream
