/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_CONTEXT_H
#define KILN_CONTEXT_H

/**
 * A context holds the templates, the cache and the devices that kernels are acquired from. All
 * functions are thread-safe, but for closing a context that is still in use. Most hosts want one.
 * In a process forked after a context was opened, its acquires give KILN_UNAVAILABLE: open one
 * there.
 */

#include "kiln/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_context kiln_context_t;

enum {
  KILN_CONTEXT_MEMORY_ONLY = 1 /**< Neither read nor write the on-disk cache, and read no packs. */
};

/** Start from KILN_CONTEXT_OPTIONS_INIT; zero means default. */
typedef struct kiln_context_options {
  size_t struct_size;
  const char* cache_dir; /**< Absolute path; NULL: KILN_CACHE_DIR and the XDG rules decide. */
  uint32_t flags;        /**< KILN_CONTEXT_… */
  int32_t most_compiles; /**< Compiles at once; 0: as many as the process may use cores. */
} kiln_context_options_t;

#define KILN_CONTEXT_OPTIONS_INIT \
  { sizeof(kiln_context_options_t), NULL, 0, 0 }

/**
 * Opens a context and reads the KILN_… environment. Needs neither a driver nor NVRTC; both are
 * loaded when first needed. A cache that cannot be used is no failure: kernels are then kept in
 * memory, and a warning is logged.
 *
 * @param options      NULL: all defaults. Read during the call only.
 * @param out_context  Owned by the caller; NULL on failure.
 * @retval KILN_OK
 * @retval KILN_INVALID_ARGUMENT  An option or KILN_… variable has a bad value, or a user template's
 *                                manifest is wrong.
 * @retval KILN_NOT_FOUND         A directory of KILN_TEMPLATE_PATH, or a file it needs, is missing.
 * @retval KILN_IO                A template or KILN_LOG_FILE cannot be opened.
 */
KILN_API kiln_status_t kiln_context_open(const kiln_context_options_t* options,
                                         kiln_context_t** out_context);

/**
 * Closes a context; NULL is a no-op. Writes use counts to the cache, and may wait for other
 * processes that write to it. Kernels acquired from it stay
 * valid until they are released.
 */
KILN_API void kiln_context_close(kiln_context_t* context);

/** What a context did since it was opened. */
typedef struct kiln_statistics {
  size_t struct_size; /**< Set by the caller: sizeof(kiln_statistics_t). */
  int64_t memory_hits;
  int64_t disk_hits;
  int64_t misses;
  int64_t compiles;
  int64_t compile_failures;
  int64_t other_toolchain_hits; /**< Disk and pack hits that another NVRTC compiled. */
  int64_t recovered;            /**< Damaged entries found and dropped. */
  int64_t store_failures;       /**< Cache failures that did not fail a request. */
  int64_t waits;                /**< Requests that waited for another thread's compile. */
  int64_t process_waits;        /**< That waited for another process's compile. */
  int64_t process_wait_us;      /**< How long they did, together. */
  int64_t lock_timeouts;        /**< That compiled on their own after waiting in vain. */
  int64_t pack_hits;            /**< Found in a pack (docs/cache-format.md). */
} kiln_statistics_t;

#define KILN_STATISTICS_INIT \
  { sizeof(kiln_statistics_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @param out_statistics  struct_size tells which members the caller knows; the others are not
 *                        touched.
 * @retval KILN_OK
 * @retval KILN_INVALID_ARGUMENT  NULL, or a struct_size that is too small.
 */
KILN_API kiln_status_t kiln_context_statistics(kiln_context_t* context,
                                               kiln_statistics_t* out_statistics);

#ifdef __cplusplus
}
#endif

#endif /* KILN_CONTEXT_H */
