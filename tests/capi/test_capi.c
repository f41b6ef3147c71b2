/* SPDX-License-Identifier: Apache-2.0 */
/* The C API as a host uses it, without a device: `test_capi CACHE_DIR`, an empty directory. */
#include "check.h"

#include <kiln/kiln.h>
#include <stdlib.h>

#define SPEC "static_quant:out=e4m3"

static void test_version(void) {
  CHECK(kiln_version_number() == KILN_VERSION_NUMBER);
  CHECK(strstr(kiln_build_info(), "cuda_headers=") != NULL);
  CHECK(strstr(kiln_build_info(), "sqlite=") != NULL);
  CHECK(strcmp(kiln_status_name(KILN_COMPILE_FAILED), "compile_failed") == 0);
  CHECK(strcmp(kiln_status_name(99), "unknown") == 0);
}

static void test_open(const char* cache) {
  kiln_context_t* context = (kiln_context_t*)1;
  struct {
    kiln_context_options_t known;
    int64_t from_the_future;
  } newer = {KILN_CONTEXT_OPTIONS_INIT, 0};
  kiln_context_options_t options = KILN_CONTEXT_OPTIONS_INIT;
  options.cache_dir = cache;

  CHECK_ERROR(kiln_context_open(&options, NULL), KILN_INVALID_ARGUMENT, "out_context is null");

  options.struct_size = 0;
  CHECK_ERROR(kiln_context_open(&options, &context), KILN_INVALID_ARGUMENT,
              "kiln_context_options_t.struct_size is 0; start from its _INIT macro");
  CHECK(context == NULL);

  options.struct_size = (size_t)-1;
  CHECK(kiln_context_open(&options, &context) == KILN_INVALID_ARGUMENT);

  options.struct_size = sizeof(options);
  options.flags = 0x80;
  CHECK_ERROR(kiln_context_open(&options, &context), KILN_INVALID_ARGUMENT,
              "flags is 0x80; known: 0x1");
  options.flags = 0;
  options.most_compiles = -1;
  CHECK_ERROR(kiln_context_open(&options, &context), KILN_INVALID_ARGUMENT,
              "most_compiles is -1; allowed: 0 or more");

  newer.known.struct_size = sizeof(newer);
  newer.known.cache_dir = cache;
  CHECK_OK(kiln_context_open(&newer.known, &context));
  kiln_context_close(context);
  newer.from_the_future = 7;
  CHECK_ERROR(kiln_context_open(&newer.known, &context), KILN_INVALID_ARGUMENT,
              "kiln_context_options_t sets a member that this version of Kiln does not know");
  CHECK(context == NULL);

  /* An older host knows only the size and the directory. */
  options.struct_size = offsetof(kiln_context_options_t, flags);
  CHECK_OK(kiln_context_open(&options, &context));
  kiln_context_close(context);
  kiln_context_close(NULL);
  kiln_kernel_release(NULL);
}

static void test_refusals(kiln_context_t* context) {
  kiln_kernel_t* kernel = (kiln_kernel_t*)1;
  kiln_kernel_spec_t spec = KILN_KERNEL_SPEC_INIT;
  kiln_kernel_info_t info = KILN_KERNEL_INFO_INIT;
  spec.target = "sm_90a";

  CHECK_ERROR(kiln_kernel_acquire(context, &spec, &kernel), KILN_INVALID_ARGUMENT,
              "spec.text is null");
  CHECK(kernel == NULL);
  CHECK_ERROR(kiln_kernel_acquire(context, NULL, &kernel), KILN_INVALID_ARGUMENT, "spec is null");
  spec.text = SPEC;
  CHECK_ERROR(kiln_kernel_acquire(NULL, &spec, &kernel), KILN_INVALID_ARGUMENT, "context is null");
  CHECK_ERROR(kiln_kernel_acquire(context, &spec, NULL), KILN_INVALID_ARGUMENT,
              "out_kernel is null");
  spec.limit = 9;
  CHECK_ERROR(kiln_kernel_acquire(context, &spec, &kernel), KILN_INVALID_ARGUMENT,
              "spec.limit is 9; allowed: 0, 1, 2");
  spec.limit = KILN_ACQUIRE_LOAD;
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_NOT_READY);
  CHECK(strstr(kiln_last_error_message(), "static_quant") != NULL);
  spec.limit = KILN_ACQUIRE_COMPILE;

  spec.text = "quantum_leap";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_NOT_FOUND);
  CHECK(strstr(kiln_last_error_message(), "quantum_leap") != NULL);
  CHECK(strstr(kiln_last_error_message(), "layernorm_modulate") != NULL);
  spec.text = "static_quant:out=e6m1";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_INVALID_ARGUMENT);
  CHECK(strstr(kiln_last_error_message(), "e6m1") != NULL);
  spec.text = "static_quant:speed=1";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_INVALID_ARGUMENT);
  CHECK(strstr(kiln_last_error_message(), "speed") != NULL);
  spec.text = "static_quant:out";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_INVALID_ARGUMENT);
  spec.text = "";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_INVALID_ARGUMENT);
  spec.text = SPEC;
  spec.target = "sm_12345";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_INVALID_ARGUMENT);
  CHECK(strstr(kiln_last_error_message(), "sm_12345") != NULL);
  spec.target = "sm_75";
  CHECK(kiln_kernel_acquire(context, &spec, &kernel) == KILN_UNSUPPORTED);
  CHECK(kernel == NULL);
  CHECK_ERROR(kiln_kernel_get_info(NULL, &info), KILN_INVALID_ARGUMENT, "kernel is null");
}

