// SPDX-License-Identifier: Apache-2.0
#include "jit/compile_report.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace kiln {
namespace {

// As NVRTC 13.0 writes it.
constexpr std::string_view kLog =
    "axpy.cuh(3): warning #177-D: variable \"i\" was declared but never referenced\n"
    "  int i = 1;\n"
    "      ^\n"
    "\n"
    "ptxas info    : 4 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z4axpyPf' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z4axpyPf\n"
    "ptxas         .     400 bytes stack frame, 24 bytes spill stores, 36 bytes spill loads\n"
    "ptxas info    : Used 34 registers, used 1 barriers, 400 bytes cumulative stack size\n"
    "ptxas info    : Compile time = 11.511 ms\n"
    "ptxas info    : Function properties for _Z6helperPf\n"
    "ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async serialized\n"
    "ptxas info    : Compiling entry function '_Z4axpyPfi' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z4axpyPfi\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers, 512 bytes smem, 360 bytes cmem[0]\n"
    "ptxas info    : Compile time = 0.302 ms\n";

// As NVRTC 12.0 to 12.9 write it.
constexpr std::string_view kLog12 =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'\n"
    "ptxas info    : Function properties for _Z1kPf\n"
    "    0 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 12 registers, 512 bytes smem\n";

TEST_SUITE("compile report") {
  TEST_CASE("spills are those of the kernel and the functions compiled with it") {
    CHECK(read_spills(kLog, "_Z4axpyPf") == SpillReport{28, 44});
    CHECK(read_spills(kLog, "_Z4axpyPfi") == SpillReport{0, 0});
    CHECK(read_spills(kLog12, "_Z1kPf") == SpillReport{16, 20});
  }

  TEST_CASE("a kernel without a report has no spill count, not zero") {
    CHECK_FALSE(read_spills(kLog, "_Z4axpy").has_value());
    CHECK_FALSE(read_spills("", "_Z4axpyPf").has_value());
    CHECK_FALSE(read_spills("ptxas info : Compiling entry function 'k' for 'sm_90'\n", "k"));
    CHECK_FALSE(
        read_spills("Compiling entry function 'k'\n bytes spill stores,  bytes spill loads", "k"));
    CHECK_FALSE(
        read_spills("Compiling entry function 'k'\n99999999999 bytes spill stores, "
                    "0 bytes spill loads",
                    "k"));
  }

  TEST_CASE("warnings and advice stay in the log, report and timings do not") {
    CHECK(without_report(kLog) ==
          "axpy.cuh(3): warning #177-D: variable \"i\" was declared but never referenced\n"
          "  int i = 1;\n"
          "      ^\n"
          "\n"
          "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async serialized\n");
    CHECK(without_report(kLog12).empty());
    CHECK(without_report("").empty());
    CHECK(without_report("\n\n").empty());
    CHECK(without_report("no newline") == "no newline\n");
  }

  TEST_CASE("the first error is the message, and the others are counted") {
    CHECK(first_error("a.cuh(1): warning: x\na.cuh(2): error: b is undefined\n  b\n"
                      "a.cuh(3): error: c\n2 errors detected in the compilation of \"a.cuh\".\n") ==
          "a.cuh(2): error: b is undefined (and 1 more)");
    CHECK(first_error("k.cu(1): catastrophic error: could not open source file \"x.h\"\n"
                      "1 catastrophic error detected in the compilation of \"k.cu\".\n") ==
          "k.cu(1): catastrophic error: could not open source file \"x.h\"");
    CHECK(first_error("ptxas application ptx input, line 29; error   : Feature\n") ==
          "ptxas application ptx input, line 29; error   : Feature");
    CHECK(first_error("nvrtc: error: unrecognized option --x found\n").starts_with("nvrtc: error"));
    CHECK(first_error(kLog).empty());
    CHECK(first_error("a: error: " + std::string(100000, 'x')).size() < 500);
  }

  TEST_CASE("too much static shared memory, which NVRTC does not report, is an error of its own") {
    constexpr std::string_view kLarge =
        "ptxas info    : Used 14 registers, used 1 barriers, 280000 bytes smem\n";
    CHECK(first_error(kLarge).find("280000 bytes") != std::string::npos);
    CHECK(remedy_for(kLarge).find("dynamic") != std::string::npos);
    CHECK(first_error("ptxas info    : Used 14 registers, 49152 bytes smem\n").empty());
    CHECK(first_error(std::string(kLarge) + "a(1): error: x\n") == "a(1): error: x");
  }

  TEST_CASE("known causes have a remedy and others none") {
    CHECK(remedy_for("k(1): catastrophic error: could not open source file \"cuda_fp8.h\"")
              .find("prelude") != std::string::npos);
    CHECK(
        remedy_for("error   : Feature 'cvt with .e4m3x2/.e5m2x2' requires .target sm_89 or higher")
            .find("FP8") != std::string::npos);
    CHECK(remedy_for("Feature 'wgmma' requires .target sm_90a").find("target") !=
          std::string::npos);
    CHECK(remedy_for("k(1): error: identifier \"x\" is undefined").empty());
  }
}

}  // namespace
}  // namespace kiln
