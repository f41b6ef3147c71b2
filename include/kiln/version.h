/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_VERSION_H
#define KILN_VERSION_H

/** Version of these headers and of the library, and the export mark. */

#include <stdint.h>

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION_NUMBER \
  (KILN_VERSION_MAJOR * 10000 + KILN_VERSION_MINOR * 100 + KILN_VERSION_PATCH)

#define KILN_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** KILN_VERSION_NUMBER of the library in use. */
KILN_API int32_t kiln_version_number(void);

/**
 * What the library was built with, "name=value" pairs separated by spaces: version, CUDA headers,
 * SQLite, zstd, key and store schema. Static.
 */
KILN_API const char* kiln_build_info(void);

#ifdef __cplusplus
}
#endif

#endif /* KILN_VERSION_H */
