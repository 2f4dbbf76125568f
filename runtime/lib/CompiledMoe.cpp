//===- CompiledMoe.cpp - Routing of compiled code -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiled.h"
#include "Text.h"
#include "moe/Moe.h"
#include "shunt/compiled.h"

#include <algorithm>
#include <cstring>

using namespace shunt::rt;

static Error invalid(const std::string &message) {
  return {SHUNT_INVALID_ARGUMENT, message};
}

static shunt_moe_options toOptions(const int64_t *fields) {
  shunt_moe_options options = {};
  options.experts = fields[SHUNT_RT_MOE_EXPERTS];
  options.top_k = fields[SHUNT_RT_MOE_TOP_K];
  options.node_size = fields[SHUNT_RT_MOE_NODE_SIZE];
  options.alignment = fields[SHUNT_RT_MOE_ALIGNMENT];
  options.bound = fields[SHUNT_RT_MOE_BOUND];
  options.capacity = fields[SHUNT_RT_MOE_CAPACITY];
  auto asEnum = [&](int field) { return static_cast<int32_t>(fields[field]); };
  options.placement = asEnum(SHUNT_RT_MOE_PLACEMENT);
  options.algorithm = asEnum(SHUNT_RT_MOE_ALGORITHM);
  options.layout = asEnum(SHUNT_RT_MOE_LAYOUT);
  options.score = asEnum(SHUNT_RT_MOE_SCORE);
  options.order = asEnum(SHUNT_RT_MOE_ORDER);
  options.overflow = asEnum(SHUNT_RT_MOE_OVERFLOW);
  options.pad_empty = asEnum(SHUNT_RT_MOE_PAD_EMPTY);
  return options;
}

/// The dispatcher of a group with these options, made when first asked for: it
/// keeps its buffers from step to step.
static Error findDispatcher(shunt_comm *comm, shunt_group *group,
                            const int64_t *fields, int64_t fieldsLen,
                            const int64_t *tableSizes, const int64_t *table,
                            shunt_moe *&out) {
  std::vector<int64_t> key(fields, fields + fieldsLen);
  shunt_moe_options options = toOptions(fields);
  if (fieldsLen > SHUNT_RT_MOE_FIELDS)
    options.static_counts = fields + SHUNT_RT_MOE_FIELDS;
  options.table_sizes = tableSizes;
  options.table = table;
  if (options.placement == SHUNT_MOE_TABLE && tableSizes) {
    key.insert(key.end(), tableSizes, tableSizes + shunt_group_size(group));
    int64_t entries = sumCounts(tableSizes, shunt_group_size(group));
    if (table)
      key.insert(key.end(), table, table + entries);
  }
  std::shared_ptr<shunt_moe> &known = comm->dispatchers[{group, key}];
  if (!known) {
    shunt_moe *made = nullptr;
    if (shunt_status status = shunt_moe_create(comm, group, &options, &made))
      return {status, comm->lastMessage};
    known.reset(made, shunt_moe_destroy);
  }
  out = known.get();
  return {};
}

/// Makes `error` sticky; zero-fills `bytes` of `out`.
static int32_t failRows(shunt_comm *comm, Error error, void *out, int64_t rows,
                        int64_t rowElems, int32_t dtype) {
  int64_t bytes = shunt_dtype_size(dtype);
  if (out && rows > 0 && rowElems > 0 &&
      !__builtin_mul_overflow(bytes, rowElems, &bytes) &&
      !__builtin_mul_overflow(bytes, rows, &bytes))
    std::memset(out, 0, static_cast<size_t>(bytes));
  return comm->fail(std::move(error));
}

/// Compares the rows of a buffer with what the routing says.
static Error checkRows(const char *op, const char *name, int64_t rows,
                       int64_t expected) {
  if (rows == expected)
    return {};
  return invalid(std::string(op) + ": " + name + " has " +
                 std::to_string(rows) + " rows, expected " +
                 std::to_string(expected) + " by the routing [X_ROUTING]");
}

