#include "distributed_runtime/leases.h"

#include <iterator>
#include <map>
#include <utility>

namespace millstream {

void Leases::Add(uint64_t session, const std::string& holder, uint64_t incarnation) {
  absl::MutexLock lock(&mutex_);
  EndEarlier(holder, incarnation);
  Lease& lease = leases_[session];
  lease = Lease();
  lease.holder = holder;
  lease.incarnation = incarnation;
  lease.number = next_++;
}

void Leases::Remove(uint64_t session) {
  absl::MutexLock lock(&mutex_);
  leases_.erase(session);
}

std::vector<uint64_t> Leases::Renew(const std::string& holder, uint64_t incarnation,
                                    absl::Span<const uint64_t> sessions) {
  std::vector<uint64_t> unknown;
  absl::MutexLock lock(&mutex_);
  EndEarlier(holder, incarnation);
  for (const uint64_t session : sessions) {
    const auto found = leases_.find(session);
    if (found == leases_.end() || found->second.is_over) {
      unknown.push_back(session);
    } else {
      found->second.beats = 0;
    }
  }
  return unknown;
}

void Leases::Hear(uint64_t session) {
  absl::MutexLock lock(&mutex_);
  const auto found = leases_.find(session);
  if (found != leases_.end()) found->second.beats = 0;
}

std::vector<Leases::Ended> Leases::Beat() {
  std::vector<Ended> ended;
  absl::MutexLock lock(&mutex_);
  for (auto at = leases_.begin(); at != leases_.end();) {
    Lease& lease = at->second;
    const auto next = std::next(at);
    if (lease.is_over || ++lease.beats > patience_) {
      ended.push_back({at->first, std::move(lease.holder)});
      leases_.erase(at);
    }
    at = next;
  }
  return ended;
}

std::set<LeaseHolder> Leases::Holders() const {
  std::set<LeaseHolder> holders;
  absl::MutexLock lock(&mutex_);
  for (const auto& [session, lease] : leases_) {
    if (!lease.is_over) holders.emplace(lease.holder, lease.incarnation);
  }
  return holders;
}

template <typename IsWanted>
std::vector<uint64_t> Leases::Find(const IsWanted& is_wanted) const {
  std::map<uint64_t, uint64_t> found;  // sessions, by the numbers of the leases
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [session, lease] : leases_) {
      if (is_wanted(lease)) found[lease.number] = session;
    }
  }
  std::vector<uint64_t> sessions;
  for (const auto& [number, session] : found) sessions.push_back(session);
  return sessions;
}

std::vector<uint64_t> Leases::Silent(int beats) const {
  return Find([beats](const Lease& lease) { return lease.beats > beats; });
}

std::vector<uint64_t> Leases::Over(const std::string& holder) const {
  return Find([&](const Lease& lease) { return lease.is_over && lease.holder == holder; });
}

std::vector<uint64_t> Leases::SessionsOf(const LeaseHolder& holder, int beats) const {
  return Find([&](const Lease& lease) { return lease.IsOf(holder) && lease.beats > beats; });
}

void Leases::End(const LeaseHolder& holder) {
  absl::MutexLock lock(&mutex_);
  for (auto& [session, lease] : leases_) {
    if (lease.IsOf(holder)) lease.is_over = true;
  }
}

// A request that an earlier incarnation sent may come late: it ends nothing of a later one.
void Leases::EndEarlier(const std::string& holder, uint64_t incarnation) {
  for (auto& [session, lease] : leases_) {
    if (lease.holder == holder && lease.incarnation < incarnation) lease.is_over = true;
  }
}

}  // namespace millstream
