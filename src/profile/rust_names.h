// SPDX-License-Identifier: Apache-2.0
// Names of Rust's functions as they are in the source. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace elision::profile {

/// Demangles a symbol of Rust's "v0" scheme, as RFC 2603 describes it
/// (https://rust-lang.github.io/rfcs/2603). Leaves out the hashes of crates and the types of constants.
/// Returns nothing for any other symbol. Time and memory are bounded for symbols of any length, because a
/// symbol may come from any file.
std::optional<std::string> rust_name(std::string_view symbol);

}  // namespace elision::profile
