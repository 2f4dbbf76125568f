//===- LayoutSearch.cpp - see LayoutSearch.h ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutSearch.h"

#include "AssignLayouts.h"

#include "Shunt/Analysis/LayoutRules.h"

#include <map>

using namespace mlir;

namespace shunt {

/// Layouts are kept in sets of bits.
constexpr size_t kMaxCandidates = 32;
/// States kept after each op. Few differ: only the residual stream and what a
/// block makes of it are alive at once.
constexpr size_t kMaxStates = 1024;

static bool isOpen(Type type) {
  return isTokenTensor(type) && !isLaidOutTensor(type);
}

namespace {
/// A layout that values may have.
struct Candidate {
  LayoutAttr attr;
  Layout layout;
};

/// An op that takes part.
struct Event {
  enum Kind {
    Leave,     ///< from a decided layout to an open one
    Enter,     ///< from an open layout to a decided one
    TokenWise, ///< works where its operands are brought
  };
  Kind kind;
  Operation *op;
  /// Open values that it reads, each once, and makes.
  SmallVector<unsigned> reads, makes;
  /// Of Leave and Enter: the candidate that the decided side is, or -1.
  int decided = -1;
  /// Of a Leave of partial sums: the candidates where these are completed for
  /// those that hold the rows, and shared out among them.
  unsigned reduced = 0, scattered = 0;
};

/// A value of an open layout.
struct OpenValue {
  Value value;
  Value batch;
  unsigned lastRead = 0;
};

/// Where one value is: the layout that it was made in, all it is in, and those
/// in which token-wise ops had it at hand. What follows runs in one kernel with
/// these, and reads it at no cost.
struct Place {
  unsigned value;
  uint32_t made;
  uint32_t held;
  uint32_t atHand;
  bool operator<(const Place &o) const {
    return std::tie(value, made, held, atHand) <
           std::tie(o.value, o.made, o.held, o.atHand);
  }
};
using State = std::vector<Place>;

/// The way to a state, shared by all that go on from it.
struct Decision {
  int64_t before;
  unsigned event, candidate;
};

enum class Filter { None, Reduced, Scattered };

class LayoutSearch {
public:
  LayoutSearch(FunctionOpInterface function, ReshardPrices &prices,
               SymbolTableCollection &symbols)
      : function(function), prices(prices), symbols(symbols) {}

  FailureOr<std::optional<LayoutChoice>> run();

private:
  /// False: not for the search.
  FailureOr<bool> collect();
  FailureOr<int> candidate(LayoutAttr attr, Operation *op);
  LogicalResult addEvent(Event event);
  struct Reached {
    double seconds;
    int64_t decision;
  };
  using States = std::map<State, Reached>;
  /// The least time, with the layouts on the way to it.
  FailureOr<double> search(Filter filter, LayoutChoice *choice);
  LogicalResult step(unsigned index, Filter filter, const State &state,
                     const Reached &reached, States &next);
  /// Infinite where there is no way.
  FailureOr<double> price(const Event &event, unsigned value, LayoutAttr from,
                          LayoutAttr to);
  FailureOr<double> secondsOfByte(const Event &event, unsigned candidate);
  int64_t bytesOf(unsigned value) const {
    return rowBytes(cast<RankedTensorType>(values[value].value.getType()));
  }
  LogicalResult bring(const Event &event, unsigned value, unsigned to,
                      State &state, double &seconds);
  void put(unsigned index, State state, Reached reached, States &states);

