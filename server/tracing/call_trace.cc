#include "server/tracing/call_trace.h"

#include <algorithm>
#include <array>
#include <utility>

namespace trivium {
namespace {

using opentelemetry::Span;

constexpr char kTokenizePhase[] = "tokenize";

opentelemetry::AnyValue* Attribute(const char* key, Span* span) {
  opentelemetry::KeyValue* attribute = span->add_attributes();
  attribute->set_key(key);
  return attribute->mutable_value();
}

void AddText(const char* key, std::string_view value, Span* span) {
  Attribute(key, span)->set_string_value(value.data(), value.size());
}

void AddCount(const char* key, int64_t value, Span* span) {
  Attribute(key, span)->set_int_value(value);
}

// True for the codes that the conventions count as errors of a server's span;
// the other codes are the client's errors.
bool IsServersError(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// The conventions' well-known name for the call; empty if none fits.
std::string_view OperationName(Rpc rpc) {
  if (rpc == Rpc::kEncode || rpc == Rpc::kEncodeStream ||
      rpc == Rpc::kSimilarity) {
    return "embeddings";
  }
  return rpc == Rpc::kGenerate ? "text_completion" : "";
}

}  // namespace

void CallTrace::Interval::Add(absl::Time from, absl::Time to) {
  begin = std::min(begin, from);
  end = std::max(end, to);
}

class CallTrace::Round : public PhaseListener {
 public:
  Round(size_t requests, const Interval& tokenizing)
      : requests_(requests), tokenizing_(tokenizing) {}

  void OnPhase(RequestPhase phase, absl::Time begin, absl::Time end) override {
    MutexLock lock(&mutex_);
    phases_[static_cast<size_t>(phase)].Add(begin, end);
  }

  void AddSpans(const CallTrace& trace, std::vector<Span>* spans) {
    trace.AddPhase(kTokenizePhase, tokenizing_, requests_, spans);
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < phases_.size(); ++i) {
      trace.AddPhase(PhaseName(static_cast<RequestPhase>(i)), phases_[i],
                     requests_, spans);
    }
  }

 private:
  const size_t requests_;
  const Interval tokenizing_;
  Mutex mutex_;
  std::array<Interval, kRequestPhases> phases_ ABSL_GUARDED_BY(mutex_);
};

CallTrace::CallTrace(const std::optional<TraceContext>& parent,
                     absl::Time started)
    : trace_id_(parent ? parent->trace_id : NewTraceId()),
      parent_id_(parent ? parent->span_id : ""),
      state_(parent ? parent->state : ""),
      span_id_(NewSpanId()),
      started_(started) {}

void CallTrace::AddTokenizing(absl::Time begin, absl::Time end) {
  MutexLock lock(&mutex_);
  tokenizing_.Add(begin, end);
}

std::shared_ptr<PhaseListener> CallTrace::NewRound(size_t requests) {
  MutexLock lock(&mutex_);
  const Interval tokenizing = std::exchange(tokenizing_, {});
  if (rounds_.size() == kMostRounds) {
    ++left_out_;
    return nullptr;
  }
  rounds_.push_back(std::make_shared<Round>(requests, tokenizing));
  return rounds_.back();
}

std::vector<Span> CallTrace::End(const TracedEnding& ending, absl::Time now) {
  std::vector<Span> spans = {CallSpan(ending, now)};
  MutexLock lock(&mutex_);
  if (left_out_ > 0) {
    AddCount("trivium.rounds_without_spans", left_out_, &spans.front());
  }
  for (const std::shared_ptr<Round>& round : rounds_) {
    round->AddSpans(*this, &spans);
  }
  // Texts that were tokenized but never submitted.
  AddPhase(kTokenizePhase, tokenizing_, 0, &spans);
  return spans;
}

Span CallTrace::NewSpan(std::string_view name, absl::Time begin,
                        absl::Time end) const {
  Span span;
  span.set_trace_id(trace_id_);
  span.set_trace_state(state_);
  span.set_flags(kSampledFlag);
  span.set_name(name.data(), name.size());
  span.set_start_time_unix_nano(
      static_cast<uint64_t>(absl::ToUnixNanos(begin)));
  span.set_end_time_unix_nano(static_cast<uint64_t>(absl::ToUnixNanos(end)));
  return span;
}

void CallTrace::AddPhase(std::string_view name, const Interval& interval,
                         size_t requests, std::vector<Span>* spans) const {
  if (interval.empty()) return;
  Span& span = spans->emplace_back(NewSpan(name, interval.begin, interval.end));
  span.set_span_id(NewSpanId());
  span.set_parent_span_id(span_id_);
  span.set_kind(Span::SPAN_KIND_INTERNAL);
  if (requests > 0) {
    AddCount("trivium.requests", static_cast<int64_t>(requests), &span);
  }
}

Span CallTrace::CallSpan(const TracedEnding& ending, absl::Time now) const {
  const std::string_view method = RpcMethod(ending.rpc);
  Span span = NewSpan(method, started_, now);
  span.set_span_id(span_id_);
  span.set_parent_span_id(parent_id_);
  span.set_kind(Span::SPAN_KIND_SERVER);
  AddText("rpc.method", method, &span);
  if (ending.http_method.empty()) {
    AddText("rpc.system.name", "grpc", &span);
  } else {
    std::string name(ending.http_method);
    name += ' ';
    name += ending.http_route;
    span.set_name(std::move(name));
    AddText("http.request.method", ending.http_method, &span);
    AddText("http.route", ending.http_route, &span);
    AddCount("http.response.status_code", ending.http_status, &span);
  }
  const std::string code = absl::StatusCodeToString(ending.code);
  AddText("rpc.response.status_code", code, &span);
  if (IsServersError(ending.code)) {
    AddText("error.type", code, &span);
    span.mutable_status()->set_code(opentelemetry::Status::STATUS_CODE_ERROR);
  }
  if (const std::string_view name = OperationName(ending.rpc); !name.empty()) {
    AddText("gen_ai.operation.name", name, &span);
  }
  if (ending.model.empty()) return span;
  AddText("gen_ai.provider.name", "trivium", &span);
  AddText("gen_ai.request.model", ending.model, &span);
  AddCount("gen_ai.usage.input_tokens", ending.source_tokens, &span);
  AddCount("gen_ai.usage.output_tokens", ending.generated_tokens, &span);
  return span;
}

}  // namespace trivium