static void test_acquire(kiln_context_t* context, int32_t tier) {
  kiln_kernel_t* kernel = NULL;
  kiln_kernel_spec_t spec = KILN_KERNEL_SPEC_INIT;
  kiln_kernel_info_t info = KILN_KERNEL_INFO_INIT;
  spec.text = SPEC;
  spec.target = "sm_90a";
  CHECK_OK(kiln_kernel_acquire(context, &spec, &kernel));
  if (kernel == NULL) return;
  CHECK(kiln_last_error_message()[0] == '\0');

  CHECK_OK(kiln_kernel_get_info(kernel, &info));
  CHECK(info.tier == tier);
  CHECK(strlen(info.key) == 64);
  CHECK(strcmp(info.target, "sm_90a") == 0);
  CHECK(strncmp(info.spec, "static_quant:", 13) == 0);
  CHECK(strstr(info.lowered_name, "static_quant") != NULL);
  CHECK(info.registers > 0);
  CHECK(info.spill_store_bytes == 0 && info.spill_load_bytes == 0 && info.local_bytes == 0);
  CHECK(info.image_bytes > 1000);
  CHECK(info.compile_us > 0);
  CHECK(info.argument_count == 11);

  /* An older host's struct ends after `spec`. */
  memset(&info, 0xAB, sizeof(info));
  info.struct_size = offsetof(kiln_kernel_info_t, target);
  CHECK_OK(kiln_kernel_get_info(kernel, &info));
  CHECK(strlen(info.key) == 64);
  CHECK((info.image_bytes & 0xFF) == 0xAB);
  info.struct_size = 1;
  CHECK(kiln_kernel_get_info(kernel, &info) == KILN_INVALID_ARGUMENT);

  kiln_kernel_release(kernel);
}

