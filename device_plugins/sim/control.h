/* Switches of simulated devices that exist, for tests: an interface of the plugin beside those of
 * plugin.h. The host asks MS_Plugin.get_interface for it by its id. In C, as plugin.h is. */
#ifndef MILLSTREAM_DEVICE_PLUGINS_SIM_CONTROL_H_
#define MILLSTREAM_DEVICE_PLUGINS_SIM_CONTROL_H_

#include "framework/plugin/plugin.h"

/* Experimental, as all of "ms.x." are: it may change with any version. */
#define SIM_CONTROL_API "ms.x.sim/1"

/* How much the host uses of what is optional. */
typedef struct SIM_Uses {
  uint64_t graphs;     /* of recorded work, of any device, that exist */
  uint64_t replays;    /* so far, of devices that exist */
  uint64_t registered; /* pieces of host memory, of devices that exist */
} SIM_Uses;

typedef struct SIM_ControlApi {
  MS_Table head;
  /* Sets a switch of docs/sim.md on a device of this plugin, now; one that counts counts from now.
   * What hangs goes on when its switch is cleared. MS_INVALID_ARGUMENT for an unknown name or a
   * value out of bounds; MS_FAILED_PRECONDITION for a switch that only counts when a device is
   * created. Any thread may call it. */
  MS_Status* (*set)(MS_Device* device, MS_Str name, MS_Str value);
  /* The same for all devices of an ordinal that exist; none of them may be destroyed meanwhile. */
  MS_Status* (*set_all)(uint32_t ordinal, MS_Str name, MS_Str value);
  /* How many streams of those devices hang at this moment, so that a test can wait until one does.
   */
  MS_Status* (*count_hung)(uint32_t ordinal, uint64_t* out);
  MS_Status* (*count_uses)(uint32_t ordinal, SIM_Uses* out);
} SIM_ControlApi;

#endif /* MILLSTREAM_DEVICE_PLUGINS_SIM_CONTROL_H_ */
