// SPDX-License-Identifier: Apache-2.0
#include "profile/debug_files.h"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

namespace elision::profile {
namespace {

using Clock = std::chrono::steady_clock;

/// A server has been given up.
std::atomic<bool> gave_up = false;

/// The search that this thread waits for.
struct Search {
  Clock::time_point last_news;
  long bytes = 0;
};
thread_local Search search;

bool has_servers() {
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  return servers != nullptr && *servers != 0;
}

/// Seconds; 0: no limit.
long patience() {
  constexpr long kDefault = 10;
  const char* const text = std::getenv("DEBUGINFOD_TIMEOUT");
  return text != nullptr ? std::strtol(text, nullptr, 10) : kDefault;
}

bool has_waited_too_long() {
  const long limit = patience();
  return limit > 0 && Clock::now() - search.last_news >= std::chrono::seconds(limit);
}

/// libdebuginfod calls it while it waits, and stops if it returns another value than 0. `size` is not known
/// before the file comes; until then `bytes` counts something else.
int on_progress(debuginfod_client*, long bytes, long size) {
  if (size > 0 && bytes != search.bytes) search = {Clock::now(), bytes};
  if (!has_waited_too_long()) return 0;
  gave_up = true;
  return 1;
}

/// dwfl_standard_find_debuginfo() asks servers whenever the variable is set.
int find_locally(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, const char* file,
                 const char* link, GElf_Word checksum, char** found) {
  const auto find = has_servers() ? dwfl_build_id_find_debuginfo : dwfl_standard_find_debuginfo;
  return find(module, data, name, base, file, link, checksum, found);
}

int find_everywhere(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, const char* file,
                    const char* link, GElf_Word checksum, char** found) {
  if (gave_up) return find_locally(module, data, name, base, file, link, checksum, found);
  search = {Clock::now(), 0};
  const int descriptor = dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum, found);
  if (descriptor < 0 && has_servers() && has_waited_too_long()) gave_up = true;
  return descriptor;
}

}  // namespace

void set_search(Dwfl_Callbacks& callbacks, DebugFiles where) {
  callbacks.find_debuginfo = where == DebugFiles::kServersToo ? find_everywhere : find_locally;
}

/// libdw loads libdebuginfod itself if it is there.
void bound_downloads(Dwfl* dwfl) {
  if (!has_servers()) return;
  debuginfod_client* const client = dwfl_get_debuginfod_client(dwfl);
  void* const library = client != nullptr ? dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (library == nullptr) return;
  using SetProgress = void (*)(debuginfod_client*, int (*)(debuginfod_client*, long, long));
  const auto set = reinterpret_cast<SetProgress>(dlsym(library, "debuginfod_set_progressfn"));
  if (set != nullptr) set(client, on_progress);
  dlclose(library);
}

}  // namespace elision::profile
