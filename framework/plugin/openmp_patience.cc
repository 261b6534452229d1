#include "framework/plugin/openmp_patience.h"

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <vector>

namespace millstream {
namespace {

char spin_count[] = "GOMP_SPINCOUNT=1000";

// A new list of entries. Never freed, because a thread that has read `environ` may still use it.
std::vector<char*>* NewEnvironment() {
  static auto* const all = new std::deque<std::vector<char*>>;
  return &all->emplace_back();
}

}  // namespace

OpenMpPatience::OpenMpPatience() {
  if (environ == nullptr || getenv("GOMP_SPINCOUNT") != nullptr ||
      getenv("OMP_WAIT_POLICY") != nullptr) {
    return;
  }
  std::vector<char*>* const entries = NewEnvironment();
  for (char** entry = environ; *entry != nullptr; ++entry) entries->push_back(*entry);
  entries->push_back(spin_count);
  entries->push_back(nullptr);
  previous_ = environ;
  replacement_ = entries->data();
  environ = replacement_;
}

OpenMpPatience::~OpenMpPatience() {
  // If another thread has replaced `environ` meanwhile to set a variable, its copy stays.
  if (previous_ != nullptr && environ == replacement_) environ = previous_;
}

}  // namespace millstream
