/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KILN_KERNEL_H
#define KILN_KERNEL_H

/**
 * Kernels: acquire by spec, inspect, launch, release. Thread-safe throughout; a kernel may be
 * launched from many threads at once.
 */

#include "kiln/context.h"

#include <stddef.h>

struct CUstream_st; /* CUstream and cudaStream_t are pointers to it */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_kernel kiln_kernel_t;

/** How far an acquire may go before it gives up with KILN_NOT_READY. */
enum {
  KILN_ACQUIRE_COMPILE = 0, /**< Compile if need be. */
  KILN_ACQUIRE_LOAD = 1,    /**< Memory, disk and packs. */
  KILN_ACQUIRE_MEMORY = 2   /**< Only what this context already holds. */
};

/** Start from KILN_KERNEL_SPEC_INIT. */
typedef struct kiln_kernel_spec {
  size_t struct_size;
  /** "layernorm_modulate:hidden=6144,out=bf16+e4m3"; parameters left out take the default. */
  const char* text;
  /** "sm_90a", …; NULL: that of `device`. With a target, no driver or device is needed here. */
  const char* target;
  int32_t device; /**< Ordinal, as cuDeviceGet counts; the kernel launches on it. */
  int32_t limit;  /**< KILN_ACQUIRE_… */
} kiln_kernel_spec_t;

#define KILN_KERNEL_SPEC_INIT \
  { sizeof(kiln_kernel_spec_t), NULL, NULL, 0, KILN_ACQUIRE_COMPILE }

/**
 * Returns the kernel for one variant, compiling it if neither this process nor the cache has it.
 *
 * Blocks for a whole compile on a miss; concurrent calls on one context for one variant compile it
 * once. Without a target the kernel is also loaded on the device, so that a launch has nothing left
 * to do.
 *
 * @param context     Open context.
 * @param spec        Read during the call only.
 * @param out_kernel  Owned by the caller, released with kiln_kernel_release(). NULL on failure.
 * @retval KILN_OK
 * @retval KILN_NOT_FOUND         No such template or device.
 * @retval KILN_INVALID_ARGUMENT  A parameter is missing, unknown or out of range; no such target.
 * @retval KILN_UNSUPPORTED       The template needs a newer target, or NVRTC does not know it.
 * @retval KILN_NOT_READY         It would take more than `limit` allows.
 * @retval KILN_COMPILE_FAILED    kiln_last_error_detail() has the compiler's log.
 * @retval KILN_UNAVAILABLE       NVRTC or the driver cannot be loaded, or there is no device.
 * @retval KILN_LOAD_FAILED       The driver refused the image.
 * @retval KILN_OUT_OF_MEMORY     On the host or on the device.
 */
KILN_API kiln_status_t kiln_kernel_acquire(kiln_context_t* context,
                                           const kiln_kernel_spec_t* spec,
                                           kiln_kernel_t** out_kernel);

/** Gives the handle back; NULL is a no-op. Loaded code stays loaded while the process lives. */
KILN_API void kiln_kernel_release(kiln_kernel_t* kernel);

/** Where an acquire found the kernel. */
enum { KILN_TIER_MEMORY = 0, KILN_TIER_DISK = 1, KILN_TIER_COMPILED = 2, KILN_TIER_PACK = 3 };

/** Strings belong to the kernel and live as long as its handle. */
typedef struct kiln_kernel_info {
  size_t struct_size; /**< Set by the caller: sizeof(kiln_kernel_info_t). */
  const char* key;    /**< 64 hexadecimal digits. */
  const char* spec;   /**< Canonical, every parameter. */
  const char* target;
  const char* lowered_name; /**< Symbol in the image. */
  const char* toolchain;    /**< What compiled it. */
  int64_t compile_us;       /**< Time that the compile took, whenever that was. */
  int64_t acquire_us;       /**< Time that this acquire took, without the load on the device. */
  int64_t image_bytes;
  int32_t tier;              /**< KILN_TIER_… */
  int32_t registers;         /**< Per thread. */
  int32_t shared_bytes;      /**< Static, per block. */
  int32_t local_bytes;       /**< Per thread. */
  int32_t spill_store_bytes; /**< Per thread. */
  int32_t spill_load_bytes;  /**< Per thread. */
  int32_t argument_count;
  int32_t reserved; /**< 0 */
} kiln_kernel_info_t;

