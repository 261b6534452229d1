// A stack for signal handlers of the calling thread.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_SIGNAL_STACK_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_SIGNAL_STACK_H_

namespace millstream {

// Whether the thread has asked for one; a part of the thread from its start.
extern __thread bool has_signal_stack __attribute__((tls_model("initial-exec")));

void MakeSignalStack();

// From now on handlers with SA_ONSTACK run on a stack of their own when a signal comes to this
// thread, so that a plugin whose kernel overflows the thread's stack can be named. A thread that
// has one already keeps it. It goes with the thread. A load and a branch after the first time.
inline void EnsureSignalStack() {
  if (__builtin_expect(!has_signal_stack, false)) MakeSignalStack();
}

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_SIGNAL_STACK_H_
