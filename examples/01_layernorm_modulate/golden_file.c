/* SPDX-License-Identifier: Apache-2.0 */
#include "golden_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* what, const char* name) {
  fprintf(stderr, "golden file: %s: %s\n", name, what);
  return -1;
}

static int read_parts(FILE* stream, const char* path, golden_file_t* file) {
  uint64_t header_bytes = 0;
  long size = 0;
  if (fseek(stream, 0, SEEK_END) != 0 || (size = ftell(stream)) < 8) return fail("too short", path);
  rewind(stream);
  if (fread(&header_bytes, sizeof(header_bytes), 1, stream) != 1 ||
      header_bytes > (uint64_t)size - 8) {
    return fail("header length is wrong", path);
  }
  file->data_bytes = (size_t)size - 8 - (size_t)header_bytes;
  file->header = calloc(1, (size_t)header_bytes + 1);
  file->data = malloc(file->data_bytes + 1);
  if (file->header == NULL || file->data == NULL) return fail("out of memory", path);
  if (fread(file->header, 1, (size_t)header_bytes, stream) != header_bytes ||
      fread(file->data, 1, file->data_bytes, stream) != file->data_bytes) {
    return fail("cannot be read", path);
  }
  return 0;
}

int golden_file_read(const char* path, golden_file_t* file) {
  FILE* stream = fopen(path, "rb");
  int result = -1;
  memset(file, 0, sizeof(*file));
  if (stream == NULL) return fail("cannot be opened", path);
  result = read_parts(stream, path, file);
  fclose(stream);
  if (result != 0) golden_file_free(file);
  return result;
}

void golden_file_free(golden_file_t* file) {
  free(file->header);
  free(file->data);
  memset(file, 0, sizeof(*file));
}

int golden_file_tensor(const golden_file_t* file, const char* name, golden_tensor_t* tensor) {
  char quoted[128];
  const char* at = NULL;
  char* end = NULL;
  unsigned long long begin_byte = 0;
  unsigned long long end_byte = 0;
  memset(tensor, 0, sizeof(*tensor));
  snprintf(quoted, sizeof(quoted), "\"%s\"", name);
  at = strstr(file->header, quoted);
  if (at == NULL || (at = strstr(at, "\"shape\"")) == NULL || (at = strchr(at, '[')) == NULL) {
    return fail("no such tensor", name);
  }
  for (++at; *at != ']' && *at != '\0'; at = end) {
    const long long extent = strtoll(at + strspn(at, ", "), &end, 10);
    if (end == at || tensor->rank == 4) return fail("shape is wrong", name);
    tensor->shape[tensor->rank++] = extent;
    end += strspn(end, ", ");
  }
  at = strstr(at, "\"data_offsets\"");
  if (at == NULL || sscanf(at, "\"data_offsets\" : [%llu ,%llu", &begin_byte, &end_byte) != 2 ||
      begin_byte > end_byte || end_byte > file->data_bytes) {
    return fail("data_offsets are wrong", name);
  }
  tensor->data = file->data + begin_byte;
  tensor->bytes = (size_t)(end_byte - begin_byte);
  return 0;
}
