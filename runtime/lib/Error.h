//===- Error.h - A status with its message
//---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_ERROR_H
#define SHUNT_RUNTIME_ERROR_H

#include "shunt/runtime.h"

#include <string>
#include <utility>

namespace shunt::rt {

/// A failed status and its message; true when it is an error.
struct Error {
  Error() = default;
  Error(shunt_status status, std::string message)
      : status(status), message(std::move(message)) {}

  explicit operator bool() const { return status != SHUNT_OK; }

  /// What peers are told: the first cause, so that a chain of ranks which fail
  /// for each other does not nest its messages.
  const std::string &rootCause() const { return root.empty() ? message : root; }

  shunt_status status = SHUNT_OK;
  std::string message;
  /// The message of the rank that failed first, if this one failed for it.
  std::string root;
};

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_ERROR_H
