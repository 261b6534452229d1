// What the thread that calls a handler of requests may do.
#ifndef MILLSTREAM_DISTRIBUTED_RUNTIME_HANDLER_THREAD_H_
#define MILLSTREAM_DISTRIBUTED_RUNTIME_HANDLER_THREAD_H_

#include "absl/functional/function_ref.h"

namespace millstream {

// A thread that reads messages calls handlers, which must not block. To pass long work to another
// thread takes as long as a small step. So a transport may let the handler keep the thread: another
// one reads on, and this one comes back when the work is done. Static functions are about the
// calling thread.
class HandlerThread {
 public:
  // A transport whose thread calls a handler.
  class Owner {
   public:
    // Gives its reading to another thread. Called once at most, on this thread.
    virtual void HandOver() = 0;
    // Reads, as Channel::Help. Called after HandOver, on this thread.
    virtual void Help(absl::FunctionRef<bool()> is_done) = 0;
    // Calls `answer` and reads then; what comes meanwhile need not wake another thread.
    virtual void AnswerAndHelp(absl::FunctionRef<void()> answer,
                               absl::FunctionRef<bool()> is_done) {
      answer();
      Help(is_done);
    }

   protected:
    ~Owner() = default;
  };

  // Makes `owner` that of the thread as long as the object lives. Null: handlers that are called
  // meanwhile may not keep the thread, because who called waits for them.
  class Scope {
   public:
    explicit Scope(Owner* owner);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Owner* const outer_;
    const bool outer_is_kept_;
  };

  // True: the handler may work and wait as long as it likes.
  static bool Keep();
  // Lets a kept thread take messages for a short time instead of a wait. Returns at once on others.
  // REQUIRES: the caller holds no lock that handlers take.
  static void Help(absl::FunctionRef<bool()> is_done);
  // Calls `answer`, which does not take long: the peer may send at once what the thread then takes.
  static void AnswerAndHelp(absl::FunctionRef<void()> answer, absl::FunctionRef<bool()> is_done);
};

}  // namespace millstream

#endif  // MILLSTREAM_DISTRIBUTED_RUNTIME_HANDLER_THREAD_H_
