#ifndef TRIVIUM_SERVER_BATCHING_TURNS_H_
#define TRIVIUM_SERVER_BATCHING_TURNS_H_

#include <algorithm>
#include <cstdint>
#include <set>

namespace trivium {

// A flow's place among the others.
struct Turn {
  int64_t round = 0;    // in which it can pay for its first request
  uint64_t order = 0;   // within the round
  int64_t counted = 0;  // the round up to which `saved` has what it earned
  int64_t saved = 0;    // tokens; below 0: it owes them
};

// Deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing using
// Deficit Round Robin", 1995) between flows, of which each has requests that
// wait: in every round each flow earns a quantum q of tokens, and pays what its
// requests cost. So flows that have all the time something to do get the same
// rate of tokens, however many and however long their requests are.
//
// Rounds are counted and not played. A flow that has saved s in round c, and
// whose first request costs p, can pay in round
//   c + ceil(max(p - s, 0) / q)
// and flows stand in the order of these rounds; in a round, in the order in
// which they came to it. The round under way, R, is the latest in which
// somebody has paid. A flow that comes has saved nothing in R; one whose
// request was taken has s + (its round - c) q - p, also in R: what went by
// while it could have paid but was passed over (there was no room for it)
// earns nothing. It goes on at its place while it can pay for its next one.
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
  // In the order of their turns.
  typename Flows::const_iterator begin() const { return flows_.begin(); }
  typename Flows::const_iterator end() const { return flows_.end(); }
  const Flow& first() const { return **flows_.begin(); }

  // A flow that has its first request.
  void Enter(Flow* flow) {
    flow->turn = {.order = ++order_, .counted = round_};
    Place(flow);
  }
  // Of one that may have requests left.
  void Leave(Flow* flow) { flows_.erase(flow); }
  // The flow has another first request, though none was taken.
  void Reprice(Flow* flow) {
    flows_.erase(flow);
    Place(flow);
  }
  // A request of this price was taken from the flow, which leaves if it was
  // the last.
  void Pay(Flow* flow, int64_t price) {
    flows_.erase(flow);
    Turn& turn = flow->turn;
    turn.saved += (turn.round - turn.counted) * quantum_ - price;
    round_ = std::max(round_, turn.round);
    turn.counted = round_;
    if (flow->empty()) return;
    if (flow->price() > turn.saved) turn.order = ++order_;
    Place(flow);
  }

 private:
  void Place(Flow* flow) {
    Turn& turn = flow->turn;
    const int64_t missing = std::max<int64_t>(flow->price() - turn.saved, 0);
    turn.round = turn.counted + (missing + quantum_ - 1) / quantum_;
    flows_.insert(flow);
  }

  const int64_t quantum_;
  Flows flows_;
  int64_t round_ = 0;
  uint64_t order_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_TURNS_H_
