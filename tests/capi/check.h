/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_TESTS_CHECK_H
#define KILN_TESTS_CHECK_H

/* Checks for tests in C: each failure is printed with its place, and counted. */

#include <stdio.h>
#include <string.h>

static int g_checks;
static int g_failures;

#define CHECK(condition)                                                      \
  do {                                                                        \
    ++g_checks;                                                               \
    if (!(condition)) {                                                       \
      ++g_failures;                                                           \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)

/* Status and whole message of the call just made. */
#define CHECK_ERROR(call, status, message)                           \
  do {                                                               \
    CHECK((call) == (status));                                       \
    CHECK(strcmp(kiln_last_error_message(), (message)) == 0);        \
    if (strcmp(kiln_last_error_message(), (message)) != 0) {         \
      fprintf(stderr, "  message: %s\n", kiln_last_error_message()); \
    }                                                                \
  } while (0)

#define CHECK_OK(call)                                                                    \
  do {                                                                                    \
    kiln_status_t check_status = (call);                                                  \
    CHECK(check_status == KILN_OK);                                                       \
    if (check_status != KILN_OK) {                                                        \
      fprintf(stderr, "  %s\n%s\n", kiln_last_error_message(), kiln_last_error_detail()); \
    }                                                                                     \
  } while (0)

static int report(void) {
  printf("%d checks, %d failed\n", g_checks, g_failures);
  return g_failures == 0 ? 0 : 1;
}

#endif
