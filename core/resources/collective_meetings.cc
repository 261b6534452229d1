#include "core/resources/collective_meetings.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millstream {
namespace {

using Kind = CollectiveSpec::Kind;

std::string DescribeKind(const CollectiveSpec& spec) {
  static constexpr const char* kMerges[] = {"Add", "Mul", "Max", "Min"};
  switch (spec.kind) {
    case Kind::kGather: return "gather";
    case Kind::kBroadcast: return "broadcast";
    case Kind::kReduce:
    case Kind::kReduceScatter: break;
  }
  const char* const name = spec.kind == Kind::kReduce ? "reduction" : "reduce-scatter";
  return absl::StrCat(name, " by ", kMerges[static_cast<int>(spec.merge)],
                      spec.divides ? " and Div" : "");
}

std::string Describe(const CollectiveSpec& spec) {
  return absl::StrCat("a ", DescribeKind(spec), " of ", DataTypeName(spec.dtype),
                      " with group_size ", spec.group_size);
}

bool IsSame(const CollectiveSpec& a, const CollectiveSpec& b) {
  return a.kind == b.kind && a.merge == b.merge && a.divides == b.divides && a.dtype == b.dtype &&
         a.group_size == b.group_size;
}

Status Disagree(const CollectiveSpec& spec, const std::string& a, const std::string& of_a,
                const std::string& b, const std::string& of_b) {
  return errors::InvalidArgument("the members of ", NameOf(spec), " do not agree: ", a, " has ",
                                 of_a, ", ", b, " has ", of_b);
}

// An unknown one says nothing.
CollectiveLink SlowerOf(const CollectiveLink& a, const CollectiveLink& b) {
  if (!a.is_known() || !b.is_known()) return a.is_known() ? a : b;
  return {std::max(a.round_trip_seconds, b.round_trip_seconds),
          std::min(a.bytes_per_second, b.bytes_per_second)};
}

// The digits at the beginning of `text`, without zeros in front.
absl::string_view TakeNumber(absl::string_view* text) {
  size_t size = 0;
  while (size < text->size() && absl::ascii_isdigit((*text)[size])) ++size;
  absl::string_view number = text->substr(0, size);
  text->remove_prefix(size);
  while (number.size() > 1 && number[0] == '0') number.remove_prefix(1);
  return number;
}

// OK if the tensors of the members go together.
Status CheckTensors(const CollectiveSpec& spec, const std::vector<CollectiveArrival>& arrivals) {
  if (spec.kind == Kind::kBroadcast) {
    const auto senders = absl::c_count_if(arrivals, [](const auto& one) { return one.gives; });
    if (senders == 1) return absl::OkStatus();
    return errors::InvalidArgument("expected one sender in ", NameOf(spec), " (group_size ",
                                   spec.group_size, "), got ", senders);
  }
  const CollectiveArrival& first = arrivals[0];
  for (const CollectiveArrival& other : arrivals) {
    if (other.shape == first.shape) continue;
    return Disagree(spec, first.member, absl::StrCat("shape ", first.shape.ToString()),
                    other.member, absl::StrCat("shape ", other.shape.ToString()));
  }
  const bool has_parts = spec.kind != Kind::kReduceScatter ||
                         (first.shape.rank() > 0 && first.shape.dim(0) % spec.group_size == 0);
  if (has_parts) return absl::OkStatus();
  return errors::InvalidArgument("the ", spec.group_size, " members of ", NameOf(spec),
                                 " have tensors of shape ", first.shape.ToString(),
                                 ", whose first dimension group_size does not divide");
}

// Merges the tensors of the members of each task, and then the tasks.
StatusOr<Tensor> Reduce(const CollectiveSpec& spec, const std::vector<CollectiveArrival>& arrivals,
                        const std::vector<Tensor>& given, ParallelLoop loop) {
  std::vector<std::vector<Tensor>> tasks;
  absl::string_view task;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const absl::string_view own = TaskOfMember(arrivals[i].member);
    if (tasks.empty() || own != task) tasks.emplace_back();
    task = own;
    tasks.back().push_back(given[i]);
  }
  const int64_t divisor = spec.divides ? spec.group_size : 1;
  if (tasks.size() == 1) return MergeTensors(spec.merge, tasks[0], divisor, loop);
  std::vector<Tensor> partial;
  for (const std::vector<Tensor>& tensors : tasks) {
    MS_ASSIGN_OR_RETURN(Tensor merged, MergeTensors(spec.merge, tensors, 1, loop));
    partial.push_back(std::move(merged));
  }
  return MergeTensors(spec.merge, partial, divisor, loop);
}

