#include "server/batching/rereading.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trivium {

int Rereading::Begin(Engine* engine, SourceId source, Histories histories,
                     std::string_view salt) {
  histories_ = std::move(histories);
  std::vector<int> all(histories_.size());
  std::iota(all.begin(), all.end(), 0);
  const int until = CommonLength(all);
  branches_.reserve(histories_.size());
  const Engine::Beginning begun =
      engine->Begin(source, std::span(histories_[0]).first(until), salt);
  branches_.push_back({.id = begun.hypothesis,
                       .members = std::move(all),
                       .until = until,
                       .read = begun.found});
  return begun.found;
}

int Rereading::CommonLength(const std::vector<int>& members) const {
  const std::vector<int32_t>& first = histories_[members[0]];
  size_t length = first.size();
  for (const int member : members) {
    length = std::mismatch(first.begin(), first.begin() + length,
                           histories_[member].begin())
                 .first -
             first.begin();
  }
  return static_cast<int>(length);
}

bool Rereading::done() const { return MinRows() == 0; }

int Rereading::MinRows() const {
  return static_cast<int>(
      std::count_if(branches_.begin(), branches_.end(),
                    [](const Branch& b) { return b.read < b.until; }));
}

void Rereading::Plan(int* spare_rows, StepPlan* plan) {
  for (Branch& branch : branches_) {
    branch.planned = 0;
    if (branch.read == branch.until) continue;
    const int more = std::min(*spare_rows, branch.until - branch.read - 1);
    *spare_rows -= more;
    branch.planned = 1 + more;
    plan->decode.push_back(
        {.hypothesis = branch.id,
         .tokens = std::span(histories_[branch.members[0]])
                       .subspan(branch.read, branch.planned)});
  }
}

void Rereading::Apply(Engine* engine) {
  const size_t branches = branches_.size();
  for (size_t i = 0; i < branches; ++i) {
    branches_[i].read += std::exchange(branches_[i].planned, 0);
    if (branches_[i].read == branches_[i].until) Split(i, engine);
  }
}

void Rereading::Split(size_t branch, Engine* engine) {
  const int at = branches_[branch].read;
  if (at == static_cast<int>(histories_[0].size())) return;
  const std::vector<int> members = std::move(branches_[branch].members);
  std::vector<std::vector<int>> parts;
  for (const int member : members) {
    const auto part =
        std::find_if(parts.begin(), parts.end(), [&](const auto& other) {
          return histories_[other[0]][at] == histories_[member][at];
        });
    if (part == parts.end()) {
      parts.push_back({member});
    } else {
      part->push_back(member);
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const int until = CommonLength(parts[i]);
    if (i == 0) {
      branches_[branch].members = std::move(parts[i]);
      branches_[branch].until = until;
    } else {
      branches_.push_back({.id = engine->Fork(branches_[branch].id),
                           .members = std::move(parts[i]),
                           .until = until,
                           .read = at});
    }
  }
}

std::vector<HypothesisId> Rereading::Finish(Engine* engine) {
  std::vector<HypothesisId> ids(histories_.size());
  std::vector<HypothesisId> forked;
  forked.reserve(histories_.size());
  try {
    for (const Branch& branch : branches_) {
      for (const int member : branch.members) {
        ids[member] = branch.id;
        if (member == branch.members[0]) continue;
        ids[member] = forked.emplace_back(engine->Fork(branch.id));
      }
    }
  } catch (...) {
    for (const HypothesisId id : forked) engine->ReleaseHypothesis(id);
    throw;
  }
  branches_.clear();
  histories_.clear();
  return ids;
}

void Rereading::Clear(Engine* engine) {
  for (const Branch& branch : branches_) engine->ReleaseHypothesis(branch.id);
  branches_.clear();
  histories_.clear();
}

}  // namespace trivium
