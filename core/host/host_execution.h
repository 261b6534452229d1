// A part of "ms.ctx/1": the functions of an execution about its node and its step.
#ifndef MILLSTREAM_CORE_HOST_HOST_EXECUTION_H_
#define MILLSTREAM_CORE_HOST_HOST_EXECUTION_H_

#include "framework/plugin/plugin.h"

namespace millstream {

// Each implements the slot of this name in MS_CtxApi.
namespace host_execution {

MS_Status* InputList(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end);
MS_Status* OutputList(const MS_Frame* frame, MS_Str name, uint32_t* begin, uint32_t* end);
MS_DType ExpectedOutputDType(const MS_Frame* frame, uint32_t index);
uint64_t StepId(const MS_Frame* frame);
MS_Status* InputTensor(MS_Frame* frame, uint32_t index, MS_Tensor** out);
MS_Status* CancelRegister(MS_Frame* frame, void (*fn)(void* user), void* user, uint64_t* out_token);
void CancelDeregister(MS_Frame* frame, uint64_t token);
MS_Status* Defer(MS_Frame* frame, void (*fn)(void* user), void* user);
void TraceBegin(MS_Frame* frame, MS_Str name);
void TraceEnd(MS_Frame* frame);

}  // namespace host_execution

}  // namespace millstream

#endif  // MILLSTREAM_CORE_HOST_HOST_EXECUTION_H_
