/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_LOG_H
#define KILN_LOG_H

/** The library prints nothing; what it has to say goes to this callback. */

#include "kiln/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  KILN_LOG_OFF = 0,
  KILN_LOG_ERROR = 1,
  KILN_LOG_WARNING = 2,
  KILN_LOG_INFO = 3,
  KILN_LOG_DEBUG = 4
};

/**
 * Receives one line without a newline. Called from any thread, one call at a time; must not call
 * into Kiln.
 */
typedef void (*kiln_log_callback_t)(int32_t level, const char* message, void* user_data);

/**
 * Sets the process's log callback, or removes it (NULL). Thread-safe; once it returns, the previous
 * callback is not called any more.
 *
 * @param callback   NULL: nothing is reported.
 * @param user_data  Passed on; must live as long as the callback is set.
 * @param level      The most verbose KILN_LOG_… to report.
 * @retval KILN_OK
 * @retval KILN_INVALID_ARGUMENT  level is no KILN_LOG_… value.
 */
KILN_API kiln_status_t kiln_set_log_callback(kiln_log_callback_t callback,
                                             void* user_data,
                                             int32_t level);

#ifdef __cplusplus
}
#endif

#endif /* KILN_LOG_H */
