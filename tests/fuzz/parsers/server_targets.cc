#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "internal/completions.pb.h"
#include "kserve/open_inference.pb.h"
#include "nlohmann/json.hpp"
#include "server/adapters/codec.h"
#include "server/adapters/form_body.h"
#include "server/adapters/kserve/parameters.h"
#include "server/adapters/kserve/tensors.h"
#include "server/documents/document.h"
#include "server/documents/document_segment.h"
#include "server/limits/access.h"
#include "server/tracing/trace_context.h"
#include "server/translation/emoji.h"
#include "server/translation/glossary.h"
#include "server/translation/invisible_characters.h"
#include "server/translation/language_tags.h"
#include "server/translation/mark_borders.h"
#include "server/translation/markup.h"
#include "server/translation/protected_spans.h"
#include "server/translation/text_edits.h"
#include "server/transports/grpc/http2_guard.h"
#include "server/transports/grpc/relayed_refusal.h"
#include "server/transports/grpc/wire.h"
#include "server/transports/http/http1_guard.h"
#include "server/transports/http/routes.h"
#include "tests/fuzz/parsers/targets.h"
#include "tests/model/weights/weight_files.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

// Takes the next byte off the front; 0 where there is none.
uint8_t TakeByte(std::string_view* bytes) {
  if (bytes->empty()) return 0;
  const auto byte = static_cast<uint8_t>(bytes->front());
  bytes->remove_prefix(1);
  return byte;
}

// What gRPC would see: frames that are whole in themselves, whose header blocks
// can be read without what came before.
class GrpcsView {
 public:
  void Read(std::string_view bytes) {
    while (!bytes.empty()) {
      if (preface_ > 0) {
        --preface_;
        bytes.remove_prefix(1);
        continue;
      }
      const std::string_view before = bytes;
      const bool in_payload = reader_.payload() > 0;
      const bool head = reader_.Read(&bytes);
      if (in_payload && IsBlock()) {
        block_.append(before.substr(0, before.size() - bytes.size()));
      }
      if (head) OnHead();
      if (!reader_.between() || !in_block_ || !IsBlock()) continue;
      if ((reader_.head().flags & kEndHeaders) == 0) continue;
      HeaderReader fields;
      Ensure(fields.Read(block_, 4 * Http2Guard::kMaxFieldBytes).ok(),
             "a header block can be read");
      in_block_ = false;
    }
  }

 private:
  bool IsBlock() const {
    return reader_.head().type == kHeaders ||
           reader_.head().type == kContinuation;
  }
  void OnHead() {
    const FrameHead& head = reader_.head();
    Ensure((head.type == kContinuation) == in_block_,
           "nothing comes within a header block");
    if (head.type != kHeaders) return;
    Ensure((head.flags & (kPadded | kPrioritized)) == 0, "headers are bare");
    in_block_ = true;
    block_.clear();
  }

  size_t preface_ = 24;
  FrameReader reader_;
  bool in_block_ = false;
  std::string block_;
};

// Pieces of a connection, each after a byte that says which side it is of and
// how long it is.
void RunHttp2Guard(std::string_view bytes) {
  constexpr int kMaxStreams = 3;
  static Metrics* const metrics = new Metrics(1);
  static OverloadManager* const overload =
      new OverloadManager({.limit_bytes = 1 << 30,
                           .memory = [] { return int64_t{0}; },
                           .trim = [] {}},
                          metrics, /*watch=*/false);
  IncomingMessages incoming(overload, metrics, 8 << 20, "no room");
  ResetStreams resets;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  BareCalls bare_calls(now);
  Http2Guard guard(
      kMaxStreams, now, &resets, &bare_calls, &incoming,
      [](HeaderFields* fields, bool may_refuse) -> Http2Guard::Judgement {
        if (!may_refuse || FindField(*fields, "te").empty()) return {};
        return {.refusal = WriteFields({{"grpc-status", "8"}})};
      });
  GrpcsView grpc;
  std::string from_client, to_client;
  while (!bytes.empty()) {
    const uint8_t kind = TakeByte(&bytes);
    const std::string_view piece = bytes.substr(0, (kind & 0x7f) * 4 + 1);
    bytes.remove_prefix(piece.size());
    if ((kind & 0x80) != 0) {
      guard.OnServer(piece, &to_client);
      continue;
    }
    from_client += piece;
    std::string to_grpc;
    now += absl::Seconds(1);
    const absl::StatusOr<size_t> taken =
        guard.OnClient(from_client, now, &to_grpc);
    grpc.Read(to_grpc);
    if (!taken.ok()) return;
    Ensure(*taken <= from_client.size(), "it takes what there is");
    Ensure(guard.open_streams() <= kMaxStreams, "streams are bounded");
    from_client.erase(0, *taken);
  }
}

