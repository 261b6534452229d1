#include "core/step/cancel_listeners.h"

#include <algorithm>

namespace millstream {

void CancelListeners::Add(CancelListener* listener) {
  {
    absl::MutexLock lock(&mutex_);
    if (!fired_) {
      listeners_.push_back(listener);
      return;
    }
  }
  listener->Call();
}

void CancelListeners::Remove(CancelListener* listener) {
  absl::MutexLock lock(&mutex_);
  listeners_.erase(std::remove(listeners_.begin(), listeners_.end(), listener), listeners_.end());
}

void CancelListeners::Fire() {
  absl::MutexLock lock(&mutex_);
  fired_ = true;
  for (CancelListener* listener : listeners_) listener->Call();
}

}  // namespace millstream
