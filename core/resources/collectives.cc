#include "core/resources/collectives.h"

#include <cstdint>
#include <utility>

namespace millstream {
namespace {

CollectiveTicket TicketOf(const void* ticket) {
  return {"", static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ticket))};
}

}  // namespace

StatusOr<ResourceRef<Collectives>> Collectives::Of(ResourceManager* resources) {
  return resources->LookupOrCreate<Collectives>(
      "", kName,
      []() -> StatusOr<ResourceRef<Collectives>> { return MakeResource<LocalCollectives>(); });
}

void LocalCollectives::Join(const CollectiveSpec& spec, CollectiveMember member,
                            ParallelLoop loop) {
  CollectiveArrival arrival;
  arrival.ticket = TicketOf(member.ticket);
  arrival.member = std::move(member.device);
  arrival.gives = member.gives;
  arrival.shape = member.tensor.shape();
  arrival.tensor = std::move(member.tensor);
  arrival.done = [done = std::move(member.done)](const Status& status,
                                                 const MeetingOutcome& outcome) {
    done(status, outcome.result);
  };
  meetings_.Arrive(spec, std::move(arrival), loop);
}

void LocalCollectives::Cancel(const void* ticket) {
  meetings_.Leave(TicketOf(ticket), "its step has ended");
}

void LocalCollectives::Drop() {
  meetings_.EndAll(errors::Cancelled("the container of the collective operations was cleared"));
}

}  // namespace millstream
