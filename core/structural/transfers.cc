// Send and Receive between the parts of a step. The executors run them themselves, because they
// know the step's rendezvous and the iteration of loops.
#include "core/structural/structural.h"

namespace millstream {
namespace {

MILLSTREAM_STRUCTURAL("_Send", StructuralRole::kSend, nullptr);
MILLSTREAM_STRUCTURAL("_HostSend", StructuralRole::kSend, nullptr);
MILLSTREAM_STRUCTURAL("_Recv", StructuralRole::kReceive, nullptr);
MILLSTREAM_STRUCTURAL("_HostRecv", StructuralRole::kReceive, nullptr);

}  // namespace

}  // namespace millstream
