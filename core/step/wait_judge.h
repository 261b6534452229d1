// A step may wait for something that only another step can give, such as an element of a queue. The
// runtime does not know whether the program will begin such a step. The front end may know: it sees
// the threads of the program.
#ifndef MILLSTREAM_CORE_STEP_WAIT_JUDGE_H_
#define MILLSTREAM_CORE_STEP_WAIT_JUDGE_H_

#include <string>

namespace millstream {

enum class WaitVerdict {
  kMayEnd,
  kInVain,  // no thread of the program can end the waits
  kStop,    // the step must end, as when RunOptions::should_stop returns true
};

// Judges waits, of which `waits` has one a line ("an element of queue 'q'"). Called regularly on
// the thread that drives the step, without a lock, while the step has nothing else to do. It is not
// called for steps with a time limit.
using WaitJudge = WaitVerdict (*)(const std::string& waits);

// Sets the judge of the process. Without one, or after null, steps wait without limit. Only steps
// with RunOptions::should_stop ask it. Thread-safe.
void SetWaitJudge(WaitJudge judge);
WaitJudge TheWaitJudge();

}  // namespace millstream

#endif  // MILLSTREAM_CORE_STEP_WAIT_JUDGE_H_
