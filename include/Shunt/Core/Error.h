//===- Error.h - Errors as values ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_CORE_ERROR_H
#define SHUNT_CORE_ERROR_H

#include <optional>
#include <string>
#include <utility>

namespace shunt {

/// A diagnostic as a value: a stable code (`E_PRODUCT`, `X_AG_ROWS`, …; the
/// list is in docs/Diagnostics.md) and a sentence with the numbers and the
/// remedy. Core never throws and never asserts on its input.
struct Error {
  std::string code;
  std::string message;

  /// `message [code]`, the form every diagnostic of Shunt prints.
  std::string str() const { return message + " [" + code + "]"; }
  /// The inverse of `str`; a text without a code gets `E_IR`.
  static Error parse(const std::string &text) {
    std::string::size_type at = text.rfind(" [");
    if (at == std::string::npos || text.back() != ']')
      return {"E_IR", text};
    return {text.substr(at + 2, text.size() - at - 3), text.substr(0, at)};
  }
};

/// A `T` or the `Error` that kept it from being made.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(Error error) : failure(std::move(error)) {}

  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  const Error &error() const { return failure; }

private:
  std::optional<T> value;
  Error failure;
};

/// Success, or the error that prevented it.
using MaybeError = std::optional<Error>;

} // namespace shunt

#endif // SHUNT_CORE_ERROR_H
