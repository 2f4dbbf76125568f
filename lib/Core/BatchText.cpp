//===- BatchText.cpp - Batch specs as text ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line of fields separated by spaces, each a list separated by commas:
//
//   NAME AXIS=SIZE,… OWNERS REPLICAS DEVICES SPLIT
//
// An empty list is `-`. In names, what separates is written `%XX`.
//
//===----------------------------------------------------------------------===//

#include "Shunt/Core/Batch.h"

#include <cerrno>
#include <cstdlib>

namespace shunt {

static const char kSpecial[] = " ,=%-";
static const char kHex[] = "0123456789ABCDEF";

static std::string quote(const std::string &name) {
  std::string text;
  for (unsigned char c : name) {
    if (c >= 0x20 && std::string(kSpecial).find(c) == std::string::npos)
      text += c;
    else
      text += {'%', kHex[c / 16], kHex[c % 16]};
  }
  return text;
}

static std::string unquote(const std::string &text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      name += text[i];
      continue;
    }
    name += static_cast<char>(
        std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
    i += 2;
  }
  return name;
}

static std::string join(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ",") + item;
  return text.empty() ? "-" : text;
}

template <typename T>
static std::string joinNumbers(const std::vector<T> &list) {
  std::vector<std::string> items;
  for (T item : list)
    items.push_back(std::to_string(item));
  return join(items);
}

std::string toString(const BatchSpec &spec) {
  std::vector<std::string> axes;
  for (const Axis &axis : spec.mesh.axes())
    axes.push_back(quote(axis.name) + "=" + std::to_string(axis.size));
  return quote(spec.mesh.name()) + " " + join(axes) + " " +
         joinNumbers(spec.owners) + " " + joinNumbers(spec.replicas) + " " +
         joinNumbers(spec.mesh.devices()) + " " + toString(spec.split);
}

static std::vector<std::string> cut(const std::string &text, char separator) {
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + 1)
    pieces.push_back(text.substr(begin, end - begin));
  pieces.push_back(text.substr(begin));
  return pieces;
}

static std::optional<int64_t> toNumber(const std::string &text) {
  char *end = nullptr;
  errno = 0;
  int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno)
    return std::nullopt;
  return number;
}

/// Adds the numbers of a list, all at least 0; false if it is none.
template <typename T>
static bool readNumbers(const std::string &text, std::vector<T> &list) {
  if (text == "-")
    return true;
  for (const std::string &piece : cut(text, ',')) {
    std::optional<int64_t> number = toNumber(piece);
    if (!number || *number < 0)
      return false;
    list.push_back(static_cast<T>(*number));
  }
  return true;
}

Result<BatchSpec> parseBatchSpec(const std::string &text) {
  Error malformed{"E_BATCH_TEXT", "`" + text +
                                      "` describes no batch; compile the "
                                      "program with this version of Shunt"};
  std::vector<std::string> fields = cut(text, ' ');
  if (fields.size() != 6)
    return malformed;
  std::vector<Axis> axes;
  int64_t world = 1;
  if (fields[1] != "-")
    for (const std::string &item : cut(fields[1], ',')) {
      std::vector<std::string> sides = cut(item, '=');
      std::optional<int64_t> size;
      if (sides.size() == 2)
        size = toNumber(sides[1]);
      if (!size || *size < 1 || *size > (int64_t(1) << 31) / world)
        return malformed;
      world *= *size;
      axes.push_back({unquote(sides[0]), *size});
    }
  AxisList owners, replicas;
  RankList devices;
  if (!readNumbers(fields[2], owners) || !readNumbers(fields[3], replicas) ||
      !readNumbers(fields[4], devices))
    return malformed;
  Result<Mesh> mesh = Mesh::create(unquote(fields[0]), std::move(axes), world,
                                   std::move(devices));
  if (!mesh)
    return mesh.error();
  Result<Split> split = parseSplit(fields[5]);
  if (!split)
    return split.error();
  return BatchSpec::create(std::move(*mesh), std::move(owners),
                           std::move(replicas), *split);
}

} // namespace shunt