// What each member gets. All share one tensor, but for a reduction of whose rows each has its part.
StatusOr<std::vector<Tensor>> ResultsOf(const CollectiveSpec& spec,
                                        const std::vector<CollectiveArrival>& arrivals, int source,
                                        ParallelLoop loop) {
  const size_t count = arrivals.size();
  if (spec.kind == Kind::kBroadcast) return std::vector<Tensor>(count, arrivals[source].tensor);
  std::vector<Tensor> given;
  given.reserve(count);
  for (const CollectiveArrival& arrival : arrivals) given.push_back(arrival.tensor);
  if (spec.kind != Kind::kReduceScatter) {
    MS_ASSIGN_OR_RETURN(const Tensor result, spec.kind == Kind::kReduce
                                                 ? Reduce(spec, arrivals, given, loop)
                                                 : JoinRows(given));
    return std::vector<Tensor>(count, result);
  }
  std::vector<Tensor> results;
  results.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    std::vector<Tensor> parts;
    parts.reserve(count);
    for (const Tensor& tensor : given) {
      parts.push_back(PartOfRows(tensor, static_cast<int64_t>(i), spec.group_size));
    }
    MS_ASSIGN_OR_RETURN(Tensor result, Reduce(spec, arrivals, parts, loop));
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::string NameOf(const CollectiveSpec& spec) {
  return absl::StrCat("collective group ", spec.group_key, ", instance ", spec.instance_key);
}

bool MemberBefore(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (absl::ascii_isdigit(a[0]) && absl::ascii_isdigit(b[0])) {
      const absl::string_view left = TakeNumber(&a);
      const absl::string_view right = TakeNumber(&b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && !b.empty();
}

absl::string_view TaskOfMember(absl::string_view member) {
  const size_t slash = member.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : member.substr(0, slash);
}

// ---- Who is there ----

bool CollectiveMeetings::Meeting::Has(absl::string_view member) const {
  return absl::c_any_of(arrivals, [&](const auto& one) { return one.member == member; });
}

void CollectiveMeetings::Failed::Take(Meeting* meeting) {
  absl::c_move(meeting->arrivals, std::back_inserter(arrivals));
  meeting->arrivals.clear();
}

void CollectiveMeetings::Failed::Tell() const {
  for (const CollectiveArrival& arrival : arrivals) arrival.done(status, MeetingOutcome());
}

void CollectiveMeetings::Arrive(const CollectiveSpec& spec, CollectiveArrival arrival,
                                ParallelLoop loop) {
  Meeting complete;
  Failed failed;
  bool is_complete = false;
  {
    absl::MutexLock lock(&mutex_);
    is_complete = Add(spec, std::move(arrival), &complete, &failed);
  }
  failed.Tell();
  if (is_complete) Conclude(std::move(complete), loop);
}

bool CollectiveMeetings::Add(const CollectiveSpec& spec, CollectiveArrival arrival,
                             Meeting* complete, Failed* failed) {
  Group& group = groups_[{spec.scope, spec.group_key}];
  const bool is_new = static_cast<int64_t>(group.known.size()) != spec.group_size ||
                      group.known.count(arrival.member) == 0;
  // Another group has the number now: nobody waits for members of the former one.
  if (is_new) group.known.clear();
  Queue& queue = group.instances[spec.instance_key];
  auto meeting = queue.begin();
  while (meeting != queue.end() && meeting->Has(arrival.member)) ++meeting;
  if (meeting == queue.end()) meeting = queue.insert(queue.end(), {spec, {}});
  const std::string member = arrival.member;
  meeting->arrivals.push_back(std::move(arrival));
  const bool agrees = IsSame(meeting->spec, spec);
  if (!agrees) {
    failed->status = Disagree(spec, meeting->arrivals[0].member, Describe(meeting->spec), member,
                              Describe(spec));
    failed->Take(&*meeting);
  } else if (static_cast<int64_t>(meeting->arrivals.size()) < spec.group_size) {
    return false;
  } else {
    *complete = std::move(*meeting);
    group.known.clear();
    for (const CollectiveArrival& one : complete->arrivals) group.known.insert(one.member);
  }
  queue.erase(meeting);
  if (queue.empty()) group.instances.erase(spec.instance_key);
  return agrees;
}

void CollectiveMeetings::Conclude(Meeting meeting, ParallelLoop loop) {
  std::vector<CollectiveArrival>& arrivals = meeting.arrivals;
  absl::c_sort(arrivals, [](const CollectiveArrival& a, const CollectiveArrival& b) {
    return MemberBefore(a.member, b.member);
  });
  MeetingOutcome outcome;
  Status status = CheckTensors(meeting.spec, arrivals);
  bool is_here = true;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    outcome.members.push_back(arrivals[i].member);
    outcome.tickets.push_back(arrivals[i].ticket.number);
    outcome.link = SlowerOf(outcome.link, arrivals[i].link);
    if (!arrivals[i].gives) continue;
    if (meeting.spec.kind == Kind::kBroadcast) outcome.source = static_cast<int>(i);
    is_here = is_here && arrivals[i].tensor.has_value();
  }
  std::vector<Tensor> results(arrivals.size());
  if (status.ok() && is_here) {
    StatusOr<std::vector<Tensor>> computed =
        ResultsOf(meeting.spec, arrivals, outcome.source, loop);
    status = computed.status();
    if (computed.ok()) results = *std::move(computed);
  }
  {
    absl::MutexLock lock(&mutex_);
    outcome.number = next_number_++;
  }
  // A member may change its tensor as soon as it has the result.
  for (CollectiveArrival& arrival : arrivals) arrival.tensor = Tensor();
  for (size_t i = 0; i < arrivals.size(); ++i) {
    outcome.result = std::move(results[i]);
    arrivals[i].done(status, outcome);
  }
}

// ---- Who goes ----

void CollectiveMeetings::Leave(const CollectiveTicket& ticket, absl::string_view why) {
  Failed leaver;
  Failed others;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, group] : groups_) {
      TakeLeaver(&group, ticket, why, &leaver, &others);
      if (!leaver.arrivals.empty()) break;
    }
  }
  others.Tell();
  leaver.Tell();
}

