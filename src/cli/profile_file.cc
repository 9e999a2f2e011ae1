// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "cli/host/json_text.h"
#include "cli/host/usage_error.h"
#include "profile/profile_json.h"

namespace elision::cli {
namespace {

constexpr const char* kFormat = "elision profile";
constexpr unsigned kVersion = 2;  // 1: without call paths

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("'{}' {}", path, why));
}

std::string content_of(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream.is_open() && stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (!stream.is_open() || stream.bad())
    refuse(path, fmt::format("cannot be read: {}", std::strerror(errno != 0 ? errno : EIO)));
  return text.str();
}

}  // namespace

std::string profile_text(const ProfileFile& file) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["elision"] = ELISION_VERSION;
  json["program"] = file.program;
  json["where"] = file.where;
  json["design"] = file.design;
  json["profile"] = profile::profile_json(file.profile);
  return json_text(json);
}

ProfileFile read_profile(const std::string& path) {
  const nlohmann::json json = parse_json(content_of(path));
  try {
    if (!json.is_object() || json.value("format", "") != kFormat)
      refuse(path, "is no profile that elision record wrote");
    if (const auto version = json.at("version").get<unsigned>(); version > kVersion)
      refuse(path, fmt::format("has version {} of the format; this elision knows {}", version, kVersion));
    return {json.at("program").get<std::vector<std::string>>(), json.at("where").get<std::string>(),
            json.at("design").get<std::string>(), profile::profile_from_json(json.at("profile"))};
  } catch (const nlohmann::json::exception& error) {
    refuse(path, fmt::format("is damaged: {}", error.what()));
  } catch (const std::invalid_argument& error) {
    refuse(path, fmt::format("is damaged: {}", error.what()));
  }
}

}  // namespace elision::cli
