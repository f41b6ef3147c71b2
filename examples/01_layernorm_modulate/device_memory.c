/* SPDX-License-Identifier: Apache-2.0 */
#include "device_memory.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* CUresult is an int, CUdevice an int, CUdeviceptr 64 bits wide, CUcontext a pointer. */
static struct {
  int (*init)(unsigned);
  int (*retain)(void**, int);
  int (*set_current)(void*);
  int (*allocate)(uint64_t*, size_t);
  int (*free_memory)(uint64_t);
  int (*to_device)(uint64_t, const void*, size_t);
  int (*to_host)(void*, uint64_t, size_t);
  int (*fill)(uint64_t, unsigned char, size_t);
} driver;

/* ISO C has no cast from an object pointer to a function pointer. */
static int resolve(void* library, const char* name, void* function) {
  void* symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof(symbol));
  return symbol == NULL;
}

int device_open(void) {
  void* context = NULL;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return -1;
  if (resolve(library, "cuInit", &driver.init) ||
      resolve(library, "cuDevicePrimaryCtxRetain", &driver.retain) ||
      resolve(library, "cuCtxSetCurrent", &driver.set_current) ||
      resolve(library, "cuMemAlloc_v2", &driver.allocate) ||
      resolve(library, "cuMemFree_v2", &driver.free_memory) ||
      resolve(library, "cuMemcpyHtoD_v2", &driver.to_device) ||
      resolve(library, "cuMemcpyDtoH_v2", &driver.to_host) ||
      resolve(library, "cuMemsetD8_v2", &driver.fill)) {
    return -1;
  }
  if (driver.init(0) != 0 || driver.retain(&context, 0) != 0 || driver.set_current(context) != 0) {
    return -1;
  }
  return 0;
}

void* device_copy(const void* data, size_t bytes) {
  uint64_t address = 0;
  if (driver.allocate(&address, bytes) != 0) return NULL;
  if (data != NULL ? driver.to_device(address, data, bytes) != 0
                   : driver.fill(address, 0xA5, bytes) != 0) {
    driver.free_memory(address);
    return NULL;
  }
  return (void*)(uintptr_t)address;
}

int device_read(void* data, const void* address, size_t bytes) {
  return driver.to_host(data, (uint64_t)(uintptr_t)address, bytes);
}

void device_free(void* address) {
  if (address != NULL) driver.free_memory((uint64_t)(uintptr_t)address);
}
