/* SPDX-License-Identifier: Apache-2.0 */
/* What a host does first: compares versions, opens a context, asks for a kernel by a bad name. */
#include <kiln/kiln.h>
#include <stdio.h>

int main(int argc, char** argv) {
  kiln_context_t* context = NULL;
  kiln_kernel_t* kernel = NULL;
  kiln_kernel_spec_t spec = KILN_KERNEL_SPEC_INIT;
  if (kiln_version_number() != KILN_VERSION_NUMBER) return 1;
  if (kiln_context_open(NULL, &context) != KILN_OK) {
    fprintf(stderr, "%s\n", kiln_last_error_message());
    return 1;
  }
  spec.text = "no_such_template";
  spec.target = "sm_90a";
  if (kiln_kernel_acquire(context, &spec, &kernel) != KILN_NOT_FOUND || kernel != NULL) return 1;
  printf("%s: %s\n", argc > 1 ? argv[1] : "consumer", kiln_last_error_message());
  kiln_context_close(context);
  return 0;
}
