/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_STATUS_H
#define KILN_STATUS_H

/**
 * Status codes and the calling thread's last error.
 *
 * Every function that returns a kiln_status_t clears the thread's last error on entry, so it is
 * never stale. The accessors' strings are UTF-8, never NULL, and valid until the same thread's next
 * call that returns a status.
 */

#include "kiln/version.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One of the KILN_… codes below. Closed; numbers are never reused. */
typedef int32_t kiln_status_t;

enum {
  KILN_OK = 0,
  KILN_INVALID_ARGUMENT = 1, /**< The call is wrong; the message names argument and value. */
  KILN_NOT_FOUND = 2,        /**< No such template, model, device or file. */
  KILN_UNSUPPORTED = 3,      /**< Not for this target or compiler. */
  KILN_UNAVAILABLE = 4,      /**< NVRTC, the driver or a device is missing. */
  KILN_NOT_READY = 5,        /**< It would take more than the request allowed. */
  KILN_COMPILE_FAILED = 6,   /**< The detail has the compiler's log. */
  KILN_COMPILE_DISABLED = 7, /**< A policy forbids compiling. */
  KILN_LOAD_FAILED = 8,      /**< The driver refused the image. */
  KILN_LAUNCH_FAILED = 9,    /**< The driver refused the launch. */
  KILN_IO = 10,              /**< A file could not be read or written. */
  KILN_CORRUPT = 11,         /**< Stored data are damaged. */
  KILN_BUSY = 12,            /**< A lock was not to be had in time. */
  KILN_CANCELLED = 13,       /**< As asked, or by a time limit. */
  KILN_OUT_OF_MEMORY = 14,   /**< On the host or on the device. */
  KILN_INTERNAL = 15         /**< A defect in Kiln. */
};

/** Whose kiln_last_error_native_code() is. */
enum {
  KILN_ORIGIN_KILN = 0,
  KILN_ORIGIN_NVRTC = 1,  /**< nvrtcResult */
  KILN_ORIGIN_CUDA = 2,   /**< CUresult */
  KILN_ORIGIN_SQLITE = 3, /**< extended result code */
  KILN_ORIGIN_SYSTEM = 4  /**< errno; 0 for the dynamic loader */
};

/** "ok", "invalid_argument", …; "unknown" for a number that is no code. Static. */
KILN_API const char* kiln_status_name(kiln_status_t status);

/** One line without a trailing period; empty after a success. */
KILN_API const char* kiln_last_error_message(void);

/** The compiler's log or the paths tried, many lines; empty if there is nothing more to say. */
KILN_API const char* kiln_last_error_detail(void);

/** KILN_ORIGIN_… of the last error. */
KILN_API int32_t kiln_last_error_origin(void);

/** The foreign API's own code, 0 if Kiln itself found the error. */
KILN_API int32_t kiln_last_error_native_code(void);

#ifdef __cplusplus
}
#endif

#endif /* KILN_STATUS_H */