void CollectiveMeetings::LeaveBefore(const CollectiveTicket& oldest, absl::string_view why) {
  std::vector<CollectiveTicket> tickets;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, group] : groups_) {
      for (const auto& [instance, queue] : group.instances) {
        for (const Meeting& meeting : queue) {
          for (const CollectiveArrival& one : meeting.arrivals) {
            const bool is_older = one.ticket.number < oldest.number;
            if (is_older && one.ticket.task == oldest.task) tickets.push_back(one.ticket);
          }
        }
      }
    }
  }
  for (const CollectiveTicket& ticket : tickets) Leave(ticket, why);
}

void CollectiveMeetings::TakeLeaver(Group* group, const CollectiveTicket& ticket,
                                    absl::string_view why, Failed* leaver, Failed* others) {
  for (auto& [instance, queue] : group->instances) {
    for (Meeting& meeting : queue) {
      const auto found = absl::c_find_if(
          meeting.arrivals, [&](const CollectiveArrival& one) { return one.ticket == ticket; });
      if (found == meeting.arrivals.end()) continue;
      const std::string name = NameOf(meeting.spec);
      leaver->status = errors::Cancelled("the wait in ", name, " was cancelled");
      others->status = absl::AbortedError(
          absl::StrCat("the member ", found->member, " has left ", name, ": ", why));
      leaver->arrivals.push_back(std::move(*found));
      meeting.arrivals.erase(found);
      others->Take(&meeting);
    }
  }
  if (leaver->arrivals.empty()) return;
  // In other operations the member may be awaited by those who wait for nothing else.
  for (auto& [instance, queue] : group->instances) {
    for (Meeting& meeting : queue) {
      if (!meeting.Has(leaver->arrivals[0].member)) others->Take(&meeting);
    }
    queue.remove_if([](const Meeting& meeting) { return meeting.arrivals.empty(); });
  }
  for (auto at = group->instances.begin(); at != group->instances.end();) {
    at = at->second.empty() ? group->instances.erase(at) : std::next(at);
  }
}

