// SPDX-License-Identifier: Apache-2.0
// Names of Rust's functions as they are in the source. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace elision::profile {

/// What a symbol of Rust's scheme "v0" means, without the hashes of crates and the types of constants;
/// nothing if it is none of that scheme. The grammar is that of RFC 2603
/// (https://rust-lang.github.io/rfcs/2603). Symbols come from any file: one of any length takes time and
/// memory that are bounded.
std::optional<std::string> rust_name(std::string_view symbol);

}  // namespace elision::profile
