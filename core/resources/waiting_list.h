// Operations on a resource that wait until they can complete.
#ifndef MILLSTREAM_CORE_RESOURCES_WAITING_LIST_H_
#define MILLSTREAM_CORE_RESOURCES_WAITING_LIST_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "framework/status.h"

namespace millstream {

// The waiting operations. An operation waits without a thread, in a line: only the first of a line
// is tried. A change of the resource wakes the lines that it may help. So an operation costs the
// same however many others wait. Not thread-safe: the resource guards the list, and calls the
// functions of Ended without its lock.
class WaitingList {
 public:
  // Identifies an operation for Cancel. No two waiting operations may have the same one.
  using Ticket = const void*;
  // Completes the operation if that is possible now, and returns true; false: it must wait. Sets
  // `status` to its error. Wakes the lines that may go on after it, but for its own.
  using Attempt = std::function<bool(Status* status)>;
  // Called once, by any thread.
  using Done = std::function<void(const Status& status)>;
  // What operations of a line wait for: a kind of change, of the thing that a key names.
  struct Line {
    int kind = 0;
    int64_t key = 0;
    friend bool operator<(const Line& a, const Line& b) {
      return a.kind != b.kind ? a.kind < b.kind : a.key < b.key;
    }
  };
  class Ended {
   public:
    void Add(Done done, Status status) { ended_.emplace_back(std::move(done), std::move(status)); }
    // Calls the functions. REQUIRES: the caller holds no lock that they take.
    void Tell() {
      for (auto& [done, status] : ended_) done(status);
      ended_.clear();
    }

   private:
    std::vector<std::pair<Done, Status>> ended_;
  };

  // Adds an operation, and wakes its line.
  void Add(Ticket ticket, Line line, Attempt attempt, Done done) {
    std::list<Waiting>& waiting = lines_[line];
    waiting.push_back({ticket, next_number_++, std::move(attempt), std::move(done)});
    places_[ticket] = {line, std::prev(waiting.end())};
    if (waiting.size() == 1) order_[line.kind].emplace(waiting.front().number, line);
    Wake(line);
  }
  // Has Advance try the line.
  void Wake(Line line) {
    if (lines_.count(line) > 0) woken_.insert(line);
  }
  // Has Advance try all lines of a kind, that of the oldest operation first; no others after the
  // first that must go on waiting, if `stops` says that these must as well.
  void WakeAll(int kind, bool stops) { woken_kinds_[kind] = stops; }
  // Completes what can be completed in the woken lines.
  void Advance(Ended* ended) {
    while (!woken_.empty() || !woken_kinds_.empty()) {
      if (!woken_.empty()) {
        const Line line = *woken_.begin();
        woken_.erase(woken_.begin());
        AdvanceLine(line, ended);
        continue;
      }
      const auto [kind, stops] = *woken_kinds_.begin();
      woken_kinds_.erase(woken_kinds_.begin());
      AdvanceKind(kind, stops, ended);
    }
  }
  // Ends the operation with `status`, and wakes its line. Does nothing if there is none.
  void Cancel(Ticket ticket, const Status& status, Ended* ended) {
    const auto place = places_.find(ticket);
    if (place == places_.end()) return;
    const auto [line, waiting] = place->second;
    ended->Add(std::move(waiting->done), status);
    Erase(line, waiting);
    Wake(line);
  }
  void CancelAll(const Status& status, Ended* ended) {
    std::map<uint64_t, Done> done;  // in the order in which they were added
    for (auto& [line, waiting] : lines_) {
      for (Waiting& each : waiting) done.emplace(each.number, std::move(each.done));
    }
    for (auto& [number, each] : done) ended->Add(std::move(each), status);
    lines_.clear();
    places_.clear();
    order_.clear();
    woken_.clear();
    woken_kinds_.clear();
  }

 private:
  struct Waiting {
    Ticket ticket;
    uint64_t number;
    Attempt attempt;
    Done done;
  };
  using Waitings = std::list<Waiting>;

  void Erase(Line line, Waitings::iterator at) {
    const auto found = lines_.find(line);
    Waitings& waiting = found->second;
    const bool was_first = at == waiting.begin();
    if (was_first) order_[line.kind].erase(at->number);
    places_.erase(at->ticket);
    waiting.erase(at);
    if (waiting.empty()) {
      lines_.erase(found);
    } else if (was_first) {
      order_[line.kind].emplace(waiting.front().number, line);
    }
  }
  // True if none of the line must go on waiting.
  bool AdvanceLine(Line line, Ended* ended) {
    for (;;) {
      const auto found = lines_.find(line);
      if (found == lines_.end()) return true;
      const auto first = found->second.begin();
      Status status;
      if (!first->attempt(&status)) return false;
      ended->Add(std::move(first->done), std::move(status));
      Erase(line, first);
    }
  }
  void AdvanceKind(int kind, bool stops, Ended* ended) {
    std::map<uint64_t, Line>& order = order_[kind];
    for (auto at = order.begin(); at != order.end();) {
      const uint64_t number = at->first;
      const Line line = at->second;
      if (!AdvanceLine(line, ended) && stops) return;
      at = order.upper_bound(number);
    }
  }

  std::map<Line, Waitings> lines_;  // none is empty
  absl::flat_hash_map<Ticket, std::pair<Line, Waitings::iterator>> places_;
  // The lines of each kind, by the number of their first operation.
  std::map<int, std::map<uint64_t, Line>> order_;
  std::set<Line> woken_;
  std::map<int, bool> woken_kinds_;  // and whether they stop
  uint64_t next_number_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_WAITING_LIST_H_