// The first byte says which message the rest is.
void RunMessages(std::string_view bytes) {
  using google::protobuf::Message;
  static const Message* const kMessages[] = {
      &v1::EncodeRequest::default_instance(),
      &v1::TranslateRequest::default_instance(),
      &v1::TranslateStreamRequest::default_instance(),
      &v1::GenerateRequest::default_instance(),
      &v1::TokenizeRequest::default_instance(),
      &v1::RerankRequest::default_instance(),
      &v1::AnswerRequest::default_instance(),
      &v1::EncodeStreamRequest::default_instance(),
  };
  const uint8_t kind = TakeByte(&bytes);
  const std::unique_ptr<Message> message(
      kMessages[kind % std::size(kMessages)]->New());
  const grpc::Slice slice(bytes.data(), bytes.size());
  const grpc::ByteBuffer buffer(&slice, 1);
  if (ParseMessage(buffer, 1 << 20, message.get()).ok()) {
    Ensure(SerializeMessage(*message).Length() == message->ByteSizeLong(),
           "a message has the bytes that it says");
  } else if (const auto id = FindItemId(buffer)) {
    Ensure(id->size() <= bytes.size(), "an id is a part of its message");
  }
}

// A connection's bytes, which the guard gets at once, and in pieces whose sizes
// the first byte says: it lets the same pass. What passes it passes again as it
// is.
void RunHttp1Guard(std::string_view bytes) {
  constexpr size_t kMaxHead = 256;
  const size_t most = 1 + TakeByte(&bytes) % 16;
  Http1Guard whole(kMaxHead), pieces(kMaxHead), again(kMaxHead);
  const std::string passed = whole.Pass(bytes);
  std::string joined;
  for (size_t i = 0; i < bytes.size(); i += most) {
    joined += pieces.Pass(bytes.substr(i, most));
  }
  Ensure(joined == passed, "the sizes of pieces do not matter");
  // The guard's own headers may come from nobody else.
  for (const char* const own : {kRefusedHeader, kQueryHeader}) {
    if (passed.find(own) != passed.npos) return;
  }
  Ensure(again.Pass(passed) == passed, "what passes is valid");
}

// A request of KServe's.
void RunKserve(std::string_view bytes) {
  constexpr int kMaxTexts = 64;
  inference::ModelInferRequest request;
  const grpc::Slice slice(bytes.data(), bytes.size());
  if (!ParseMessage(grpc::ByteBuffer(&slice, 1), 1 << 20, &request).ok()) {
    return;
  }
  v1::TranslateRequest translate;
  SetOptions(request.parameters(), &translate).IgnoreError();
  const auto texts = TakeTexts(&request, kMaxTexts);
  if (!texts.ok()) return;
  Ensure(!texts->empty() && texts->size() <= kMaxTexts, "texts are bounded");
  for (const std::string& text : *texts) {
    Ensure(IsUtf8(text) && text.size() <= bytes.size(),
           "a text is a part of its message");
  }
}

// A body of a call over HTTP: the first byte says which route it comes by, the
// second how it is written.
void RunHttpBody(std::string_view bytes) {
  using google::protobuf::DescriptorPool;
  using google::protobuf::MessageFactory;
  static auto* const kept_files = new KeptFiles({}, Clock::Real());
  static auto* const glossaries = new GlossaryStore({}, Clock::Real());
  static const Environment* const environment = [] {
    auto* const made = new Environment;
    made->kept_files = kept_files;
    made->glossaries = glossaries;
    return made;
  }();
  const std::span<const Route> routes = Routes();
  const Route& route = routes[TakeByte(&bytes) % routes.size()];
  const bool json = TakeByte(&bytes) % 2 == 0;
  std::string type = route.stream != nullptr && route.path.starts_with("/tri")
                         ? "application/connect+"
                         : "application/";
  type += json ? "json" : "proto";
  const RequestHead head = {
      .method = std::string(route.method),
      .path = std::string(route.path),
      .header = [&type](const char* name) {
        return std::string_view(name) == "Content-Type" ? type : "";
      }};
  std::string method(RpcMethod(route.rpc));
  std::replace(method.begin(), method.end(), '/', '.');
  const auto* type_of_request =
      DescriptorPool::generated_pool()->FindMethodByName(method)->input_type();
  // A request of several prompts is several of the call's. The tokens of a
  // prompt are counted as Generate would read it.
  if (route.path == "/v1/completions") {
    type_of_request = internal::Completions::descriptor();
  } else if (route.path == "/v1/messages/count_tokens") {
    type_of_request = v1::GenerateRequest::descriptor();
  }
  const std::unique_ptr<google::protobuf::Message> request(
      MessageFactory::generated_factory()
          ->GetPrototype(type_of_request)
          ->New());
  const std::unique_ptr<Codec> codec = route.codec(*environment, head);
  if (!codec->Check(head).ok()) return;
  const absl::Status status = codec->Read(bytes, request.get());
  if (status.ok()) {
    Ensure(request->IsInitialized(), "a request is whole");
    return;
  }
  const auto answer = codec->Finish({status, "id"}, nullptr);
  Ensure(nlohmann::json::accept(answer.body) || codec->streams(),
         "an error is JSON");
}

