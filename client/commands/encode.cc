#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "client/commands/batches.h"
#include "client/commands/command.h"
#include "client/commands/embeddings.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Returns the numbers, separated by spaces. Nine digits suffice to restore
// every float.
template <typename Numbers>
std::string ToText(const Numbers& numbers) {
  return fmt::format("{:.9g}", fmt::join(numbers.begin(), numbers.end(), " "));
}

// Reads "BEGIN:END"; unset if the text is something else.
std::optional<std::pair<uint32_t, uint32_t>> ParseSpan(std::string_view text) {
  const size_t colon = text.find(':');
  std::pair<uint32_t, uint32_t> span;
  if (colon == std::string_view::npos ||
      !absl::SimpleAtoi(std::string(text.substr(0, colon)), &span.first) ||
      !absl::SimpleAtoi(std::string(text.substr(colon + 1)), &span.second)) {
    return std::nullopt;
  }
  return span;
}

// Prints an embedding a line, its numbers separated by spaces; or the tokens
// and weights of a sparse one; or the vectors of a multi-vector, a line each
// behind their tokens, and an empty line; or, when all are known, each text's
// similarity to every text; or the embeddings of its chunks, a line each.
class EncodeCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    Output output(io, /*keep_newlines=*/false, nullptr);
    const absl::Status status = CallInBatches(
        *source, output,
        [&](const std::vector<v1::Input>& inputs) -> absl::Status {
          v1::EncodeRequest request = request_;
          request.mutable_inputs()->Add(inputs.begin(), inputs.end());
          if (chunks_.spans_size() > 0) {
            for (size_t i = 0; i < inputs.size(); ++i) {
              *request.add_chunks() = chunks_;
            }
          }
          TRIVIUM_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                                   client.Encode(request));
          for (const v1::EncodeResult& result : response.results()) {
            TRIVIUM_RETURN_IF_ERROR(Emit(result, output));
          }
          return absl::OkStatus();
        },
        [&](const absl::Status& failure) {
          if (!similarity_) return output.Failure(failure, json_);
          results_.emplace_back();  // empty: its similarity to any text is 0
          return absl::OkStatus();
        });
    for (const v1::EncodeResult& one : results_) {
      std::string line;
      for (const v1::EncodeResult& other : results_) {
        line += fmt::format("{}{:.4f}", line.empty() ? "" : " ",
                            Cosine(EmbeddingOf(one), EmbeddingOf(other)));
      }
      TRIVIUM_RETURN_IF_ERROR(output.Line(line));
    }
    return status;
  }

 private:
  friend Subcommand trivium::AddEncode(CLI::App& app);

  absl::Status Emit(const v1::EncodeResult& result, Output& output) {
    if (similarity_) {
      results_.push_back(result);
      return absl::OkStatus();
    }
    if (json_) return output.Json(result);
    if (chunks_.spans_size() > 0) {
      for (const v1::Chunk& chunk : result.chunks()) {
        TRIVIUM_RETURN_IF_ERROR(output.Line(ToText(chunk.embedding())));
      }
      return absl::OkStatus();
    }
    if (result.has_sparse()) {
      TRIVIUM_RETURN_IF_ERROR(EmitSparse(result.sparse(), output));
    }
    if (result.has_multi_vector()) return EmitRows(result, output);
    return result.has_sparse() ? absl::OkStatus()
                               : output.Line(ToText(result.embedding()));
  }

  static absl::Status EmitSparse(const v1::SparseEmbedding& sparse,
                                 Output& output) {
    std::string line;
    for (int i = 0; i < sparse.ids_size(); ++i) {
      line +=
          fmt::format("{}{}:{:.4f}", line.empty() ? "" : " ",
                      i < sparse.tokens_size() ? sparse.tokens(i)
                                               : std::to_string(sparse.ids(i)),
                      sparse.weights(i));
    }
    return output.Line(line);
  }

  static absl::Status EmitRows(const v1::EncodeResult& result, Output& output) {
    const v1::MultiVector& rows = result.multi_vector();
    const auto size = static_cast<size_t>(rows.size());
    for (int i = 0; i < static_cast<int>(rows.row_count()); ++i) {
      std::string line;
      if (i < rows.positions_size() &&
          static_cast<int>(rows.positions(i)) < result.pieces_size()) {
        line = result.pieces(static_cast<int>(rows.positions(i))) + " ";
      }
      if ((i + 1) * size <= static_cast<size_t>(rows.values_size())) {
        line += ToText(std::span(rows.values().data() + i * size, size));
      }
      TRIVIUM_RETURN_IF_ERROR(output.Line(line));
    }
    return output.Line("");
  }

  InputFlags inputs_;
  v1::EncodeRequest request_;
  v1::Chunks chunks_;                      // of each text
  std::vector<v1::EncodeResult> results_;  // with --similarity
  bool similarity_ = false;
  bool json_ = false;
};

}  // namespace

