/* Optional extensions of MS_KernelDef (MS_Head.ext): what a kernel may declare besides its
 * definition. A host that does not know one goes on without it. An extension lives until
 * kernel_register returns. In C++: ms::KernelOptions().Extension(&extension). */
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_EXTENSIONS_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_EXTENSIONS_H_

#include "framework/plugin/plugin.h"

/* An id of ours: the letters "ms", then a number. */
#define MS_EXT_ID(number) (UINT64_C(0x6d73000000000000) + (number))

/* The kernel changes variables. In types float and double it computes each element as the op's
 * documentation says. Additions, multiplications, divisions and square roots round once, to the
 * type or more exactly, and at most ten of them follow one another. So a host that knows bounds of
 * the inputs knows bounds of the variables afterwards, and need not look for NaN and infinities.
 * The extension has nothing but its id:
 *   static const MS_Ext kBounded = {{sizeof(MS_Ext), 0, NULL}, MS_EXT_BOUNDED_UPDATE}; */
#define MS_EXT_BOUNDED_UPDATE MS_EXT_ID(1)

#endif /* MILLSTREAM_FRAMEWORK_PLUGIN_KERNEL_EXTENSIONS_H_ */
