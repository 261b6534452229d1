// Says which plugin the process died in.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_

namespace millstream {

// From now on a SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT in a thread that has a breadcrumb (see
// host_interfaces.h) writes the line "millstream error: SIGSEGV in <breadcrumb>" to stderr before
// what was set for that signal earlier, or the default action, takes its course. Does nothing the
// second time. Thread-safe.
void InstallCrashHandler();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_
