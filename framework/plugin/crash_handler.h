// Reports the plugin in which the process crashes.
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_

namespace millstream {

// Installs handlers of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. If the thread runs code of a
// plugin (running_code.h) or has a breadcrumb (host_interfaces.h), the handler writes the line
// "millstream error: SIGSEGV in plugin acme, kernel Conv2D, node layer/conv: <breadcrumb>", or the
// parts that are known. Then the previous handler, or the default action, follows. The handlers
// also run after an overflow of the stack if the thread has a signal stack (signal_stack.h). The
// calling thread gets one. If such a thread calls exit(), the process writes "millstream error:
// exit in ..." and ends with a failure. A second call installs nothing. Thread-safe.
void InstallCrashHandler();

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CRASH_HANDLER_H_