  FunctionOpInterface function;
  ReshardPrices &prices;
  SymbolTableCollection &symbols;
  std::vector<Candidate> candidates;
  std::vector<Event> events;
  std::vector<OpenValue> values;
  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<Decision> decisions;
  llvm::DenseMap<LayoutAttr, int> candidateOf;
  std::map<std::tuple<unsigned, const void *>, int64_t> mostRows;
  bool priced = true;
};
} // namespace

/// The number of the layout, which is new or holds the same rows as a known
/// one; -1 where it is no layout of complete rows.
FailureOr<int> LayoutSearch::candidate(LayoutAttr attr, Operation *op) {
  if (attr.isPartial() ||
      llvm::any_of(
          attr.getInner() ? attr.getInner().getValue() : ArrayRef<Attribute>(),
          [](Attribute axes) { return !cast<ArrayAttr>(axes).empty(); }))
    return -1;
  auto [found, isNew] = candidateOf.try_emplace(attr, -1);
  if (!isNew)
    return found->second;
  FailureOr<Layout> layout = Resolver(op, symbols).layout(attr);
  if (failed(layout))
    return failure();
  for (auto [index, known] : llvm::enumerate(candidates))
    if (known.layout.mesh.world() == layout->mesh.world() &&
        sameRows(known.layout, *layout))
      return candidateOf[attr] = index;
  candidates.push_back({attr.withAxes(attr.getTokens(), {}), *layout});
  return candidateOf[attr] = candidates.size() - 1;
}

FailureOr<bool> LayoutSearch::collect() {
  bool known = true;
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto giveUp = [&] {
      known = false;
      return WalkResult::interrupt();
    };
    Event event;
    event.kind = Event::TokenWise;
    event.op = op;
    Value batch;
    for (Value operand : op->getOperands())
      if (auto number = numbers.find(operand); number != numbers.end()) {
        if (!llvm::is_contained(event.reads, number->second))
          event.reads.push_back(number->second);
        batch = values[number->second].batch;
      }
    bool open = llvm::any_of(op->getResultTypes(), isOpen);
    auto make = [&](Value value) {
      numbers[value] = values.size();
      event.makes.push_back(values.size());
      values.push_back({value, batch, 0});
    };
    auto add = [&] {
      for (unsigned value : event.reads)
        values[value].lastRead = events.size();
      for (unsigned value : event.makes)
        values[value].lastRead = events.size();
      events.push_back(event);
      return WalkResult::advance();
    };
    auto decided = [&](LayoutAttr attr) {
      FailureOr<int> number = candidate(attr, op);
      if (succeeded(number))
        event.decided = *number;
      return succeeded(number);
    };
    if (auto redistribute = dyn_cast<RedistributeOp>(op)) {
      if (event.reads.empty() && open) {
        LayoutAttr from = getLayout(redistribute.getInput().getType());
        if (!from || from.getInner())
          return giveUp();
        event.kind = Event::Leave;
        batch = redistribute.getBatch();
        if (!decided(from))
          return WalkResult::interrupt();
        FailureOr<Layout> layout = Resolver(op, symbols).layout(from);
        if (failed(layout))
          return WalkResult::interrupt();
        if (event.decided < 0) {
          FailureOr<int> reduced =
              candidate(from.withAxes(from.getTokens(), {}), op);
          FailureOr<int> scattered = candidate(
              layoutAttr(op->getContext(), scatteredOver(*layout)), op);
          if (failed(reduced) || failed(scattered))
            return WalkResult::interrupt();
          event.reduced = *reduced;
          event.scattered = *scattered;
        }
        make(redistribute.getResult());
        return add();
      }
      if (event.reads.empty())
        return WalkResult::advance();
      if (open) { // The same value.
        numbers[redistribute.getResult()] = event.reads.front();
        return WalkResult::advance();
      }
      event.kind = Event::Enter;
      if (!decided(getLayout(redistribute.getType())))
        return WalkResult::interrupt();
      return add();
    }
    // Sizes, and what is made anew for each reader, go where these are.
    if (isa<tensor::DimOp>(op) || event.reads.empty())
      return WalkResult::advance();
    if (!isTokenWise(op))
      return giveUp();
    for (Value result : op->getResults())
      if (isOpen(result.getType()))
        make(result);
    return add();
  });
  if (walk.wasInterrupted() && known)
    return failure();
  return known && candidates.size() <= kMaxCandidates &&
         llvm::all_of(candidates, [&](const Candidate &candidate) {
           return candidate.layout.mesh.world() ==
                  candidates.front().layout.mesh.world();
         });
}

FailureOr<double> LayoutSearch::price(const Event &event, unsigned value,
                                      LayoutAttr from, LayoutAttr to) {
  if (from == to)
    return 0.0;
  FailureOr<const Reshard *> reshard =
      prices.plan(event.op, from, to, values[value].batch, bytesOf(value));
  if (failed(reshard))
    return failure();
  if (!(*reshard)->priced) {
    priced = false;
    return 0.0;
  }
  return (*reshard)->priced->cost.seconds;
}

/// Time that the rank with most rows takes to read or write one byte of each.
FailureOr<double> LayoutSearch::secondsOfByte(const Event &event,
                                              unsigned index) {
  const Candidate &where = candidates[index];
  Value batchValue = values[event.reads.front()].batch;
  Resolver resolver(event.op, symbols);
  FailureOr<const CostModel *> model =
      prices.modelOf(resolver, where.attr.getMesh());
  if (failed(model))
    return failure();
  auto [rows, isNew] = mostRows.try_emplace(
      {index, batchValue.getAsOpaquePointer()}, int64_t(0));
  if (isNew) {
    FailureOr<std::optional<Batch>> batch = resolver.batch(batchValue);
    if (failed(batch))
      return failure();
    if (*batch) {
      std::vector<int64_t> counts = rowCounts(**batch, where.layout);
      rows->second = *llvm::max_element(counts);
    }
  }
  double bandwidth = *model ? (*model)->cluster().spec().memoryBandwidth : 0;
  if (bandwidth <= 0)
    return 0.0;
  return rows->second / bandwidth;
}

static Place &placeOf(State &state, unsigned value) {
  return *llvm::find_if(
      state, [&](const Place &place) { return place.value == value; });
}

/// Has `value` in layout `to`, at a price unless it is there.
LogicalResult LayoutSearch::bring(const Event &event, unsigned value,
                                  unsigned to, State &state, double &seconds) {
  Place &place = placeOf(state, value);
  if (place.held >> to & 1)
    return success();
  FailureOr<double> time =
      price(event, value, candidates[place.made].attr, candidates[to].attr);
  if (failed(time))
    return failure();
  seconds += *time;
  // What a nested block is given, later ops outside it cannot read.
  if (event.op->getBlock() == values[value].value.getParentBlock())
    place.held |= uint32_t(1) << to;
  return success();
}

