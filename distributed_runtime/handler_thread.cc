#include "distributed_runtime/handler_thread.h"

#include <utility>

namespace millstream {
namespace {

thread_local HandlerThread::Owner* t_owner = nullptr;
thread_local bool t_is_kept = false;

}  // namespace

HandlerThread::Scope::Scope(Owner* owner)
    : outer_(std::exchange(t_owner, owner)), outer_is_kept_(std::exchange(t_is_kept, false)) {}

HandlerThread::Scope::~Scope() {
  t_owner = outer_;
  t_is_kept = outer_is_kept_;
}

bool HandlerThread::Keep() {
  if (t_owner == nullptr || t_is_kept) return false;
  t_is_kept = true;
  t_owner->HandOver();
  return true;
}

void HandlerThread::Help(absl::FunctionRef<bool()> is_done) {
  if (t_owner != nullptr && t_is_kept) t_owner->Help(is_done);
}

void HandlerThread::AnswerAndHelp(absl::FunctionRef<void()> answer,
                                  absl::FunctionRef<bool()> is_done) {
  if (t_owner == nullptr || !t_is_kept) return answer();
  t_owner->AnswerAndHelp(answer, is_done);
}

}  // namespace millstream
