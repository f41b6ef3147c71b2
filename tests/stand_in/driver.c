/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libcuda.so.1, for tests without a GPU. Functions are found by the names that
 * cuGetProcAddress knows, which have no version in them; all succeed and do nothing. The optional
 * ones are missing.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

static int succeed(void) {
  return 0;
}

static int driver_version(int* version) {
  *version = 13000;
  return 0;
}

static int no_devices(int* count) {
  *count = 0;
  return 0;
}

static int has_version(const char* name) {
  const char* end = strrchr(name, '_');
  return end != NULL && end[1] == 'v' && isdigit((unsigned char)end[2]);
}

/* ISO C has no cast from a function pointer to an object pointer. */
static void* address_of(int (*function)(void)) {
  void* address = NULL;
  memcpy(&address, &function, sizeof(address));
  return address;
}

int cuGetProcAddress_v2(const char* name,
                        void** function,
                        int version,
                        uint64_t flags,
                        int* found) {
  static const char* const kMissing[] = {"cuFuncLoad", "cuMemAlloc"};
  size_t i = 0;
  (void)flags;
  *found = 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
  *function = NULL;
  if (has_version(name) || version < 2000) return 0;
  for (i = 0; i < sizeof(kMissing) / sizeof(*kMissing); ++i) {
    if (strcmp(name, kMissing[i]) == 0) return 0;
  }
  *found = 0;
  if (strcmp(name, "cuDriverGetVersion") == 0) {
    *function = address_of((int (*)(void))driver_version);
  } else if (strcmp(name, "cuDeviceGetCount") == 0) {
    *function = address_of((int (*)(void))no_devices);
  } else {
    *function = address_of(succeed);
  }
  return 0;
}