#define KILN_KERNEL_INFO_INIT \
  { sizeof(kiln_kernel_info_t), NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * @retval KILN_OK
 * @retval KILN_INVALID_ARGUMENT  NULL, or a struct_size that is too small.
 */
KILN_API kiln_status_t kiln_kernel_get_info(const kiln_kernel_t* kernel,
                                            kiln_kernel_info_t* out_info);

/** Types of kernel arguments. */
enum {
  KILN_ARGUMENT_POINTER = 0, /**< Device address. */
  KILN_ARGUMENT_INT32 = 1,
  KILN_ARGUMENT_INT64 = 2,
  KILN_ARGUMENT_FLOAT32 = 3
};

/** One argument of a launch; made by kiln_pointer() and its siblings below. */
typedef struct kiln_argument {
  int32_t type;     /**< KILN_ARGUMENT_… */
  int32_t reserved; /**< 0 */
  union {
    const void* pointer;
    int32_t int32;
    int64_t int64;
    float float32;
  } value;
} kiln_argument_t;

static inline kiln_argument_t kiln_pointer(const void* value) {
  kiln_argument_t argument = {KILN_ARGUMENT_POINTER, 0, {0}};
  argument.value.pointer = value;
  return argument;
}

static inline kiln_argument_t kiln_int32(int32_t value) {
  kiln_argument_t argument = {KILN_ARGUMENT_INT32, 0, {0}};
  argument.value.int32 = value;
  return argument;
}

static inline kiln_argument_t kiln_int64(int64_t value) {
  kiln_argument_t argument = {KILN_ARGUMENT_INT64, 0, {0}};
  argument.value.int64 = value;
  return argument;
}

static inline kiln_argument_t kiln_float32(float value) {
  kiln_argument_t argument = {KILN_ARGUMENT_FLOAT32, 0, {0}};
  argument.value.float32 = value;
  return argument;
}

/** Start from KILN_LAUNCH_CONFIG_INIT. All-zero extents: the template's launch rule decides. */
typedef struct kiln_launch_config {
  size_t struct_size;
  uint32_t grid[3];           /**< Blocks. */
  uint32_t block[3];          /**< Threads; if not all zero, it must be what the rule gives. */
  uint32_t shared_bytes;      /**< Dynamic, per block; 0: what the rule gives. */
  uint32_t check_memory;      /**< 1: refuse memory that does not fit (waits for the device); 0. */
  struct CUstream_st* stream; /**< NULL: the device's default stream. */
} kiln_launch_config_t;

#define KILN_LAUNCH_CONFIG_INIT \
  { sizeof(kiln_launch_config_t), {0, 0, 0}, {0, 0, 0}, 0, 0, NULL }

/**
 * Launches a kernel. Returns without waiting for it; never synchronizes unless it is to check
 * memory, never allocates device memory, and leaves the caller's current context as it is. A kernel
 * acquired with a target is loaded by its first launch.
 *
 * @param kernel     From kiln_kernel_acquire().
 * @param config     NULL: the launch rule, on the default stream.
 * @param arguments  In the order of the template's manifest; read during the call only.
 * @param count      Number of arguments.
 * @retval KILN_OK
 * @retval KILN_INVALID_ARGUMENT  Count, type or size differs from the kernel's; a used pointer is
 *                                null or misaligned, an unused one is not null; an integer is below
 *                                its least or no multiple; an extent of the grid is 0; the block is
 *                                not the rule's; too much shared memory. With check_memory also:
 *                                a tensor of another device or beyond its allocation, an output
 *                                that overlaps another tensor, a scale that is not finite and > 0.
 * @retval KILN_NOT_FOUND         There is no such device.
 * @retval KILN_UNAVAILABLE       No driver or no device.
 * @retval KILN_LOAD_FAILED       The driver refused the image.
 * @retval KILN_LAUNCH_FAILED     kiln_last_error_native_code() has the CUresult.
 * @retval KILN_OUT_OF_MEMORY     On the host or on the device.
 */
KILN_API kiln_status_t kiln_kernel_launch(kiln_kernel_t* kernel,
                                          const kiln_launch_config_t* config,
                                          const kiln_argument_t* arguments,
                                          size_t count);

#ifdef __cplusplus
}
#endif

#endif /* KILN_KERNEL_H */