void RunTokens(std::string_view bytes) {
  static const TemporaryFolder* const folder = new TemporaryFolder;
  folder->Write("tokens.json", bytes);
  const auto access = Access::Load(folder->path() + "/tokens.json",
                                   Clock::Real(), absl::Hours(1));
  if (!access.ok()) return;
  Ensure(!(*access)->Find("Bearer none").ok(), "nobody knows this token");
}

// A traceparent and, in the next line, a tracestate.
void RunTraceparent(std::string_view bytes) {
  const std::string_view parent = bytes.substr(0, bytes.find('\n'));
  bytes.remove_prefix(std::min(bytes.size(), parent.size() + 1));
  const auto context = ParseTraceContext(parent, bytes);
  Ensure(!context ||
             (context->trace_id.size() == 16 && context->span_id.size() == 8),
         "ids have their sizes");
}

// Lines: a pattern, a term of a glossary, a text.
void RunProtect(std::string_view bytes) {
  if (!IsUtf8(bytes)) return;
  const auto next_line = [&bytes] {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
    return std::string(line);
  };
  const std::string pattern = next_line().substr(0, 512);
  const std::string term = next_line().substr(0, 256);
  const auto ascend = [bytes](const auto& found, auto span_of) {
    size_t end = 0;
    for (const auto& one : found) {
      const TextSpan span = span_of(one);
      Ensure(end <= span.begin && span.begin < span.end &&
                 span.end <= bytes.size(),
             "spans are apart, and in the text");
      end = span.end;
    }
  };
  const auto spans = ProtectedSpans::Create(
      {ProtectedKind::kPrintf, ProtectedKind::kIcuMessage,
       ProtectedKind::kMustache, ProtectedKind::kUrl, ProtectedKind::kEmail,
       ProtectedKind::kFileName, ProtectedKind::kNumberWithUnit,
       ProtectedKind::kField, ProtectedKind::kIcuChoice, ProtectedKind::kPhone,
       ProtectedKind::kMeasure},
      {pattern});
  if (spans.ok() && IsUtf8(pattern)) {
    const auto found = spans->Find(bytes, nullptr);
    if (found.ok()) ascend(*found, [](TextSpan span) { return span; });
  }
  if (!IsUtf8(term)) return;
  const Glossary glossary({{term}}, "en", /*inflections=*/true);
  ascend(*glossary.Find(bytes, nullptr),
         [](const Glossary::Match& match) { return match.span; });
}

// Returns edits as the text stages make them.
std::vector<TextEdit> StageEdits(std::string_view text) {
  std::vector<TextEdit> edits;
  for (const TextSpan& span : NeedlessInvisibleCharacters(text)) {
    edits.push_back({span});
  }
  for (const TextSpan& span : UnusualSpaces(text)) {
    edits.push_back({span, " "});
  }
  std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
    return a.span.begin < b.span.begin;
  });
  return edits;
}

// A text, which need not be UTF-8.
void RunTextStages(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::string_view rest = bytes.substr(at);
    Ensure(EmojiSize(rest) <= EmojiRowSize(rest) &&
               EmojiRowSize(rest) <= rest.size(),
           "emoji are in the text");
    if (at > 4096) break;
  }
  const EditedText edited(std::string(bytes), StageEdits(bytes));
  size_t end = 0;
  for (size_t at = 0; at < edited.text().size(); ++at) {
    const TextSpan span = edited.InOriginal({at, at + 1});
    Ensure(end <= span.end && span.begin < span.end && span.end <= bytes.size(),
           "bytes of the original ascend");
    end = span.begin;
  }
  end = 0;
  for (const TextSpan& part : CutAtMarks(bytes, {0, bytes.size()})) {
    Ensure(
        end <= part.begin && part.begin <= part.end && part.end <= bytes.size(),
        "parts are apart, and in the text");
    end = part.end;
  }
  for (const bool xml : {false, true}) {
    const EditedText tags(std::string(bytes),
                          LanguageTagEdits(bytes, xml, "en", "de"));
    Ensure(LanguageTagEdits(tags.text(), xml, "en", "de").empty(),
           "language tags are edited once");
  }
}

