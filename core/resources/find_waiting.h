// Finds an operation among those that wait for a resource, by its ticket.
#ifndef MILLSTREAM_CORE_RESOURCES_FIND_WAITING_H_
#define MILLSTREAM_CORE_RESOURCES_FIND_WAITING_H_

namespace millstream {

// `line` is a deque of structures with a `ticket`. Looks from both ends at once: a step that ends
// cancels its operations from the oldest to the newest, and each costs the same however many wait.
// Gives line->end() if there is none.
template <typename Line, typename Ticket>
typename Line::iterator FindWaiting(Line* line, Ticket ticket) {
  auto first = line->begin();
  auto last = line->end();
  while (first != last) {
    if (first->ticket == ticket) return first;
    ++first;
    if (first == last) break;
    --last;
    if (last->ticket == ticket) return last;
  }
  return line->end();
}

}  // namespace millstream

#endif  // MILLSTREAM_CORE_RESOURCES_FIND_WAITING_H_