extern "C" {

shunt_moe_routing *
shunt_rt_moe_route(shunt_comm *comm, const int64_t *partition, int64_t numRanks,
                   int64_t groupSize, const int64_t *fields, int64_t fieldsLen,
                   const int64_t *tableSizes, const int64_t *table,
                   const int32_t *ids, int64_t tokens, const float *scores) {
  if (!comm || comm->stickyStatus != SHUNT_OK)
    return nullptr;
  shunt_moe *moe = nullptr;
  Error error = guarded([&]() -> Error {
    if (!fields ||
        (fieldsLen != SHUNT_RT_MOE_FIELDS &&
         (fieldsLen < SHUNT_RT_MOE_FIELDS ||
          fieldsLen - SHUNT_RT_MOE_FIELDS != fields[SHUNT_RT_MOE_EXPERTS])))
      return invalid("route: options have " + std::to_string(fieldsLen) +
                     " fields, expected " +
                     std::to_string(SHUNT_RT_MOE_FIELDS) +
                     ", or one more for each expert");
    shunt_group *group = nullptr;
    if (Error error = findOwnGroup(comm, "route",
                                   {partition, numRanks, groupSize}, group))
      return error;
    return findDispatcher(comm, group, fields, fieldsLen, tableSizes, table,
                          moe);
  });
  if (error) {
    comm->fail(std::move(error));
    return nullptr;
  }
  shunt_moe_routing *routing = nullptr;
  shunt_moe_route(moe, ids, tokens, scores, nullptr, &routing);
  return routing;
}

void shunt_rt_moe_release(shunt_comm *, shunt_moe_routing *routing) {
  shunt_moe_routing_destroy(routing);
}

int64_t shunt_rt_moe_rows(shunt_comm *, shunt_moe_routing *routing) {
  return routing ? shunt_moe_rows(routing) : 0;
}

int64_t shunt_rt_moe_experts(shunt_comm *comm, shunt_moe_routing *routing,
                             int64_t weights, int64_t *rows, int64_t *index,
                             int64_t len) {
  std::fill_n(rows, len, 0);
  std::fill_n(index, len, 0);
  if (!routing)
    return 0;
  const shunt_moe &moe = *routing->moe;
  int64_t locals = moe.placement.localInstances(moe.me());
  int64_t first = moe.placement.firstInstance(moe.me());
  bool all = weights == moe.placement.experts();
  if (locals > len || (!all && locals > weights)) {
    comm->fail(invalid("expert_matmul: rank " + std::to_string(comm->rank) +
                       " holds " + std::to_string(locals) +
                       " experts but was given the weights of " +
                       std::to_string(weights) + " [X_ROUTING]"));
    return 0;
  }
  for (int64_t i = 0; i < locals; ++i) {
    rows[i] = routing->arrivals.padded[i];
    index[i] = all ? moe.placement.expertOf(first + i) : i;
  }
  return locals;
}

int32_t shunt_rt_moe_dispatch(shunt_comm *comm, shunt_moe_routing *routing,
                              const void *in, int64_t inRows, void *out,
                              int64_t outRows, int64_t rowElems, int32_t dtype,
                              int32_t scored) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  if (!routing)
    return failRows(comm, invalid("dispatch: there is no routing [X_ROUTING]"),
                    out, outRows, rowElems, dtype);
  Error error = checkRows("dispatch", "in", inRows, routing->own.tokens);
  if (!error)
    error = checkRows("dispatch", "out", outRows, shunt_moe_rows(routing));
  if (error)
    return failRows(comm, std::move(error), out, outRows, rowElems, dtype);
  shunt_moe_payload payload = {in, out, rowElems, dtype, scored};
  return shunt_moe_dispatch(routing, &payload, 1);
}

int32_t shunt_rt_moe_combine(shunt_comm *comm, shunt_moe_routing *routing,
                             const void *in, int64_t inRows, const void *bias,
                             void *out, int64_t outRows, int64_t rowElems,
                             int32_t dtype) {
  if (!comm)
    return SHUNT_INVALID_ARGUMENT;
  if (!routing)
    return failRows(comm, invalid("combine: there is no routing [X_ROUTING]"),
                    out, outRows, rowElems, dtype);
  Error error = checkRows("combine", "in", inRows, shunt_moe_rows(routing));
  if (!error)
    error = checkRows("combine", "out", outRows, routing->own.tokens);
  if (error)
    return failRows(comm, std::move(error), out, outRows, rowElems, dtype);
  return shunt_moe_combine(routing, in, out, rowElems, dtype, bias);
}

} // extern "C"
