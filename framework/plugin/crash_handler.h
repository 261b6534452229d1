// Says which plugin the process died in.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_

namespace millstream {

// From now on a SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT in a thread that runs code of a plugin
// (see running_code.h) or has a breadcrumb (host_interfaces.h) writes the line "millstream error:
// SIGSEGV in plugin acme, kernel Conv2D, node layer/conv: <breadcrumb>", or what is known of it,
// before what was set for that signal earlier, or the default action, takes its course. Does
// nothing the second time. Thread-safe.
void InstallCrashHandler();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_
