#include "core/resources/batch_members.h"

#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millstream {
namespace {

constexpr char kName[] = "_batch_members";

// A random number above, for the session; 32 bits of zeros, in which the members are counted.
int64_t FirstId() {
  constexpr uint32_t kPositive = 0x7fffffff;
  const uint32_t session = std::random_device()() & kPositive;
  return (static_cast<int64_t>(session) << 32) | 1;
}

}  // namespace

// In the container of a step, which drops it when the step ends.
class BatchMembers::Life final : public Resource {
 public:
  static constexpr char kType[] = "BatchMember";
  Life(ResourceRef<BatchMembers> members, int64_t id)
      : Resource(kType), members_(std::move(members)), id_(id) {}
  void Drop() override { members_->End(id_); }

 private:
  const ResourceRef<BatchMembers> members_;
  const int64_t id_;
};

BatchMembers::BatchMembers() : Resource(kType), first_(FirstId()), next_(first_) {}

StatusOr<ResourceRef<BatchMembers>> BatchMembers::Of(ResourceManager* resources) {
  return resources->LookupOrCreate<BatchMembers>(
      "", kName,
      []() -> StatusOr<ResourceRef<BatchMembers>> { return MakeResource<BatchMembers>(); });
}

StatusOr<int64_t> BatchMembers::Add(StepContainer* container) {
  int64_t id = 0;
  {
    absl::MutexLock lock(&mutex_);
    id = next_++;
    members_[id].runner = id;
  }
  ResourceRef<Life> life = MakeResource<Life>(ResourceRef<BatchMembers>::Share(this), id);
  MS_RETURN_IF_ERROR(container->manager()->Create(container->Name(), absl::StrCat(id), life));
  return id;
}

void BatchMembers::Join(const std::vector<int64_t>& ids, int64_t runner, int64_t results,
                        Heard ran) {
  {
    absl::MutexLock lock(&mutex_);
    for (const int64_t id : ids) {
      const auto member = members_.find(id);
      if (member != members_.end()) member->second.runner = runner;
    }
    const auto of_runner = members_.find(runner);
    if (of_runner != members_.end()) {
      of_runner->second.missing_results = results;
      of_runner->second.ran = std::move(ran);
      return;
    }
  }
  // All containers were dropped, and with them that of the step.
  if (ran != nullptr) ran();
}

void BatchMembers::Finish(int64_t runner) {
  Heard ran;
  {
    absl::MutexLock lock(&mutex_);
    const auto member = members_.find(runner);
    if (member == members_.end() || --member->second.missing_results > 0) return;
    ran = std::exchange(member->second.ran, nullptr);
  }
  if (ran != nullptr) ran();
}

void BatchMembers::End(int64_t id) {
  Member ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto member = members_.find(id);
    if (member == members_.end()) return;
    ended = std::move(member->second);
    members_.erase(member);
  }
  for (const Heard& heard : ended.heard) heard();
  if (ended.ran != nullptr) ended.ran();
}

void BatchMembers::WhenEnds(int64_t id, Heard heard) {
  {
    absl::MutexLock lock(&mutex_);
    const auto member = members_.find(id);
    if (member != members_.end()) {
      member->second.heard.push_back(std::move(heard));
      return;
    }
    if (id < first_ || id >= next_) return;
  }
  heard();
}

int64_t BatchMembers::RunnerOf(int64_t id) const {
  absl::MutexLock lock(&mutex_);
  const auto member = members_.find(id);
  return member == members_.end() ? id : member->second.runner;
}

}  // namespace millstream
