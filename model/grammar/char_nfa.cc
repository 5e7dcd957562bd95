#include "model/grammar/char_nfa.h"

#include "fmt/format.h"
#include "model/grammar/char_dfa.h"

namespace trivium {

CharNfa::CharNfa(const RegexNode& expression, WorkBudget* work)
    : work_(work), states_(2) {
  Connect(expression, 0, 1);
}

absl::Status CharNfa::TooManyStates() {
  return absl::ResourceExhaustedError(fmt::format(
      "its automaton has more than {} states; give smaller counts or a simpler "
      "expression",
      CharDfa::kMostStates));
}

uint32_t CharNfa::NewState() {
  states_.emplace_back();
  too_large_ = too_large_ || states_.size() > 2 * CharDfa::kMostStates;
  failed_ = failed_ || too_large_;
  return static_cast<uint32_t>(states_.size()) - 1;
}

void CharNfa::Connect(const RegexNode& node, uint32_t from, uint32_t to) {
  failed_ = failed_ || !work_->Take(1);
  if (failed_) return;
  if (IsAssertion(node)) {
    states_[from].asserted.push_back({&node, to});
    return;
  }
  switch (node.kind) {
    case RegexNode::Kind::kCharacter:
      states_[from].edges.push_back({&node.set, to});
      return;
    case RegexNode::Kind::kChoice:
      for (const RegexNode& part : node.parts) Connect(part, from, to);
      return;
    case RegexNode::Kind::kRepeat:
      for (int32_t i = 0; i < node.min && !failed_; ++i) {
        from = After(node.parts[0], from);
      }
      if (node.max < 0) {
        const uint32_t loop = NewState();
        states_[from].empty.push_back(loop);
        states_[After(node.parts[0], loop)].empty.push_back(loop);
        from = loop;
      }
      for (int32_t i = node.min; i < node.max && !failed_; ++i) {
        states_[from].empty.push_back(to);
        from = After(node.parts[0], from);
      }
      states_[from].empty.push_back(to);
      return;
    default:
      for (const RegexNode& part : node.parts) from = After(part, from);
      states_[from].empty.push_back(to);
  }
}

uint32_t CharNfa::After(const RegexNode& node, uint32_t from) {
  const uint32_t next = NewState();
  Connect(node, from, next);
  return next;
}

}  // namespace trivium
