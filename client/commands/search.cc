// The order of a search: the query is encoded; the file's lines that the index
// lacks are encoded, a few a call; the index is written beside the file; lines
// are sorted by how their embeddings compare with the query's; with --rerank, a
// second model sorts the best again.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status.h"
#include "client/commands/command.h"
#include "client/commands/embeddings.h"
#include "client/commands/progress.h"
#include "client/commands/search_index.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

constexpr size_t kLinesOfCall = 32;
constexpr size_t kMostIndexBytes = size_t{4} << 30;
// The second model reads so many lines for each that is shown.
constexpr size_t kRerankedOfShown = 5;

struct Line {
  uint64_t number;  // in the file, from 1
  std::string text;
};

struct Found {
  size_t line;  // an index
  double score;
};

// Prints the lines of a file that answer a query, best first: the score, the
// line's number and its text, separated by tabs.
class SearchCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    if (inputs_.texts.size() != 2) {
      return absl::InvalidArgumentError(
          "trivium search takes a file and a query: "
          "trivium search notes.txt \"Where do cats sleep?\"");
    }
    const std::string& query = inputs_.texts[1];
    TRIVIUM_RETURN_IF_ERROR(ReadLines());
    v1::EncodeRequest asked = request_;
    asked.set_kind(v1::TEXT_KIND_QUERY);
    asked.add_inputs()->set_text(query);
    TRIVIUM_ASSIGN_OR_RETURN(const v1::EncodeResponse answer,
                             client.Encode(asked));
    TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(answer.results_size()));
    const v1::EncodeResult& wanted = answer.results(0);
    const auto kind = KindOf(wanted);
    if (!kind) {
      return absl::InvalidArgumentError(
          "the model makes no embeddings, which a search compares; --model "
          "names another");
    }
    TRIVIUM_RETURN_IF_ERROR(Fill({.model = answer.model().name(),
                                  .revision = answer.model().revision(),
                                  .kind = *kind},
                                 client, io));
    std::vector<Found> found;
    for (size_t i = 0; i < lines_.size(); ++i) {
      found.push_back({i, Relevance(wanted, *index_->Find(lines_[i].text))});
    }
    Shorten(reranker_.empty() ? top_ : top_ * kRerankedOfShown, &found);
    if (!reranker_.empty()) {
      TRIVIUM_RETURN_IF_ERROR(Rerank(query, client, &found));
    }
    return Print(found, io);
  }

 private:
  friend Subcommand trivium::AddSearch(CLI::App& app);

  const std::string& file() const { return inputs_.texts[0]; }
  std::string index_file() const { return file() + ".trivium-index"; }

  absl::Status ReadLines() {
    const absl::StatusOr<std::string> bytes = ReadFile(file());
    if (!bytes.ok()) {
      return IoError("read", file().c_str(),
                     std::string(bytes.status().message()));
    }
    uint64_t number = 0;
    for (std::string line :
         std::vector<std::string>(absl::StrSplit(*bytes, '\n'))) {
      number += 1;
      absl::StripAsciiWhitespace(&line);
      if (!line.empty()) lines_.push_back({number, std::move(line)});
    }
    return lines_.empty() ? absl::InvalidArgumentError(
                                fmt::format("{} has no line", file()))
                          : absl::OkStatus();
  }

  // Makes index_ hold every line, and keeps what it has beside the file, also
  // if a line is refused.
  absl::Status Fill(const SearchIndex::Header& header, Client& client,
                    const Io& io) {
    if (const auto bytes = ReadFile(index_file(), kMostIndexBytes);
        bytes.ok()) {
      index_ = SearchIndex::Parse(*bytes, header);
    }
    if (!index_) index_.emplace(header);
    std::vector<const Line*> missing;
    std::set<std::string_view> texts;
    for (const Line& line : lines_) {
      const bool first = texts.insert(line.text).second;
      if (first && index_->Find(line.text) == nullptr) missing.push_back(&line);
    }
    if (missing.empty()) return absl::OkStatus();
    const absl::Status status = EncodeLines(missing, client, io);
    if (!keep_index_) return status;
    index_->KeepOnly(texts);
    // A search without its index is slower, but it answers.
    if (const absl::Status written = WriteIndex(); !written.ok()) {
      Output(io, /*keep_newlines=*/false, nullptr)
          .Complain(fmt::format("the next search encodes all lines again: {}",
                                std::string(written.message())));
    }
    return status;
  }

  absl::Status EncodeLines(const std::vector<const Line*>& lines,
                           Client& client, const Io& io) {
    std::optional<Progress> progress;
    if (isatty(fileno(io.err)) == 1) progress.emplace(io.err, Clock::Real());
    for (size_t done = 0; done < lines.size();) {
      const auto some = std::span(lines).subspan(done).first(
          std::min(kLinesOfCall, lines.size() - done));
      v1::EncodeRequest request = request_;
      request.set_kind(v1::TEXT_KIND_DOCUMENT);
      for (const Line* line : some) request.add_inputs()->set_text(line->text);
      const absl::StatusOr<v1::EncodeResponse> response =
          client.Encode(request);
      if (!response.ok()) {
        return absl::Status(
            response.status().code(),
            fmt::format("lines {} to {} of {}: {}", some.front()->number,
                        some.back()->number, file(),
                        std::string(response.status().message())));
      }
      for (size_t i = 0; i < some.size(); ++i) {
        if (i >= static_cast<size_t>(response->results_size()) ||
            KindOf(response->results(static_cast<int>(i))) !=
                index_->header().kind) {
          return absl::InternalError(
              "the server gave other embeddings than were asked for");
        }
        index_->Add(some[i]->text, response->results(static_cast<int>(i)));
      }
      done += some.size();
      if (progress) {
        progress->Show(static_cast<double>(done) / lines.size(),
                       static_cast<int64_t>(done));
      }
    }
    return absl::OkStatus();
  }

  // Another search may read the file meanwhile.
  absl::Status WriteIndex() const {
    const std::string part = fmt::format("{}.{}", index_file(), getpid());
    absl::Status status = WriteFile(part, index_->ToBytes());
    std::error_code error;
    if (status.ok()) std::filesystem::rename(part, index_file(), error);
    if (error) {
      status = IoError("write", index_file().c_str(), error.message());
    }
    if (!status.ok()) std::filesystem::remove(part, error);
    return status;
  }

  // Leaves the best `most`, best first; of equal lines, the first in the file.
  static void Shorten(size_t most, std::vector<Found>* found) {
    std::stable_sort(
        found->begin(), found->end(),
        [](const Found& a, const Found& b) { return a.score > b.score; });
    if (found->size() > most) found->resize(most);
  }

  absl::Status Rerank(const std::string& query, Client& client,
                      std::vector<Found>* found) {
    v1::RerankRequest request;
    request.set_model(reranker_);
    request.set_query(query);
    request.set_truncate(true);
    for (const Found& each : *found) {
      request.add_documents(lines_[each.line].text);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::RerankResponse response,
                             client.Rerank(request));
    std::vector<Found> sorted;
    for (const v1::RerankResponse::Document& document : response.documents()) {
      if (document.index() >= found->size()) {
        return absl::InternalError(
            "the server ranks a line that it was not given");
      }
      sorted.push_back({(*found)[document.index()].line, document.score()});
    }
    *found = std::move(sorted);
    Shorten(top_, found);
    return absl::OkStatus();
  }

  absl::Status Print(const std::vector<Found>& found, const Io& io) const {
    Output output(io, /*keep_newlines=*/false, nullptr);
    for (const Found& each : found) {
      const Line& line = lines_[each.line];
      const std::string shown =
          json_ ? nlohmann::ordered_json{{"line", line.number},
                                         {"score", each.score},
                                         {"text", line.text}}
                      .dump(-1, ' ', false,
                            nlohmann::json::error_handler_t::replace)
                : fmt::format("{:.4f}\t{}\t{}", each.score, line.number,
                              line.text);
      TRIVIUM_RETURN_IF_ERROR(output.Line(shown));
    }
    return absl::OkStatus();
  }

  InputFlags inputs_;
  v1::EncodeRequest request_;
  std::string reranker_;
  size_t top_ = 10;
  bool keep_index_ = true;
  bool json_ = false;
  std::vector<Line> lines_;
  std::optional<SearchIndex> index_;
};

}  // namespace

Subcommand AddSearch(CLI::App& app) {
  auto command = std::make_unique<SearchCommand>();
  CLI::App* sub = app.add_subcommand(
      "search",
      "Finds the lines of a file that answer a query: trivium search [flags] "
      "FILE QUERY");
  AddModelFlag(*sub, command->request_.mutable_model());
  command->request_.set_truncate(true);
  sub->add_option("--top", command->top_, "How many lines to show; default: 10")
      ->check(CLI::Range(1, 1000));
  sub->add_option("--rerank", command->reranker_,
                  "A reranker, by name, that sorts the best lines again");
  sub->add_flag("--index,!--no-index", command->keep_index_,
                "Keep the lines' embeddings in FILE.trivium-index; default: "
                "yes");
  sub->add_flag("--json", command->json_,
                "One JSON object a line: line, score, text");
  return {sub, std::move(command)};
}

}  // namespace trivium
