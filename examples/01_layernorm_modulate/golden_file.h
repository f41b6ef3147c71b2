/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLE_GOLDEN_FILE_H
#define EXAMPLE_GOLDEN_FILE_H

/* Just enough of the safetensors format to read one golden vector: eight bytes of header length,
 * a JSON header, raw data. */

#include <stddef.h>
#include <stdint.h>

typedef struct golden_file {
  char* header; /* NUL-terminated JSON */
  unsigned char* data;
  size_t data_bytes;
} golden_file_t;

typedef struct golden_tensor {
  const void* data; /* inside the file's data */
  size_t bytes;
  int64_t shape[4];
  int rank;
} golden_tensor_t;

/* 0, or -1 with a message on stderr. */
int golden_file_read(const char* path, golden_file_t* file);
void golden_file_free(golden_file_t* file);

/* 0, or -1 with a message on stderr if there is no such tensor. */
int golden_file_tensor(const golden_file_t* file, const char* name, golden_tensor_t* tensor);

#endif
