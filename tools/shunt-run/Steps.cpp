//===- Steps.cpp - see Steps.h --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;

namespace shunt {

static std::string opText(const shunt_event &event) {
  static const char *const ops[] = {"barrier", "all_reduce", "all_gather",
                                    "reduce_scatter", "all_to_all"};
  static const char *const parts[] = {"", "route: ", "dispatch: ", "combine: "};
  return std::string(parts[event.part]) + ops[event.op];
}

std::vector<StepSummary>
summarise(const std::vector<std::vector<shunt_event>> &events) {
  // In order of time on the rank that has a step first.
  std::vector<StepSummary> steps;
  std::map<std::pair<std::string, std::string>, size_t> known;
  size_t world = events.size();
  for (auto [rank, list] : llvm::enumerate(events))
    for (const shunt_event &event : list) {
      std::string op = opText(event);
      auto [found, isNew] = known.try_emplace({event.label, op}, steps.size());
      if (isNew) {
        StepSummary &step = steps.emplace_back();
        step.step = event.label;
        step.op = op;
        for (auto *numbers : {&step.calls, &step.rowsIn, &step.rowsOut,
                              &step.bytesSent, &step.bytesReceived})
          numbers->resize(world);
        step.microseconds.resize(world);
      }
      StepSummary &step = steps[found->second];
      ++step.calls[rank];
      step.rowsIn[rank] += event.rows_in;
      step.rowsOut[rank] += event.rows_out;
      step.bytesSent[rank] += event.bytes_sent;
      step.bytesReceived[rank] += event.bytes_received;
      step.microseconds[rank] += event.duration_ns / 1000.0;
    }
  return steps;
}

/// `5`, or `3..7` over the ranks.
template <typename T> static std::string spread(const std::vector<T> &values) {
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  std::string text = std::to_string(*least);
  return *least == *most ? text : text + ".." + std::to_string(*most);
}

void printSteps(llvm::raw_ostream &os, const std::vector<StepSummary> &steps) {
  if (steps.empty())
    return;
  os << llvm::formatv("{0,-18} {1,-24} {2,5} {3,12} {4,12} {5,16} {6,10}\n",
                      "step", "collective", "calls", "rows in", "rows out",
                      "bytes sent", "most us");
  for (const StepSummary &step : steps)
    os << llvm::formatv(
        "{0,-18} {1,-24} {2,5} {3,12} {4,12} {5,16} {6,10}\n",
        step.step.empty() ? "-" : step.step, step.op, spread(step.calls),
        spread(step.rowsIn), spread(step.rowsOut), spread(step.bytesSent),
        llvm::formatv("{0:F1}", *llvm::max_element(step.microseconds)).str());
}

json::Array toJson(const std::vector<StepSummary> &steps) {
  json::Array array;
  for (const StepSummary &step : steps)
    array.push_back(
        json::Object{{"step", step.step},
                     {"op", step.op},
                     {"calls", json::Array(step.calls)},
                     {"rows_in", json::Array(step.rowsIn)},
                     {"rows_out", json::Array(step.rowsOut)},
                     {"bytes_sent", json::Array(step.bytesSent)},
                     {"bytes_received", json::Array(step.bytesReceived)},
                     {"microseconds", json::Array(step.microseconds)}});
  return array;
}

json::Value toTimeline(const std::vector<std::vector<shunt_event>> &events) {
  json::Array array;
  for (auto [rank, list] : llvm::enumerate(events)) {
    array.push_back(json::Object{
        {"ph", "M"},
        {"name", "thread_name"},
        {"pid", 0},
        {"tid", int64_t(rank)},
        {"args", json::Object{{"name", "rank " + std::to_string(rank)}}}});
    for (const shunt_event &event : list)
      array.push_back(json::Object{
          {"ph", "X"},
          {"name", event.label[0] ? std::string(event.label) : opText(event)},
          {"cat", opText(event)},
          {"pid", 0},
          {"tid", int64_t(rank)},
          {"ts", event.start_ns / 1000.0},
          {"dur", event.duration_ns / 1000.0},
          {"args", json::Object{{"group", event.group_size},
                                {"rows_in", event.rows_in},
                                {"rows_out", event.rows_out},
                                {"bytes_sent", event.bytes_sent},
                                {"bytes_received", event.bytes_received}}}});
  }
  return json::Object{{"traceEvents", std::move(array)}};
}

} // namespace shunt
