#ifndef TRIVIUM_MODEL_GRAMMAR_AUTOMATON_H_
#define TRIVIUM_MODEL_GRAMMAR_AUTOMATON_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/alive_check.h"
#include "model/grammar/grammar.h"

namespace trivium {

// A place in a rule: the rule's strings have been read up to there.
using Position = uint32_t;

// A grammar as a recursive transition network. Each rule is a finite automaton
// whose edges read a byte or call a rule. Where possible it is deterministic.
//
// A counted rule is {min, max} times its body and has no edges of its own: its
// position base + k says that k bodies have been read, so a million repetitions
// need no memory. Instead of a body it may have a graph, of which it is the
// paths of at most max edges: then base + k * nodes + n says that k edges have
// led to node n. The counted positions follow those with edges.
//
// From every position of a rule that can be reached its end can be reached too,
// so what fits so far can always be completed. Immutable.
class Automaton {
 public:
  // INVALID_ARGUMENT if no string matches; RESOURCE_EXHAUSTED beyond the
  // grammar's limits; an error of `check_alive`.
  static absl::StatusOr<Automaton> Create(const Grammar& grammar,
                                          const AliveCheck& check_alive = {});

  struct ByteEdge {
    uint8_t low, high;
    Position target;
  };
  struct CallEdge {
    RuleId rule;
    Position target;
  };
  struct Rule {
    Position start = 0;
    bool nullable = false;    // has the empty string
    bool productive = false;  // has a string
    bool counted = false;
    bool unique = false;       // of items that must differ
    RuleId body = 0;           // of a counted rule
    int32_t graph = kNoGraph;  // instead of a body
    int32_t min = 0, max = 0;
    // The only position that calls the rule; kNone if there are none, several,
    // or counted ones.
    Position site = kNone;
  };
  static constexpr Position kNone = ~Position{0};
  static constexpr int32_t kNoGraph = -1;

  RuleId root() const { return root_; }
  // True if some rule is one of items that must differ.
  bool has_unique() const { return has_unique_; }
  const Rule& rule(RuleId id) const { return rules_[id]; }

  bool IsCounted(Position at) const { return at >= ends_.size(); }
  RuleId RuleOf(Position at) const {
    return IsCounted(at) ? CountedAt(at).rule : rule_of_[at];
  }
  // True if the rule may end here, perhaps after calls of empty strings.
  bool MayEnd(Position at) const {
    if (!IsCounted(at)) return ends_[at];
    const Counted& counted = CountedAt(at);
    if (counted.graph == nullptr) return at - counted.base >= counted.needed;
    return counted.graph->nodes[counted.NodeOf(at)].to_end == 0;
  }
  std::span<const ByteEdge> bytes(Position at) const {
    if (IsCounted(at)) return {};
    return {bytes_.data() + byte_begin_[at],
            bytes_.data() + byte_begin_[at + 1]};
  }
  // Calls call(rule, target) for each call edge.
  template <typename Function>
  void ForEachCall(Position at, const Function& call) const {
    if (!IsCounted(at)) {
      for (uint32_t i = call_begin_[at]; i < call_begin_[at + 1]; ++i) {
        call(calls_[i].rule, calls_[i].target);
      }
      return;
    }
    const Counted& counted = CountedAt(at);
    if (counted.graph != nullptr) {
      for (const Graph::Edge& edge : counted.EdgesFrom(at)) {
        if (counted.Leads(at, edge.to)) {
          call(edge.rule, counted.After(at, edge.to));
        }
      }
    } else if (at < counted.base + counted.last) {
      call(counted.body, at + 1);
    } else if (counted.endless) {
      call(counted.body, at);
    }
  }
  bool HasEdges(Position at) const {
    if (!IsCounted(at)) {
      return byte_begin_[at] < byte_begin_[at + 1] ||
             call_begin_[at] < call_begin_[at + 1];
    }
    const Counted& counted = CountedAt(at);
    if (counted.graph == nullptr) {
      return at < counted.base + counted.last || counted.endless;
    }
    const auto edges = counted.EdgesFrom(at);
    return std::any_of(
        edges.begin(), edges.end(),
        [&](const Graph::Edge& edge) { return counted.Leads(at, edge.to); });
  }
  // A position of a counted rule: how many more bodies may follow, the
  // positions after one more and after all of them, and the first position from
  // which the rule may end. In a graph, the bodies are edges from the node to
  // itself.
  struct Count {
    bool endless;
    uint32_t left;  // 0 if endless
    Position next, last, may_end;
  };
  Count CountAt(Position at) const;
  // Returns a position that behaves the same for the next `length` bytes. Far
  // from both of its bounds, a count does not matter.
  Position Representative(Position at, uint32_t length) const;

 private:
  friend class AutomatonBuilder;
  struct Graph {
    struct Edge {
      RuleId rule;
      uint32_t to;
    };
    struct Node {
      uint32_t first_edge;
      uint32_t to_end;  // the least edges from here to a final node
    };
    std::vector<Node> nodes;  // and one that ends the edges
    std::vector<Edge> edges;
    uint32_t farthest = 0;  // the greatest to_end
    uint32_t size() const { return static_cast<uint32_t>(nodes.size()) - 1; }
  };
  struct Counted {
    RuleId rule = 0, body = 0;
    const Graph* graph = nullptr;  // instead of the body
    Position base = 0;
    uint32_t last = 0;     // the greatest count that is told apart
    uint32_t needed = 0;   // the least count that may end
    bool endless = false;  // at `last` further bodies may follow

    // The functions below need a graph.
    uint32_t NodeOf(Position at) const { return (at - base) % graph->size(); }
    uint32_t CountOf(Position at) const { return (at - base) / graph->size(); }
    std::span<const Graph::Edge> EdgesFrom(Position at) const {
      const Graph::Node* node = &graph->nodes[NodeOf(at)];
      return std::span(graph->edges)
          .subspan(node->first_edge, node[1].first_edge - node->first_edge);
    }
    // True if the bound leaves a way to an end behind an edge to the node.
    bool Leads(Position at, uint32_t node) const {
      return uint64_t{CountOf(at)} + 1 + graph->nodes[node].to_end <= last;
    }
    Position After(Position at, uint32_t node) const {
      return at - NodeOf(at) + graph->size() + node;
    }
  };
  const Counted& CountedAt(Position at) const {
    return *(std::upper_bound(counted_.begin(), counted_.end(), at,
                              [](Position position, const Counted& counted) {
                                return position < counted.base;
                              }) -
             1);
  }

  RuleId root_ = 0;
  bool has_unique_ = false;
  std::vector<Rule> rules_;
  std::vector<bool> ends_;            // [positions]
  std::vector<RuleId> rule_of_;       // [positions]
  std::vector<uint32_t> byte_begin_;  // [positions + 1]
  std::vector<uint32_t> call_begin_;  // [positions + 1]
  std::vector<ByteEdge> bytes_;
  std::vector<CallEdge> calls_;
  std::vector<Counted> counted_;  // by base
  std::vector<std::shared_ptr<const Graph>> graphs_;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_GRAMMAR_AUTOMATON_H_
