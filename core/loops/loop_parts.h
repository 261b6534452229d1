// Makes a node of a loop.
#ifndef MILLSTREAM_CORE_LOOPS_LOOP_PARTS_H_
#define MILLSTREAM_CORE_LOOPS_LOOP_PARTS_H_

#include <string>

#include "core/loops/loop_form.h"
#include "core/loops/step_items.h"
#include "framework/status.h"

namespace millstream {

// The item that takes the place of the loop in the frame around it. `frame` is the name of the
// loop's frame, `exits` are its Exits. `joins_sums`: products that variables add up become
// LoopBody::sums. Errors are those of building the graphs.
StatusOr<StepItem> MakeLoopItem(const LoopForm& form, const std::string& frame,
                                const std::vector<StepItem>& exits, bool joins_sums);

}  // namespace millstream

#endif  // MILLSTREAM_CORE_LOOPS_LOOP_PARTS_H_
