/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLE_DEVICE_MEMORY_H
#define EXAMPLE_DEVICE_MEMORY_H

/* Device memory straight from the CUDA driver. A real host has an allocator of its own; Kiln takes
 * plain device addresses from any. */

#include <stddef.h>

/* Loads the driver and makes device 0's primary context current; 0, or -1 without a GPU. */
int device_open(void);

/* Device address of a copy of `data` (or of bytes set to 0xA5 if NULL); NULL on failure. */
void* device_copy(const void* data, size_t bytes);

/* Waits for the device, then copies back; 0 or the driver's error. */
int device_read(void* data, const void* address, size_t bytes);

void device_free(void* address);

#endif
