// A trace lists, step by step, the candidates of a beam search; each names its
// parent in the step before. Create checks every parent, so the functions below
// may follow them.
//
// best_below_ is filled from the last step to the first: each candidate passes
// the best result below it to its parent. The trunk of the drawing follows the
// candidates with the best one. It is drawn by a loop and only branches
// recurse, since a translation may have hundreds of steps.
#include "client/commands/beam_tree.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "client/pages/pages.h"
#include "fmt/format.h"

namespace trivium {
namespace {

const char* NameOf(v1::BeamFate fate) {
  switch (fate) {
    case v1::BEAM_FATE_CONTINUED:
      return "continued";
    case v1::BEAM_FATE_ENDED:
      return "ended";
    case v1::BEAM_FATE_ENDED_TOO_LOW:
      return "ended_too_low";
    case v1::BEAM_FATE_OUTSCORED:
      return "outscored";
    case v1::BEAM_FATE_STOPPED:
      return "stopped";
    default:
      return "pruned";
  }
}

const char* NameOf(v1::FinishReason reason) {
  switch (reason) {
    case v1::FINISH_REASON_END:
      return "end token";
    case v1::FINISH_REASON_STOP:
      return "stop string";
    default:
      return "length limit";
  }
}

bool Runs(const v1::BeamTrace::Candidate& candidate) {
  return candidate.fate() == v1::BEAM_FATE_CONTINUED ||
         candidate.fate() == v1::BEAM_FATE_STOPPED;
}

}  // namespace

absl::StatusOr<BeamTree> BeamTree::Create(v1::TranslateResult result) {
  const v1::BeamTrace& trace = result.beam_trace();
  for (int s = 1; s < trace.steps_size(); ++s) {
    for (const Candidate& candidate : trace.steps(s).candidates()) {
      const int parents = trace.steps(s - 1).candidates_size();
      if (candidate.parent() >= static_cast<uint32_t>(parents)) {
        return absl::InternalError(fmt::format(
            "the server's trace names parent {} in step {}, which has {}",
            candidate.parent(), s, parents));
      }
    }
  }
  BeamTree tree(std::move(result));
  const int steps = tree.trace().steps_size();
  tree.best_below_.resize(steps);
  for (int s = steps - 1; s >= 0; --s) {
    const auto& candidates = tree.trace().steps(s).candidates();
    for (const Candidate& candidate : candidates) {
      tree.best_below_[s].push_back(
          candidate.has_hypothesis() ? static_cast<int>(candidate.hypothesis())
                                     : INT_MAX);
    }
    if (s + 1 == steps) continue;
    const auto& next = tree.trace().steps(s + 1).candidates();
    for (int i = 0; i < next.size(); ++i) {
      int& best = tree.best_below_[s][next[i].parent()];
      best = std::min(best, tree.best_below_[s + 1][i]);
    }
  }
  return tree;
}

std::string BeamTree::Piece(const Candidate& candidate) {
  return candidate.piece().empty() ? fmt::format("{}", candidate.id())
                                   : candidate.piece();
}

std::vector<int> BeamTree::Children(int step, int place) const {
  std::vector<int> children;
  if (step + 1 >= trace().steps_size()) return children;
  const auto& next = trace().steps(step + 1).candidates();
  for (int i = 0; i < next.size(); ++i) {
    // All candidates of the first step follow the prefix.
    if (step < 0 || static_cast<int>(next[i].parent()) == place) {
      children.push_back(i);
    }
  }
  return children;
}

std::string BeamTree::Why(int step, int place) const {
  const Candidate& candidate = At(step, place);
  const auto& all = trace().steps(step).candidates();
  const int running =
      static_cast<int>(std::count_if(all.begin(), all.end(), Runs));
  switch (candidate.fate()) {
    case v1::BEAM_FATE_CONTINUED: {
      const std::vector<int> next = Children(step, place);
      const bool leads = std::any_of(next.begin(), next.end(), [&](int i) {
        return At(step + 1, i).fate() != v1::BEAM_FATE_PRUNED;
      });
      return leads || step + 1 >= trace().steps_size()
                 ? "among the best of its step: it was continued"
                 : "among the best of its step, but all its continuations were "
                   "worse than those of others";
    }
    case v1::BEAM_FATE_STOPPED:
      return "still running when the search stopped: it could not become a "
             "result any more";
    case v1::BEAM_FATE_ENDED:
      return candidate.has_hypothesis()
                 ? fmt::format("ended with score {:.4f}: result {}",
                               candidate.score(), candidate.hypothesis() + 1)
                 : fmt::format(
                       "ended with score {:.4f}: kept, but fewer "
                       "results were requested",
                       candidate.score());
    case v1::BEAM_FATE_ENDED_TOO_LOW:
      return fmt::format(
          "ended, but only at rank {} of its step: no more may end than the "
          "beam size",
          place + 1);
    case v1::BEAM_FATE_OUTSCORED:
      return fmt::format(
          "ended with score {:.4f}, but as many others as the beam size ended "
          "with better ones",
          candidate.score());
    default: {
      double last = 0;
      for (const Candidate& other : all) {
        if (Runs(other)) last = other.total_logprob();
      }
      return fmt::format(
          "pruned: the {} best of the step went on, the last of them with "
          "{:.4f}, and this has {:.4f}",
          running, last, candidate.total_logprob());
    }
  }
}

std::string BeamTree::Line(int step, int place, const Colors& colors) const {
  const Candidate& candidate = At(step, place);
  const std::string piece = Visible(Piece(candidate));
  const std::string number = fmt::format("{:.2f}", candidate.total_logprob());
  switch (candidate.fate()) {
    case v1::BEAM_FATE_CONTINUED:
      return fmt::format("{} {}", piece, colors.Dim(number));
    case v1::BEAM_FATE_PRUNED:
      return colors.Dim(fmt::format("{} {} pruned", piece, number));
    case v1::BEAM_FATE_ENDED:
      return colors.Paint(
          "32", fmt::format("{} {} {}", piece, number, Why(step, place)));
    default:
      return fmt::format("{} {} {}", piece, colors.Dim(number),
                         colors.Paint("33", Why(step, place)));
  }
}

void BeamTree::AddBelow(int step, int place, const std::string& indent,
                        bool pruned, const Colors& colors,
                        std::vector<std::string>* lines) const {
  // Loops down the trunk; only branches recurse.
  while (true) {
    std::vector<int> children = Children(step, place);
    if (!pruned) {
      std::erase_if(children, [&](int child) {
        return At(step + 1, child).fate() == v1::BEAM_FATE_PRUNED;
      });
    }
    if (children.empty()) return;
    // The trunk leads to the best result below, else to any continued
    // candidate.
    const int trunk =
        *std::min_element(children.begin(), children.end(), [&](int a, int b) {
          const int best_a = best_below_[step + 1][a];
          const int best_b = best_below_[step + 1][b];
          if (best_a != best_b) return best_a < best_b;
          return Runs(At(step + 1, a)) && !Runs(At(step + 1, b));
        });
    for (const int child : children) {
      if (child == trunk) continue;
      lines->push_back(indent + "\u251c\u2500 " +
                       Line(step + 1, child, colors));
      AddBelow(step + 1, child, indent + "\u2502  ", pruned, colors, lines);
    }
    lines->push_back(indent + Line(step + 1, trunk, colors));
    ++step;
    place = trunk;
  }
}

std::string BeamTree::Text(const Colors& colors, int rows) const {
  std::vector<std::string> lines;
  for (int i = 0; i < result_.hypotheses_size(); ++i) {
    const v1::Hypothesis& one = result_.hypotheses(i);
    lines.push_back(fmt::format("{} {:.4f} {}",
                                colors.Bold(fmt::format("result {}", i + 1)),
                                one.score(), Visible(one.text())));
  }
  if (trace().truncated()) {
    lines.push_back("(the trace was full: later steps are missing)");
  }
  std::vector<std::string> tree;
  AddBelow(-1, 0, "", /*pruned=*/true, colors, &tree);
  // Leaves one row for the last line and one for the next prompt.
  const int room = rows - static_cast<int>(lines.size()) - 2;
  if (rows > 0 && static_cast<int>(tree.size()) > room + 1) {
    const size_t all = tree.size();
    tree.clear();
    AddBelow(-1, 0, "", /*pruned=*/false, colors, &tree);
    tree.resize(std::min<size_t>(tree.size(), std::max(room, 0)));
    tree.push_back(colors.Dim(fmt::format(
        "({} of {} lines: --html, or a pipe, shows all)", tree.size(), all)));
  }
  lines.insert(lines.end(), tree.begin(), tree.end());
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

nlohmann::json BeamTree::Data(const std::string& model,
                              const std::string& text) const {
  nlohmann::json steps = nlohmann::json::array();
  for (int s = 0; s < trace().steps_size(); ++s) {
    nlohmann::json& step = steps.emplace_back(nlohmann::json::array());
    for (int i = 0; i < trace().steps(s).candidates_size(); ++i) {
      const Candidate& candidate = At(s, i);
      nlohmann::json one = {
          {"parent", candidate.parent()},     {"id", candidate.id()},
          {"token", Piece(candidate)},        {"logprob", candidate.logprob()},
          {"sum", candidate.total_logprob()}, {"score", candidate.score()},
          {"fate", NameOf(candidate.fate())}, {"why", Why(s, i)}};
      if (candidate.has_hypothesis()) {
        one["hypothesis"] = candidate.hypothesis();
      }
      step.push_back(std::move(one));
    }
  }
  nlohmann::json hypotheses = nlohmann::json::array();
  for (const v1::Hypothesis& one : result_.hypotheses()) {
    hypotheses.push_back({{"text", one.text()},
                          {"score", one.score()},
                          {"tokens", one.token_count()},
                          {"reason", NameOf(one.finish_reason())}});
  }
  return {{"model", model},
          {"text", text},
          {"truncated", trace().truncated()},
          {"hypotheses", std::move(hypotheses)},
          {"steps", std::move(steps)}};
}

std::string BeamTree::Page(const std::string& model,
                           const std::string& text) const {
  return MakePage(kBeamsPage, Data(model, text));
}

}  // namespace trivium
