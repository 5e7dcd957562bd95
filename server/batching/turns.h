#ifndef TRIVIUM_SERVER_BATCHING_TURNS_H_
#define TRIVIUM_SERVER_BATCHING_TURNS_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace trivium {

// A flow's position among the others.
struct Turn {
  int64_t round = 0;    // in which it can pay for its first request
  uint64_t order = 0;   // within the round
  int64_t counted = 0;  // `saved` includes its earnings up to this round
  int64_t saved = 0;    // tokens; negative: a debt
};

// Deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing using
// Deficit Round Robin", 1995) between flows with waiting requests. In every
// round each flow earns a quantum q of tokens and pays the price of its
// requests. So flows that always have requests get the same rate of tokens,
// however many and however long their requests are.
//
// Rounds are computed, not played. A flow that had saved s in round c, and
// whose first request costs p, can pay in round
//
//   c + ceil(max(p - s, 0) / q)
//
// Flows are ordered by these rounds; within a round, by their arrival in it.
// The current round R is the latest in which a flow has paid. A new flow has
// saved 0 in R. A flow whose request was taken has s + (its round - c) q - p,
// also in R: the rounds in which it could have paid but was passed over, for
// lack of room, earn nothing. It stays at its position while it can pay for its
// next request.
//
// A Flow has a public `turn`, price() of its first request, and empty().
template <typename Flow>
class Turns {
  struct Earlier {
    bool operator()(const Flow* a, const Flow* b) const {
      return a->turn.round != b->turn.round ? a->turn.round < b->turn.round
                                            : a->turn.order < b->turn.order;
    }
  };
  using Flows = std::set<Flow*, Earlier>;

 public:
  explicit Turns(int64_t quantum) : quantum_(quantum) {}

  bool empty() const { return flows_.empty(); }
  int64_t size() const { return static_cast<int64_t>(flows_.size()); }
  // Iterates in the order of turns.
  typename Flows::const_iterator begin() const { return flows_.begin(); }
  typename Flows::const_iterator end() const { return flows_.end(); }
  const Flow& first() const { return **flows_.begin(); }

  // Adds a flow that has got its first request.
  // The only function that takes memory; if it throws, nothing is added.
  void Enter(Flow* flow) {
    flow->turn = {.order = ++order_, .counted = round_};
    flow->turn.round = RoundOf(*flow);
    flows_.insert(flow);
  }
  // Removes a flow, which may have requests left.
  void Leave(Flow* flow) { flows_.erase(flow); }
  // The flow's first request changed without one being taken.
  void Reprice(Flow* flow) { Place(flows_.extract(flow)); }
  // A request of this price was taken from the flow. If it was the last one,
  // the flow is removed.
  void Pay(Flow* flow, int64_t price) {
    auto node = flows_.extract(flow);
    Turn& turn = flow->turn;
    turn.saved += (turn.round - turn.counted) * quantum_ - price;
    round_ = std::max(round_, turn.round);
    turn.counted = round_;
    if (flow->empty()) return;
    if (flow->price() > turn.saved) turn.order = ++order_;
    Place(std::move(node));
  }

 private:
  int64_t RoundOf(const Flow& flow) const {
    const Turn& turn = flow.turn;
    const int64_t missing = std::max<int64_t>(flow.price() - turn.saved, 0);
    return turn.counted + (missing + quantum_ - 1) / quantum_;
  }
  void Place(typename Flows::node_type node) {
    Flow* const flow = node.value();
    flow->turn.round = RoundOf(*flow);
    flows_.insert(std::move(node));
  }

  const int64_t quantum_;
  Flows flows_;
  int64_t round_ = 0;
  uint64_t order_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_TURNS_H_