Subcommand AddEncode(CLI::App& app) {
  auto command = std::make_unique<EncodeCommand>();
  CLI::App* sub = app.add_subcommand(
      "encode", "Texts to vectors: trivium encode [flags] [TEXT...]");
  v1::EncodeRequest* request = &command->request_;
  AddModelFlag(*sub, request->mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/true, /*target_prefix=*/false);
  AddJsonFlag(*sub, &command->json_);
  AddTextFlags(*sub, request);
  sub->add_flag("--similarity", command->similarity_,
                "Each text's cosine to every text, a line each")
      ->excludes("--json");
  sub->add_option_function<std::string>(
         "--pooling",
         [request](const std::string& name) {
           const std::map<std::string, v1::Pooling> names = {
               {"mean", v1::POOLING_MEAN},     {"cls", v1::POOLING_CLS},
               {"last", v1::POOLING_LAST},     {"max", v1::POOLING_MAX},
               {"pooler", v1::POOLING_POOLER}, {"none", v1::POOLING_NONE}};
           request->set_pooling(names.at(name));
         },
         "mean, cls, last, max, pooler or none")
      ->check(CLI::IsMember({"mean", "cls", "last", "max", "pooler", "none"}));
  AddPromptFlags(*sub, request);
  sub->add_flag_function(
         "--sparse",
         [request](int64_t) {
           request->add_outputs(v1::ENCODE_OUTPUT_SPARSE);
           request->set_tokens(true);
         },
         "Print the tokens and weights of a sparse embedding")
      ->excludes("--similarity", "--pooling");
  sub->add_flag_function(
         "--multi-vector",
         [request](int64_t) {
           request->add_outputs(v1::ENCODE_OUTPUT_MULTI_VECTOR);
           request->set_tokens(true);
         },
         "Print a vector for each token, a line each")
      ->excludes("--similarity", "--pooling");
  sub->add_option_function<uint32_t>(
         "--max-rows",
         [request](uint32_t count) {
           request->mutable_multi_vector()->set_max_rows(count);
         },
         "Merge the vectors of --multi-vector until so many are left")
      ->group(kMoreFlags);
  sub->add_option_function<std::string>(
         "--kind",
         [request](const std::string& name) {
           request->set_kind(name == "query" ? v1::TEXT_KIND_QUERY
                                             : v1::TEXT_KIND_DOCUMENT);
         },
         "query or document: the texts begin with that prompt, and the model's "
         "part for them reads them")
      ->check(CLI::IsMember({"query", "document"}))
      ->group(kMoreFlags);
  sub->add_option_function<uint32_t>(
         "--top-k",
         [request](uint32_t count) {
           request->mutable_sparse()->set_top_k(count);
         },
         "Only so many weights of a sparse embedding, the largest")
      ->group(kMoreFlags);
  sub->add_flag_function(
      "--normalize,!--no-normalize",
      [request](int64_t count) { request->set_normalize(count > 0); },
      "Scale to length 1; default: the folder's, or yes");
  sub->add_flag_function(
      "--token-vectors,!--no-token-vectors",
      [request](int64_t count) { request->set_token_vectors(count > 0); },
      "Return the vector of every token, in --json");
  v1::Chunks* chunks = &command->chunks_;
  chunks->set_unit(v1::TEXT_UNIT_CHARACTER);
  sub->add_option_function<std::string>(
         "--chunk",
         [chunks](const std::string& text) {
           const std::optional<std::pair<uint32_t, uint32_t>> span =
               ParseSpan(text);
           if (!span) {
             throw CLI::ValidationError(
                 "--chunk", "'" + text + "' is not BEGIN:END, as 0:120");
           }
           v1::Chunks::Span* const added = chunks->add_spans();
           added->set_begin(span->first);
           added->set_end(span->second);
         },
         "BEGIN:END, in characters: print the embeddings of such parts of each "
         "text, which the model reads as a whole (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->excludes("--similarity", "--sparse", "--multi-vector")
      ->group(kMoreFlags);
  sub->add_option_function<int>(
         "--hidden-layer",
         [request](int layer) { request->add_hidden_layers(layer); },
         "Return hidden states, in --json: 0 the embeddings, -1 the last layer "
         "(repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse()
      ->group(kMoreFlags);
  AddAttentionFlags(*sub, "--attention",
                    [request] { return request->mutable_attention(); });
  return {sub, std::move(command)};
}

}  // namespace trivium
