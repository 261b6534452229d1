/* The header, alone, as C. */
#include "core/c_api/c_api.h"

/* What a front end in C writes down: tables of outputs, options by name of field. */
millstream_output c_api_header_no_output(void) {
  const millstream_output none = {-1, 0};
  return none;
}

int64_t c_api_header_timeout(int64_t timeout_ms) {
  millstream_run_options options = {0};
  options.timeout_ms = timeout_ms;
  return options.should_stop == NULL && options.cancellation == NULL ? options.timeout_ms : -1;
}

size_t c_api_header_gradient_size(void) { return sizeof(millstream_gradient); }
