// SPDX-License-Identifier: Apache-2.0
// What is found in the loaded files is what dlsym and dlvsym find, which are asked here as the reference.
#include "runtime/loaded_files.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <vector>

namespace elision::runtime {
namespace {

void* found(const char* name, const char* version) {
  void* result = nullptr;
  visit_files(Files::kBehindOurs, [&](const LoadedFile& file) {
    if (result == nullptr) result = file.find(name, version);
  });
  return result;
}

TEST(LoadedFiles, FunctionsMatchDlsym) {
  for (const char* name :
       {"pthread_mutex_lock", "pthread_mutex_clocklock", "pthread_cond_wait", "pthread_barrier_wait",
        "malloc", "qsort", "getenv", "pow", "_ZSt9terminatev", "clock_gettime", "memcpy"}) {
    EXPECT_NE(found(name, nullptr), nullptr) << name;
    EXPECT_EQ(found(name, nullptr), dlsym(RTLD_NEXT, name)) << name;
  }
}

TEST(LoadedFiles, VersionsAreToldApart) {
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.3.2"}) {
    for (const char* name : {"pthread_cond_wait", "pthread_cond_signal", "regexec"}) {
      EXPECT_EQ(found(name, version), dlvsym(RTLD_NEXT, name, version)) << name << "@" << version;
    }
  }
  EXPECT_NE(found("pthread_cond_wait", "GLIBC_2.2.5"), found("pthread_cond_wait", "GLIBC_2.3.2"));
}

TEST(LoadedFiles, MissingFunctionIsNotFound) {
  EXPECT_EQ(found("elision_no_such_function", nullptr), nullptr);
  EXPECT_EQ(found("pthread_mutex_lock", "GLIBC_1.0"), nullptr);
  EXPECT_EQ(found("", nullptr), nullptr);
}

TEST(LoadedFiles, VisitsAllOtherFilesOnce) {
  std::vector<std::uintptr_t> behind, all;
  bool libc = false;
  const auto list = [&](std::vector<std::uintptr_t>& begins) {
    return [&](const LoadedFile& file) {
      begins.push_back(file.begin());
      libc = libc || file.contains(dlsym(RTLD_DEFAULT, "getpid"));
    };
  };
  visit_files(Files::kBehindOurs, list(behind));
  visit_files(Files::kAllButOurs, list(all));
  EXPECT_EQ(behind, all) << "the program itself comes first";
  EXPECT_TRUE(libc);
}

}  // namespace
}  // namespace elision::runtime
