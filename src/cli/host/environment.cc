// SPDX-License-Identifier: Apache-2.0
#include "cli/host/environment.h"

#include <algorithm>

namespace elision::cli {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";

auto find(std::vector<std::string>& environment, const std::string& name) {
  return std::find_if(environment.begin(), environment.end(),
                      [&](const std::string& entry) { return entry.rfind(name + "=", 0) == 0; });
}

}  // namespace

std::vector<std::string> copy_environment(const char* const* environment) {
  std::vector<std::string> copy;
  for (; *environment != nullptr; ++environment) copy.emplace_back(*environment);
  return copy;
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  const auto entry = find(environment, name);
  if (entry != environment.end()) {
    *entry = name + "=" + value;
  } else {
    environment.push_back(name + "=" + value);
  }
}

void unset_variable(std::vector<std::string>& environment, const std::string& name) {
  if (const auto entry = find(environment, name); entry != environment.end()) environment.erase(entry);
}

std::string variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.rfind(name + "=", 0) == 0) return entry.substr(name.size() + 1);
  }
  return {};
}

void prepend_preload(std::vector<std::string>& environment, const std::string& library) {
  const std::string present = variable(environment, kPreload);
  const bool already = present == library || present.rfind(library + ":", 0) == 0;
  if (!already) set_variable(environment, kPreload, present.empty() ? library : library + ":" + present);
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace elision::cli
