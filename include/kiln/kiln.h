/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_KILN_H
#define KILN_KILN_H

/** All of Kiln's C API. */

#include "kiln/context.h" /* IWYU pragma: export */
#include "kiln/kernel.h"  /* IWYU pragma: export */
#include "kiln/log.h"     /* IWYU pragma: export */
#include "kiln/status.h"  /* IWYU pragma: export */
#include "kiln/version.h" /* IWYU pragma: export */

#endif /* KILN_KILN_H */