void CollectiveMeetings::TakeAll(Group* group, Failed* failed) {
  for (auto& [instance, queue] : group->instances) {
    for (Meeting& meeting : queue) failed->Take(&meeting);
  }
  group->instances.clear();
}

void CollectiveMeetings::LoseTask(absl::string_view task, const Status& why) {
  Failed failed;
  failed.status = absl::UnavailableError(absl::StrCat(
      "the task ", task, ", which has members of the collective group, was lost: ", why.message()));
  const auto is_lost = [task](absl::string_view member) { return TaskOfMember(member) == task; };
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, group] : groups_) {
      bool has_lost = absl::c_any_of(group.known, is_lost);
      for (const auto& [instance, queue] : group.instances) {
        for (const Meeting& meeting : queue) {
          has_lost = has_lost || absl::c_any_of(meeting.arrivals, [&](const auto& one) {
                       return is_lost(one.member);
                     });
        }
      }
      if (has_lost) TakeAll(&group, &failed);
    }
  }
  failed.Tell();
}

void CollectiveMeetings::EndAll(const Status& status) {
  Failed failed;
  failed.status = status;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, group] : groups_) TakeAll(&group, &failed);
  }
  failed.Tell();
}

bool CollectiveMeetings::HasWaiting() const {
  absl::MutexLock lock(&mutex_);
  return absl::c_any_of(groups_, [](const auto& one) { return !one.second.instances.empty(); });
}

std::set<std::string> CollectiveMeetings::KnownTasks(const CollectiveSpec& spec) const {
  std::set<std::string> tasks;
  absl::MutexLock lock(&mutex_);
  const auto group = groups_.find({spec.scope, spec.group_key});
  if (group == groups_.end()) return tasks;
  for (const std::string& member : group->second.known) tasks.emplace(TaskOfMember(member));
  return tasks;
}

std::string CollectiveMeetings::Missing(const CollectiveSpec& spec,
                                        absl::string_view member) const {
  std::set<std::string> here = {std::string(member)};
  std::vector<std::string> missing;
  {
    absl::MutexLock lock(&mutex_);
    const auto group = groups_.find({spec.scope, spec.group_key});
    if (group != groups_.end()) {
      const auto queue = group->second.instances.find(spec.instance_key);
      if (queue != group->second.instances.end()) {
        const auto own = absl::c_find_if(
            queue->second, [member](const Meeting& meeting) { return meeting.Has(member); });
        const Meeting& meeting = own == queue->second.end() ? queue->second.front() : *own;
        for (const CollectiveArrival& arrival : meeting.arrivals) here.insert(arrival.member);
      }
      absl::c_set_difference(group->second.known, here, std::back_inserter(missing));
    }
  }
  const std::string text = absl::StrCat(spec.group_size - static_cast<int64_t>(here.size()), " of ",
                                        spec.group_size, " members of ", NameOf(spec));
  if (!missing.empty()) return absl::StrCat(text, ": ", absl::StrJoin(missing, ", "));
  return absl::StrCat(text, " besides ", absl::StrJoin(here, ", "));
}

}  // namespace millstream