void LayoutSearch::put(unsigned index, State state, Reached reached,
                       States &states) {
  llvm::erase_if(state, [&](const Place &place) {
    return values[place.value].lastRead <= index;
  });
  auto [found, isNew] = states.try_emplace(std::move(state), reached);
  // Of equals the first stays: candidates come in program order.
  if (!isNew && reached.seconds < found->second.seconds * (1 - 1e-9))
    found->second = reached;
}

LogicalResult LayoutSearch::step(unsigned index, Filter filter,
                                 const State &state, const Reached &reached,
                                 States &next) {
  const Event &event = events[index];
  auto goOn = [&](State after, double seconds, unsigned where) {
    uint32_t here = uint32_t(1) << where;
    for (unsigned value : event.makes)
      after.push_back(
          {value, where, here, event.kind == Event::TokenWise ? here : 0});
    decisions.push_back({reached.decision, index, where});
    put(index, std::move(after),
        {seconds, static_cast<int64_t>(decisions.size()) - 1}, next);
  };
  switch (event.kind) {
  case Event::Leave: {
    if (event.decided >= 0) {
      goOn(state, reached.seconds, event.decided);
      return success();
    }
    LayoutAttr from =
        getLayout(cast<RedistributeOp>(event.op).getInput().getType());
    for (unsigned to = 0; to < candidates.size(); ++to) {
      if ((filter == Filter::Reduced && to != event.reduced) ||
          (filter == Filter::Scattered && to != event.scattered))
        continue;
      FailureOr<double> time =
          price(event, event.makes.front(), from, candidates[to].attr);
      if (failed(time))
        return failure();
      goOn(state, reached.seconds + *time, to);
    }
    return success();
  }
  case Event::Enter: {
    State after = state;
    double seconds = reached.seconds;
    unsigned value = event.reads.front();
    if (event.decided >= 0) {
      if (failed(bring(event, value, event.decided, after, seconds)))
        return failure();
    } else {
      FailureOr<double> time =
          price(event, value, candidates[placeOf(after, value).made].attr,
                getLayout(cast<RedistributeOp>(event.op).getType()));
      if (failed(time))
        return failure();
      seconds += *time;
    }
    put(index, std::move(after), {seconds, reached.decision}, next);
    return success();
  }
  case Event::TokenWise:
    for (unsigned to = 0; to < candidates.size(); ++to) {
      State after = state;
      FailureOr<double> ofByte = secondsOfByte(event, to);
      if (failed(ofByte))
        return failure();
      double seconds = reached.seconds;
      for (unsigned value : event.makes)
        seconds += *ofByte * bytesOf(value);
      for (unsigned value : event.reads) {
        if (failed(bring(event, value, to, after, seconds)))
          return failure();
        uint32_t &atHand = placeOf(after, value).atHand;
        if (!(atHand >> to & 1))
          seconds += *ofByte * bytesOf(value);
        atHand |= uint32_t(1) << to;
      }
      goOn(std::move(after), seconds, to);
    }
    return success();
  }
  llvm_unreachable("all kinds are handled");
}

FailureOr<double> LayoutSearch::search(Filter filter, LayoutChoice *choice) {
  decisions.clear();
  States states = {{State(), {0, -1}}};
  for (unsigned index = 0; index < events.size(); ++index) {
    States next;
    for (const auto &[state, reached] : states) {
      if (failed(step(index, filter, state, reached, next)))
        return failure();
      if (!priced)
        return 0.0;
    }
    while (next.size() > kMaxStates)
      next.erase(std::max_element(next.begin(), next.end(),
                                  [](const auto &a, const auto &b) {
                                    return a.second.seconds < b.second.seconds;
                                  }));
    states = std::move(next);
  }
  // All values are dead, so one state is left.
  const Reached &best = states.begin()->second;
  if (choice)
    for (int64_t at = best.decision; at >= 0; at = decisions[at].before) {
      const Decision &decision = decisions[at];
      choice->layouts[events[decision.event].op] =
          candidates[decision.candidate].attr;
    }
  return best.seconds;
}

FailureOr<std::optional<LayoutChoice>> LayoutSearch::run() {
  FailureOr<bool> known = collect();
  if (failed(known))
    return failure();
  if (!*known || events.empty())
    return std::optional<LayoutChoice>();
  LayoutChoice choice;
  for (auto [filter, seconds] :
       {std::pair(Filter::Reduced, &choice.reduced),
        std::pair(Filter::Scattered, &choice.scattered),
        std::pair(Filter::None, &choice.seconds)}) {
    FailureOr<double> least =
        search(filter, filter == Filter::None ? &choice : nullptr);
    if (failed(least))
      return failure();
    if (!priced)
      return std::optional<LayoutChoice>();
    *seconds = *least;
  }
  return std::optional(std::move(choice));
}

FailureOr<std::optional<LayoutChoice>>
searchLayouts(FunctionOpInterface function, ReshardPrices &prices,
              SymbolTableCollection &symbols) {
  return LayoutSearch(function, prices, symbols).run();
}

} // namespace shunt
