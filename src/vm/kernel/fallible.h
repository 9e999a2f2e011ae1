// SPDX-License-Identifier: Apache-2.0
// A value, or what went wrong: an errno for the guest and one clear line for people (base/result.h has
// the line alone, which execve cannot hand to its caller).
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace elision::vm {

struct Failure {
  int error = 0;        // an errno value, as execve would report it
  std::string message;  // one line that names the file
};

template <class T>
class Fallible {
 public:
  Fallible(T value) : content_(std::move(value)) {}            // NOLINT: implicit on purpose
  Fallible(Failure failure) : content_(std::move(failure)) {}  // NOLINT: implicit on purpose

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(content_); }
  const T& value() const { return std::get<0>(content_); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Failure& failure() const { return std::get<1>(content_); }

 private:
  std::variant<T, Failure> content_;
};

}  // namespace elision::vm