static void test_bad_launches(kiln_context_t* context) {
  kiln_kernel_t* kernel = NULL;
  kiln_kernel_spec_t spec = KILN_KERNEL_SPEC_INIT;
  kiln_launch_config_t config = KILN_LAUNCH_CONFIG_INIT;
  kiln_argument_t arguments[11];
  int i = 0;
  spec.text = SPEC;
  spec.target = "sm_90a";
  CHECK_OK(kiln_kernel_acquire(context, &spec, &kernel));
  for (i = 0; i < 11; ++i)
    arguments[i] = kiln_int64(64);

  CHECK_ERROR(kiln_kernel_launch(NULL, NULL, arguments, 11), KILN_INVALID_ARGUMENT,
              "kernel is null");
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, NULL, 11), KILN_INVALID_ARGUMENT,
              "arguments is null");
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, arguments, 3), KILN_INVALID_ARGUMENT,
              "3 arguments are given; \"static_quant\" takes 11");
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, NULL, 0), KILN_INVALID_ARGUMENT,
              "0 arguments are given; \"static_quant\" takes 11");
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, arguments, 11), KILN_INVALID_ARGUMENT,
              "argument \"x\" is given as int64; it is a pointer");
  arguments[0].type = 17;
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, arguments, 11), KILN_INVALID_ARGUMENT,
              "arguments[0].type is 17; allowed: 0 to 3");
  arguments[0] = kiln_pointer(NULL);
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, arguments, 11), KILN_INVALID_ARGUMENT,
              "argument \"x\" is null");
  arguments[0] = kiln_pointer((const void*)0x1001);
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, arguments, 11), KILN_INVALID_ARGUMENT,
              "argument \"x\" is 0x1001; this variant needs a multiple of 16 bytes");
  arguments[0].reserved = 1;
  CHECK_ERROR(kiln_kernel_launch(kernel, NULL, arguments, 11), KILN_INVALID_ARGUMENT,
              "arguments[0].reserved is 1; it must be 0");
  arguments[0].reserved = 0;
  config.check_memory = 5;
  CHECK_ERROR(kiln_kernel_launch(kernel, &config, arguments, 11), KILN_INVALID_ARGUMENT,
              "config.check_memory is 5; allowed: 0 and 1");
  config.struct_size = 3;
  CHECK(kiln_kernel_launch(kernel, &config, arguments, 11) == KILN_INVALID_ARGUMENT);
  kiln_kernel_release(kernel);
}

static void test_statistics(kiln_context_t* context, int64_t compiles, int64_t disk_hits) {
  kiln_statistics_t statistics = KILN_STATISTICS_INIT;
  CHECK_OK(kiln_context_statistics(context, &statistics));
  CHECK(statistics.compiles == compiles);
  CHECK(statistics.disk_hits == disk_hits);
  CHECK(statistics.pack_hits == 0);
  statistics.struct_size = 2;
  CHECK(kiln_context_statistics(context, &statistics) == KILN_INVALID_ARGUMENT);
  CHECK_ERROR(kiln_context_statistics(context, NULL), KILN_INVALID_ARGUMENT,
              "kiln_statistics_t is null");
}

static int g_warnings;
static void on_log(int32_t level, const char* message, void* user_data) {
  if (level == KILN_LOG_WARNING && strstr(message, "kept in memory only") != NULL) ++g_warnings;
  CHECK(user_data == &g_warnings);
}

static void test_memory_only(void) {
  kiln_context_t* context = NULL;
  kiln_context_options_t options = KILN_CONTEXT_OPTIONS_INIT;
  CHECK_OK(kiln_set_log_callback(on_log, &g_warnings, KILN_LOG_WARNING));
  options.cache_dir = "/dev/null/cache";
  CHECK_OK(kiln_context_open(&options, &context));
  CHECK(g_warnings == 1);
  test_acquire(context, KILN_TIER_COMPILED);
  test_acquire(context, KILN_TIER_MEMORY);
  CHECK(g_warnings == 1);
  kiln_context_close(context);

  options.flags = KILN_CONTEXT_MEMORY_ONLY; /* asked for: nothing to warn of */
  CHECK_OK(kiln_context_open(&options, &context));
  CHECK(g_warnings == 1);
  kiln_context_close(context);
  CHECK_OK(kiln_set_log_callback(NULL, NULL, KILN_LOG_OFF));
  CHECK_ERROR(kiln_set_log_callback(NULL, NULL, 7), KILN_INVALID_ARGUMENT,
              "log level is 7; allowed: 0 to 4");
}

int main(int argc, char** argv) {
  kiln_context_t* context = NULL;
  kiln_context_options_t options = KILN_CONTEXT_OPTIONS_INIT;
  if (argc != 2) {
    fprintf(stderr, "usage: test_capi CACHE_DIR\n");
    return 2;
  }
  options.cache_dir = argv[1];
  test_version();
  test_open(argv[1]);

  CHECK_OK(kiln_context_open(&options, &context));
  if (context == NULL) return report();
  test_refusals(context);
  test_acquire(context, KILN_TIER_COMPILED);
  test_acquire(context, KILN_TIER_MEMORY);
  test_bad_launches(context);
  test_statistics(context, 1, 0);
  kiln_context_close(context);

  CHECK_OK(kiln_context_open(&options, &context));
  test_acquire(context, KILN_TIER_DISK);
  test_statistics(context, 0, 1);
  kiln_context_close(context);

  test_memory_only();
  return report();
}