// A text with markup, whose lines are translated to themselves.
void RunMarkup(MarkupFormat format, std::string_view bytes) {
  if (!IsUtf8(bytes)) return;
  absl::StatusOr<Markup> markup = Markup::Parse(format, std::string(bytes));
  if (!markup.ok()) return;
  markup->Edit(StageEdits(markup->plain()));
  const std::string_view plain = markup->plain();
  std::string out;
  size_t at = 0;
  for (size_t begin = 0; begin < plain.size();) {
    const size_t end = std::min(plain.find('\n', begin), plain.size());
    const TextSpan span = WithoutWhiteSpace(plain, {begin, end});
    begin = end + 1;
    if (span.begin == span.end) continue;
    const Markup::Sentence sentence = markup->In(span);
    Ensure(at <= sentence.source.begin &&
               sentence.source.begin <= sentence.source.end &&
               sentence.source.end <= bytes.size(),
           "sentences are apart, and in the text");
    size_t last = span.begin;
    for (const TextSpan& link : markup->LinksOf(span)) {
      Ensure(
          last <= link.begin && link.begin < link.end && link.end <= span.end,
          "links are apart, and in the sentence");
      last = link.end;
    }
    std::vector<AlignedWords> words;
    for (size_t i = span.begin; i < span.end; ++i) {
      words.push_back({{i - span.begin, i - span.begin + 1}, {i, i + 1}, 1.0f});
    }
    out += bytes.substr(at, sentence.source.begin - at);
    out += markup->Place(sentence, span.Of(plain), words);
    at = sentence.source.end;
  }
  out += bytes.substr(at);
  const absl::StatusOr<Markup> again = Markup::Parse(format, out);
  Ensure(format != MarkupFormat::kXml || again.ok(),
         "what comes of well-formed XML is so, too");
}
void RunHtml(std::string_view bytes) { RunMarkup(MarkupFormat::kHtml, bytes); }
void RunXml(std::string_view bytes) { RunMarkup(MarkupFormat::kXml, bytes); }
void RunMarkdown(std::string_view bytes) {
  RunMarkup(MarkupFormat::kMarkdown, bytes);
}

// The first line is the format's name, perhaps with " +": with its options.
void RunDocuments(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const bool more = line.ends_with(" +");
  const std::string_view name = line.substr(0, line.size() - (more ? 2 : 0));
  const DocumentFormat* const format = FindDocumentFormat(name);
  if (format == nullptr) return;
  bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
  DocumentOptions options;
  options.retranslate = options.mark_fuzzy = options.keys = more;
  options.no_header = more;
  if (more) options.encoding = "latin-1";
  const auto document = format->read(bytes, options);
  if (!document.ok()) return;
  const auto segments = (*document)->segments();
  std::vector<std::optional<std::string>> translations(segments.size());
  const auto same = (*document)->Render(translations);
  // Those three fill texts in.
  if (name != "po" && name != "xliff" && name != "ts") {
    Ensure(same.ok() && *same == bytes, "all that is not translated stays");
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentText& sent = segments[i]->sent;
    Ensure(IsUtf8(sent.text), "texts are UTF-8");
    Ensure(segments[i]->Parts(sent.text).ok(), "marks are whole");
    translations[i] = "<\"a\\ " + sent.text;
    if (!segments[i]->Parts(*translations[i]).ok()) translations[i].reset();
  }
  (void)(*document)->Render(translations);
}

// The first line is the type, which has the boundary.
void RunForm(std::string_view bytes) {
  const std::string_view type = bytes.substr(0, bytes.find('\n'));
  bytes.remove_prefix(std::min(bytes.size(), type.size() + 1));
  const auto fields = ParseForm(type, bytes);
  if (!fields.ok()) return;
  size_t size = 0;
  for (const FormField& field : *fields) {
    size += field.name.size() + field.value.size();
    Ensure(field.file_name || IsUtf8(field.value), "values are UTF-8");
  }
  Ensure(size <= bytes.size(), "fields are of the body");
}

void RunTimeout(std::string_view bytes) {
  const std::optional<absl::Duration> timeout = ParseTimeout(bytes);
  Ensure(!timeout || *timeout >= absl::ZeroDuration(),
         "a time to come is not past");
}

}  // namespace

std::span<const FuzzTarget> ServerTargets() {
  static constexpr FuzzTarget kTargets[] = {
      {"http2_guard", RunHttp2Guard},
      {"messages", RunMessages},
      {"kserve", RunKserve},
      {"timeout", RunTimeout},
      {"http1_guard", RunHttp1Guard},
      {"http_body", RunHttpBody},
      {"tokens", RunTokens},
      {"traceparent", RunTraceparent},
      {"protect", RunProtect},
      {"text_stages", RunTextStages},
      {"documents", RunDocuments},
      {"form", RunForm},
      {"html", RunHtml},
      {"xml", RunXml},
      {"markdown", RunMarkdown},
  };
  return kTargets;
}

}  // namespace trivium
