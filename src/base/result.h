// SPDX-License-Identifier: Apache-2.0
// A value, or one line that says why there is none.
//
// Hosted: for loaders, configuration and the command line. Never used in the engine's helpers or
// in the preload library.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace elision {

/// Why something failed, worded for the user: one line that names the thing at fault.
struct Error {
  std::string message;
};

/// `E` has a `message`; more if callers need more than the user does.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : content_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return content_.index() == 0; }
  bool ok() const { return content_.index() == 0; }

  /// Requires ok().
  T& value() { return std::get<0>(content_); }
  const T& value() const { return std::get<0>(content_); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }

  /// Requires !ok().
  const std::string& error() const { return failure().message; }
  const E& failure() const { return std::get<1>(content_); }

 private:
  std::variant<T, E> content_;
};

}  // namespace elision
