//===- ToolError.h - How the tools report what went wrong ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_TOOLS_TOOLERROR_H
#define SHUNT_TOOLS_TOOLERROR_H

#include "Shunt/Core/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace shunt {

/// Prints `text` with control characters as `\x0A`: a message may quote what
/// was given, and has to stay one line.
inline void printOneLine(llvm::raw_ostream &os, llvm::StringRef text) {
  for (unsigned char c : text)
    if (c < 0x20 || c == 0x7f)
      os << "\\x" << llvm::hexdigit(c >> 4) << llvm::hexdigit(c & 15);
    else
      os << c;
}

/// One line on stderr, and with `json` the same as an object on stdout.
/// Returns the exit code.
inline int reportError(llvm::StringRef tool, const Error &error, bool json) {
  if (!error.message.empty()) {
    llvm::errs() << tool << ": error: ";
    printOneLine(llvm::errs(), error.str());
    llvm::errs() << "\n";
  }
  if (json) {
    llvm::json::Object object{{"code", error.code},
                              {"message", error.message.empty()
                                              ? "the command line is wrong"
                                              : error.message}};
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(llvm::json::Object{
                                               {"schema", 1},
                                               {"error", std::move(object)}}))
                 << "\n";
  }
  return 1;
}

/// Parses the command line. A value that an option cannot take is reported on
/// stderr by LLVM itself: the error's message is then empty.
inline MaybeError parseCommandLine(int argc, char **argv,
                                   llvm::cl::OptionCategory &category,
                                   llvm::StringRef overview) {
  llvm::cl::HideUnrelatedOptions(category);
  std::string text;
  llvm::raw_string_ostream errors(text);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &errors))
    return std::nullopt;
  // LLVM starts each line with the program's name.
  std::string sentence;
  for (llvm::StringRef line : llvm::split(llvm::StringRef(text).trim(), '\n'))
    sentence += (sentence.empty() ? "" : " ") + line.split(": ").second.str();
  return Error{"E_OPTION", sentence};
}

} // namespace shunt

#endif // SHUNT_TOOLS_TOOLERROR_H
