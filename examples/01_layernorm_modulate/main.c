/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_layernorm_modulate GOLDEN_FILE
 *
 * Acquires layernorm_modulate for the file's hidden size, says where the kernel came from and how
 * long that took, launches it on the file's inputs and compares every output element with what
 * PyTorch computed. Run it twice: the first run compiles, the second finds the kernel on disk.
 * Exit: 0 equal, 1 not, 2 usage, 3 no GPU here (the kernel is still compiled, for sm_90a).
 */
#include "device_memory.h"
#include "golden_file.h"

#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, SCALE, SHIFT, INPUT_SCALE, OUT_BF16, OUT_E4M3, TENSOR_COUNT };
static const char* const kNames[TENSOR_COUNT] = {"x",           "scale",    "shift",
                                                 "input_scale", "out_bf16", "out_fp8_e4m3_rcp_rn"};

static const char* const kTiers[] = {"in memory", "on disk", "nowhere, so it was compiled"};

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n%s", what, kiln_last_error_message(), kiln_last_error_detail());
  return 1;
}

static kiln_kernel_t* acquire(kiln_context_t* context, int64_t hidden, const char* target) {
  char text[96];
  kiln_kernel_t* kernel = NULL;
  kiln_kernel_spec_t spec = KILN_KERNEL_SPEC_INIT;
  kiln_kernel_info_t info = KILN_KERNEL_INFO_INIT;
  snprintf(text, sizeof(text), "layernorm_modulate:hidden=%lld,out=bf16+e4m3", (long long)hidden);
  spec.text = text;
  spec.target = target;
  if (kiln_kernel_acquire(context, &spec, &kernel) != KILN_OK ||
      kiln_kernel_get_info(kernel, &info) != KILN_OK) {
    return NULL;
  }
  printf("%s\n  for %s, found %s, in %lld us (its compile took %lld us)\n", info.spec, info.target,
         kTiers[info.tier], (long long)info.acquire_us, (long long)info.compile_us);
  printf("  %d registers, %d bytes of spills, image %lld bytes, key %.16s...\n", info.registers,
         info.spill_store_bytes + info.spill_load_bytes, (long long)info.image_bytes, info.key);
  return kernel;
}

/* Number of elements of `element_bytes` that differ; -1 if the device cannot be read. */
static long differing(const golden_tensor_t* expected, const void* address, size_t element_bytes) {
  long count = 0;
  size_t i = 0;
  unsigned char* got = malloc(expected->bytes);
  if (got == NULL || device_read(got, address, expected->bytes) != 0) {
    free(got);
    return -1;
  }
  for (i = 0; i < expected->bytes; i += element_bytes) {
    count += memcmp(got + i, (const unsigned char*)expected->data + i, element_bytes) != 0;
  }
  free(got);
  return count;
}

static int launch_and_compare(kiln_kernel_t* kernel, const golden_tensor_t* tensors) {
  void* device[TENSOR_COUNT] = {NULL};
  const int32_t rows = (int32_t)tensors[X].shape[0];
  const int64_t hidden = tensors[X].shape[1];
  long bf16 = -1;
  long e4m3 = -1;
  int i = 0;
  for (i = 0; i < TENSOR_COUNT; ++i) {
    device[i] = device_copy(i < OUT_BF16 ? tensors[i].data : NULL, tensors[i].bytes);
    if (device[i] == NULL) return fail("no device memory");
  }
  {
    const kiln_argument_t arguments[] = {kiln_pointer(device[X]),
                                         kiln_pointer(device[SCALE]),
                                         kiln_pointer(device[SHIFT]),
                                         kiln_pointer(NULL), /* bias: not asked for */
                                         kiln_pointer(device[INPUT_SCALE]),
                                         kiln_pointer(NULL), /* input_global_scale */
                                         kiln_pointer(device[OUT_BF16]),
                                         kiln_pointer(device[OUT_E4M3]),
                                         kiln_pointer(NULL), /* out_e5m2 */
                                         kiln_pointer(NULL), /* out_nvfp4 */
                                         kiln_pointer(NULL), /* out_nvfp4_scales */
                                         kiln_int32(1),      /* batches */
                                         kiln_int32(rows),
                                         kiln_int64(hidden),   /* x_row_stride */
                                         kiln_int64(0),        /* x_batch_stride */
                                         kiln_int64(0),        /* scale_stride */
                                         kiln_int64(0),        /* shift_stride */
                                         kiln_int64(hidden),   /* out_row_stride */
                                         kiln_int64(0),        /* out_batch_stride */
                                         kiln_float32(1e-6F)}; /* eps */
    if (kiln_kernel_launch(kernel, NULL, arguments, sizeof(arguments) / sizeof(*arguments)) !=
        KILN_OK) {
      return fail("launch");
    }
  }
  bf16 = differing(&tensors[OUT_BF16], device[OUT_BF16], 2);
  e4m3 = differing(&tensors[OUT_E4M3], device[OUT_E4M3], 1);
  printf("  bf16: %ld of %zu elements differ; e4m3: %ld of %zu\n", bf16,
         tensors[OUT_BF16].bytes / 2, e4m3, tensors[OUT_E4M3].bytes);
  for (i = 0; i < TENSOR_COUNT; ++i)
    device_free(device[i]);
  return bf16 == 0 && e4m3 == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  golden_file_t file;
  golden_tensor_t tensors[TENSOR_COUNT];
  kiln_context_t* context = NULL;
  kiln_kernel_t* kernel = NULL;
  int has_gpu = 0;
  int result = 0;
  int i = 0;
  if (argc != 2) {
    fprintf(stderr, "usage: %s GOLDEN_FILE\n", argv[0]);
    return 2;
  }
  if (golden_file_read(argv[1], &file) != 0) return 2;
  for (i = 0; i < TENSOR_COUNT; ++i) {
    if (golden_file_tensor(&file, kNames[i], &tensors[i]) != 0) return 2;
  }
  if (tensors[X].rank != 2) {
    fprintf(stderr, "x has %d dimensions; this example takes [rows, hidden]\n", tensors[X].rank);
    return 2;
  }

  if (kiln_context_open(NULL, &context) != KILN_OK) return fail("open");
  has_gpu = device_open() == 0;
  kernel = acquire(context, tensors[X].shape[1], has_gpu ? NULL : "sm_90a");
  if (kernel == NULL) {
    result = fail("acquire");
  } else if (!has_gpu) {
    printf("  no GPU here, so nothing was launched\n");
    result = 3;
  } else {
    result = launch_and_compare(kernel, tensors);
  }
  kiln_kernel_release(kernel);
  kiln_context_close(context);
  golden_file_free(&file);
  return result;
}
