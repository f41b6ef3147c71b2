/* SPDX-License-Identifier: Apache-2.0 */
/* Without libcuda.so.1 everything but a launch works. Skipped (77) where there is a driver. */
#include "check.h"

#include <dlfcn.h>
#include <kiln/kiln.h>

int main(int argc, char** argv) {
  kiln_context_t* context = NULL;
  kiln_kernel_t* kernel = NULL;
  kiln_context_options_t options = KILN_CONTEXT_OPTIONS_INIT;
  kiln_kernel_spec_t spec = KILN_KERNEL_SPEC_INIT;
  const void* address = (const void*)0x1000;
  const kiln_argument_t arguments[] = {
      kiln_pointer(address), kiln_pointer(address), kiln_pointer(address), kiln_pointer(NULL),
      kiln_int32(1),         kiln_int32(1),         kiln_int64(64),        kiln_int64(64),
      kiln_int64(64),        kiln_int64(64),        kiln_int64(64)};
  if (argc != 2) {
    fprintf(stderr, "usage: test_no_driver CACHE_DIR\n");
    return 2;
  }
  if (dlopen("libcuda.so.1", RTLD_NOW) != NULL) {
    printf("skipped: this machine has a driver\n");
    return 77;
  }
  options.cache_dir = argv[1];
  CHECK_OK(kiln_context_open(&options, &context));

  spec.text = "static_quant";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_UNAVAILABLE);
  CHECK(strstr(kiln_last_error_message(), "libcuda.so.1") != NULL);

  spec.target = "sm_90a";
  CHECK_OK(kiln_kernel_acquire(context, &spec, &kernel));
  CHECK(kiln_kernel_launch(kernel, NULL, arguments, 11) == KILN_UNAVAILABLE);
  CHECK(strstr(kiln_last_error_message(), "libcuda.so.1") != NULL);

  kiln_kernel_release(kernel);
  kiln_context_close(context);
  return report();
}
