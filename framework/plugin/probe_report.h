/* The bytes that the probe's program writes as it goes (plugin_probe.c). */
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_REPORT_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_REPORT_H_

enum {
  kProbeEntered = 'E',     /* the entry point has returned a plugin */
  kProbeInitialized = 'I', /* init has returned, without an error */
  kProbeDone = 'K',        /* nothing more is to be tried */
};

#endif /* MILLSTREAM_FRAMEWORK_PLUGIN_PROBE_REPORT_H_ */
