// Threads: the network's thread calls one function at a time. The handler calls
// from any thread, also one function at a time. Their shared state is under
// mutex_, which is never held while a handler or a codec is called.
//
// The request sleeps from when the network's thread asks for something that is
// not there until the handler provides it:
//
//   network:  Answer, ReadStream ── nothing there: Sleep ┐
//   handler:  Write, Finish ── Wake ── the network asks ─┘
//
// Watching for the client's disconnection begins and ends with the sleep.
#include "server/transports/http/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/exceptions.h"
#include "base/status.h"
#include "server/adapters/json_body.h"
#include "server/calls/allowed_models.h"
#include "server/calls/call.h"
#include "server/calls/convert/message_checks.h"
#include "server/errors/status.h"
#include "server/limits/client_id.h"
#include "server/limits/early_refusal.h"
#include "server/limits/priority.h"
#include "server/transports/http/request_checks.h"

namespace trivium {
namespace {

// A body of more than this many times the limit is not read to its end, even if
// its client then misses the answer.
constexpr int64_t kReceiveMargin = 4;
constexpr int kStreamStatus = 200;
constexpr char kEventStream[] = "text/event-stream";
constexpr char kComment[] = ":\n\n";  // clients skip it
// The network's thread itself unpacks so much of a piece of a body.
constexpr size_t kInlineUnpackedBytes = 64 << 10;
constexpr absl::Duration kComeBack = absl::Seconds(1);
// Connect's bound on the digits of a timeout in milliseconds.
constexpr size_t kTimeoutDigits = 10;

// Reads Connect's header for the deadline, whichever protocol the client uses.
absl::Status ReadTimeout(const RequestHead& head, absl::Time now,
                         CallContext* context) {
  const std::string text = head.header("Connect-Timeout-Ms");
  if (text.empty()) return absl::OkStatus();
  int64_t milliseconds = 0;
  if (text.size() > kTimeoutDigits ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &milliseconds)) {
    return absl::InvalidArgumentError(fmt::format(
        "Connect-Timeout-Ms is '{}'; send milliseconds of at most {} digits",
        Shorten(text), kTimeoutDigits));
  }
  context->deadline = now + absl::Milliseconds(milliseconds);
  return absl::OkStatus();
}

// Returns the value of Authorization. Anthropic's clients send the bare token
// in a header of their own instead.
std::string AuthorizationOf(const RequestHead& head) {
  std::string authorization = head.header("Authorization");
  if (!authorization.empty()) return authorization;
  const std::string token = head.header("x-api-key");
  return token.empty() ? token : "Bearer " + token;
}

}  // namespace

Exchange::Exchange(HttpEnvironment* environment, const Route& route,
                   HttpConnections::Id connection, RequestSleep* sleep)
    : environment_(environment),
      route_(&route),
      connection_(connection),
      sleep_(sleep),
      held_(std::make_shared<CallBytes>(environment->overload.account())) {}

Exchange::~Exchange() {
  environment_->overload.Remove(this);
  held_->Close();
  environment_->count.Leave();
}

bool Exchange::Begin(RequestHead head, const std::string& peer,
                     int64_t content_length) {
  const Environment& handlers = environment_->handlers;
  context_.request_id = head.header("x-request-id");
  context_.traceparent = head.header("traceparent");
  context_.tracestate = head.header("tracestate");
  context_.http_method = route_->method;
  context_.http_route = route_->path;
  context_.peer = peer;
  context_.priority = head.header(kPriorityKey);
  load_format_ = head.header(kLoadFormatKey);
  if (const std::string& key = handlers.limits.client_key_header;
      !key.empty()) {
    context_.client_key = head.header(key.c_str());
  }
  Admit(handlers.access, AuthorizationOf(head), &context_);
  client_ = ClientOf(context_);
  environment_->connections.Receive(connection_, client_);
  head.grant = context_.grant;
  head.client_key = context_.client_key;
  head.peer = context_.peer;
  path_ = head.path;
  codec_ = route_->codec(handlers, head);
  accepts_gzip_ = AcceptsGzip(head.header("Accept-Encoding"));
  const int64_t most = handlers.limits.max_request_bytes;
  absl::Status status = context_.access;
  if (!status.ok()) {
    Refuse(EndEarly(handlers, route_->rpc, context_, status));
  } else if (status = ReadCoding(head); !status.ok()) {
    Refuse({status, ""}, 415);
    answer_.headers.emplace_back("Accept-Encoding", kContentCodings);
  } else if (status = CheckBodyType(head); !status.ok()) {
    Refuse({status, ""}, absl::IsUnimplemented(status) ? 415 : 0);
  } else if (status = ReadTimeout(head, handlers.clock->Now(), &context_);
             !status.ok()) {
    Refuse({status, ""});
  } else if (status = CheckRequestBytes(content_length, most); !status.ok()) {
    Refuse({status, ""}, 413);
  } else if (status = CheckEarly(handlers.batcher, handlers.limits, route_->rpc,
                                 context_, handlers.clock->Now());
             !status.ok()) {
    Refuse(EndEarly(handlers, route_->rpc, context_, status));
  }
  // A client that waits for "100 Continue" need not send the body at all.
  // Others may not read an answer before they have sent everything.
  return refused_ && (!head.header("Expect").empty() ||
                      content_length > kReceiveMargin * most);
}

absl::Status Exchange::ReadCoding(const RequestHead& head) {
  if (route_->method == "GET") return absl::OkStatus();  // it has no body
  TRIVIUM_ASSIGN_OR_RETURN(const ContentCoding coding,
                           ParseContentCoding(head.header("Content-Encoding")));
  if (coding != ContentCoding::kIdentity) {
    unpacker_ = std::make_unique<Unpacker>(coding);
    held_->Set(Held::kIncoming, Unpacker::kMemory);
  }
  return absl::OkStatus();
}

absl::Status Exchange::CheckBodyType(const RequestHead& head) const {
  TRIVIUM_RETURN_IF_ERROR(CheckCharset(head.header("Content-Type")));
  return codec_->Check(head);
}

HttpAnswer Exchange::WithHeaders(const Ending& ending,
                                 HttpAnswer answer) const {
  if (const auto delay = RetryDelay(ending.status)) {
    answer.headers.emplace_back(
        "Retry-After", fmt::format("{}", absl::ToInt64Seconds(absl::Ceil(
                                             *delay, absl::Seconds(1)))));
  }
  if (absl::IsUnauthenticated(ending.status)) {
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  if (!ending.request_id.empty()) {
    answer.headers.emplace_back("x-request-id", ending.request_id);
  }
  AddLoad(&answer);
  return answer;
}

void Exchange::AddLoad(HttpAnswer* answer) const {
  const LoadReports* const loads = environment_->handlers.loads;
  if (loads == nullptr) return;
  if (auto load = loads->ForHttp(load_format_)) {
    answer->headers.push_back(*std::move(load));
  }
}

void Exchange::Refuse(const Ending& ending, int status) {
  refused_ = true;
  body_ = std::string();
  unpacker_.reset();
  held_->Set(Held::kIncoming, 0);
  answer_ = WithHeaders(ending, status == 0 ? codec_->Finish(ending, nullptr)
                                            : codec_->Refuse(ending, status));
  MutexLock lock(&mutex_);
  ready_ = true;
}

// A few bytes may unpack to as many as the limit allows, so the network's
// thread unpacks little of a piece itself.
size_t Exchange::AddBody(std::string_view bytes) {
  if (refused_) return bytes.size();
  if (unpacker_ == nullptr) {
    AddPlain(bytes);
    return bytes.size();
  }
  const std::string_view rest = bytes.substr(std::exchange(unpacked_, 0));
  if (rest.empty()) return bytes.size();
  unpacker_->Add(rest);
  if (Unpack(kInlineUnpackedBytes)) return bytes.size();
  unpacked_ = bytes.size();
  {
    // The time for the whole body goes on.
    MutexLock lock(&mutex_);
    sleep_->Sleep();
  }
  UnpackOnPool();
  return 0;
}

bool Exchange::Unpack(size_t most) {
  size_t done = 0;
  while (!refused_) {
    const absl::StatusOr<std::string> piece =
        unpacker_->Next(WorkPool::kPieceBytes);
    if (!piece.ok()) {
      Refuse({piece.status(), ""});
    } else if (piece->empty()) {
      return true;
    } else {
      AddPlain(*piece);
      done += piece->size();
      if (done > most) return refused_;
    }
  }
  return true;
}

void Exchange::UnpackOnPool() {
  const absl::Status status = CatchExceptions([this] {
    environment_->handlers.tokenizing->Run(
        {client_, this}, WorkPool::kPieceBytes,
        [self = shared_from_this()] { self->UnpackPiece(); });
  });
  if (status.ok()) return;
  RefuseForMemory(status);
  MutexLock lock(&mutex_);
  sleep_->Wake();
}

void Exchange::UnpackPiece() {
  bool all = true;
  const absl::Status status = CatchExceptions([&] { all = Unpack(0); });
  if (!status.ok()) RefuseForMemory(status);
  if (!all) return UnpackOnPool();
  MutexLock lock(&mutex_);
  sleep_->Wake();
}

void Exchange::RefuseForMemory(const absl::Status& status) {
  if (CatchExceptions([&] { Refuse({status, ""}); }).ok()) return;
  refused_ = true;
  body_.clear();
  answer_ = HttpAnswer{.status = 503, .type = ""};
  MutexLock lock(&mutex_);
  ready_ = true;
}

void Exchange::EndBody() {
  if (unpacker_ == nullptr) return;
  const absl::Status status = unpacker_->CheckEnd();
  unpacker_.reset();
  held_->Set(Held::kIncoming, static_cast<int64_t>(body_.capacity()));
  if (!status.ok()) Refuse({status, ""});
}

void Exchange::AddPlain(std::string_view bytes) {
  OverloadManager& overload = environment_->overload;
  const auto size = static_cast<int64_t>(body_.size() + bytes.size());
  const int64_t most = environment_->handlers.limits.max_request_bytes;
  // The head may not have told the length.
  const absl::Status status = CheckRequestBytes(size, most);
  if (!status.ok()) return Refuse({status, ""}, 413);
  const int64_t incoming = overload.account()->bytes(Held::kIncoming);
  // The number of connections bounds the small ones.
  if (size > OverloadManager::kSmallRequest &&
      !overload.MayComeIn(static_cast<int64_t>(bytes.size()), incoming)) {
    return Refuse({WithRetry(absl::ResourceExhaustedError(
                                 "the server has no memory for this request "
                                 "now; send it again later"),
                             kComeBack),
                   ""});
  }
  // Grows as strings do, but not beyond the limit.
  if (const auto room = static_cast<int64_t>(body_.capacity()); size > room) {
    body_.reserve(
        static_cast<size_t>(std::max(size, std::min(2 * room, most))));
  }
  body_.append(bytes);
  held_->Set(Held::kIncoming,
             static_cast<int64_t>(body_.capacity()) +
                 (unpacker_ == nullptr ? 0 : Unpacker::kMemory));
}

const HttpAnswer* Exchange::Answer() {
  if (!refused_ && handler_ == nullptr) EndBody();
  if (!refused_ && handler_ == nullptr) StartCall();
  MutexLock lock(&mutex_);
  if (!ready_) {
    SleepLocked();
    return nullptr;
  }
  environment_->connections.SetPhase(connection_,
                                     HttpConnections::Phase::kAnswering);
  return &answer_;
}

void Exchange::ChooseRoute() {
  const Environment& handlers = environment_->handlers;
  const Route& chosen = trivium::ChooseRoute(
      *route_, body_, AllowedModels(handlers.models, context_.grant));
  if (&chosen == route_) return;
  route_ = &chosen;
  codec_ = route_->codec(handlers,
                         {.method = std::string(route_->method),
                          .path = path_,
                          .grant = context_.grant,
                          .header = [](const char*) { return std::string(); }});
}

void Exchange::StartCall() {
  const absl::Status status = CatchExceptions([this] { MakeHandler(); });
  if (status.ok()) return;
  // Nothing has started.
  environment_->overload.Remove(this);
  handler_.reset();
  {
    MutexLock lock(&mutex_);
    self_.reset();
  }
  RefuseForMemory(status);
}

void Exchange::MakeHandler() {
  ChooseRoute();
  {
    MutexLock lock(&mutex_);
    self_ = shared_from_this();
  }
  context_.held = held_;
  context_.http_status = [this](const absl::Status& status) {
    const absl::Status told = AsTold(status);
    return Streams(told) ? kStreamStatus : codec_->StatusOf(told.code());
  };
  const Environment& handlers = environment_->handlers;
  const auto size = static_cast<int64_t>(body_.size());
  handler_ = route_->unary != nullptr
                 ? route_->unary(handlers, std::move(context_), this)
                 : route_->stream(handlers, std::move(context_), this);
  environment_->overload.Add(this);
  WorkPool* const pool = size <= kInlineTextBytes && !codec_->reads_long()
                             ? &environment_->starts
                             : handlers.tokenizing;
  // A handler that ends at once still returns from Start.
  pool->Run({client_, this}, size,
            [self = shared_from_this()] { self->handler_->Start(); });
}

std::string Exchange::TakeBody() { return std::move(answer_.body); }

ssize_t Exchange::ReadStream(char* to, size_t most) {
  bool written = false;
  ssize_t size = 0;
  {
    MutexLock lock(&mutex_);
    size = ReadLocked(to, most, &written);
  }
  if (written) TellWritten(true);
  return size;
}

ssize_t Exchange::ReadLocked(char* to, size_t most, bool* written) {
  const size_t size = std::min(most, pieces_.size() - read_);
  if (size == 0) {
    if (finished_) return -1;
    SleepLocked();
    return 0;
  }
  std::memcpy(to, pieces_.data() + read_, size);
  read_ += size;
  if (read_ == pieces_.size()) {
    pieces_.clear();
    read_ = 0;
    held_->Set(Held::kResponses, 0);
    *written = std::exchange(writing_, false);
  }
  environment_->connections.SetPhase(connection_,
                                     HttpConnections::Phase::kAnswering);
  return static_cast<ssize_t>(size);
}

void Exchange::TellWritten(bool ok) {
  const absl::Status posted = CatchExceptions([&] { PostWritten(ok); });
  if (!posted.ok()) handler_->OnWritten(ok);
}

void Exchange::OnCompleted() {
  environment_->connections.SetPhase(connection_,
                                     HttpConnections::Phase::kIdle);
  bool working = false;
  bool written = false;
  {
    MutexLock lock(&mutex_);
    gone_ = true;
    working = self_ != nullptr;
    written = working && std::exchange(writing_, false);
  }
  if (written) TellWritten(false);
  // The caller keeps the exchange alive meanwhile.
  if (working) handler_->OnCancel();
}

void Exchange::OnHangUp() { handler_->OnCancel(); }

absl::Status Exchange::ParseRequest(google::protobuf::Message* request) {
  const auto size = static_cast<int64_t>(body_.size());
  held_->Set(Held::kIncoming, 0);
  // JSON may need more memory than the account assumes.
  static_assert(kJsonMemoryOfAByte % OverloadManager::kBytesARequestByte == 0);
  constexpr int64_t kTimes =
      kJsonMemoryOfAByte / OverloadManager::kBytesARequestByte;
  TRIVIUM_RETURN_IF_ERROR(environment_->overload.AdmitRequest(size, kTimes));
  held_->Set(Held::kRequests, kTimes * size);
  const std::string body = std::exchange(body_, std::string());
  const absl::Status status = codec_->Read(body, request);
  held_->Set(Held::kRequests, size + codec_->kept_bytes());
  return status;
}

void Exchange::Write(const google::protobuf::Message& response) {
  const std::string piece = codec_->Write(response);
  MutexLock lock(&mutex_);
  if (gone_ || piece.empty()) return PostWritten(!gone_);
  StreamLocked(piece);
  writing_ = true;
  WakeLocked();
}

void Exchange::PostWritten(bool ok) {
  environment_->handlers.delivery->Run(
      {client_, this}, 0,
      [self = shared_from_this(), ok] { self->handler_->OnWritten(ok); });
}

absl::Status Exchange::AsTold(const absl::Status& status) const {
  return shed_ ? AsShed(status) : status;
}

bool Exchange::Streams(const absl::Status& told) const {
  return streams_ || (told.ok() && codec_->streams());
}

void Exchange::Finish(const Ending& ending,
                      const google::protobuf::Message* last) {
  absl::Status status = CatchExceptions([&] { FinishIfMemory(ending, last); });
  if (status.ok()) return;
  // Nothing was delivered.
  if (!streams_) {
    HttpAnswer answer = {.status = 503, .type = ""};
    CatchExceptions([&] {
      const Ending told = {status, ending.request_id};
      answer = WithHeaders(told, codec_->Finish(told, nullptr));
    }).IgnoreError();
    return Deliver(std::move(answer));
  }
  status = CatchExceptions([&] {
    const std::string rest = codec_->EndStream({status, ""}, nullptr);
    MutexLock lock(&mutex_);
    StreamLocked(rest);
  });
  if (!status.ok()) BreakOff();
  EndStream();
}

void Exchange::EndStream() {
  // Outlives the lock: releasing it may destroy this.
  std::shared_ptr<Exchange> self;
  MutexLock lock(&mutex_);
  finished_ = true;
  WakeLocked();
  self = std::move(self_);
}

void Exchange::FinishIfMemory(const Ending& ending,
                              const google::protobuf::Message* last) {
  const Ending told = {AsTold(ending.status), ending.request_id};
  if (!Streams(told.status)) {
    HttpAnswer answer = WithHeaders(told, codec_->Finish(told, last));
    const size_t size = answer.body.size();
    if (!IsPackable(answer.type, size)) return Deliver(std::move(answer));
    answer.headers.emplace_back("Vary", "Accept-Encoding");
    if (!accepts_gzip_) return Deliver(std::move(answer));
    if (size <= kMostPackedAtOnce) {
      Pack(&answer);
      return Deliver(std::move(answer));
    }
    held_->Set(Held::kResponses, static_cast<int64_t>(2 * size));
    // self_ keeps this alive until Deliver.
    environment_->handlers.delivery->Run(
        {client_, this}, static_cast<int64_t>(size), [this, answer]() mutable {
          Pack(&answer);
          Deliver(std::move(answer));
        });
    return;
  }
  const std::string rest = codec_->EndStream(told, last);
  {
    MutexLock lock(&mutex_);
    StreamLocked(rest);
  }
  EndStream();
}

void Exchange::Pack(HttpAnswer* answer) {
  // Without memory it stays as it is.
  CatchExceptions([answer] {
    std::string packed = PackGzip(answer->body);
    if (packed.empty()) return;
    answer->headers.emplace_back("Content-Encoding", "gzip");
    answer->body = std::move(packed);
  }).IgnoreError();
}

void Exchange::Deliver(HttpAnswer answer) {
  // Outlives the lock: releasing it may destroy this.
  std::shared_ptr<Exchange> self;
  MutexLock lock(&mutex_);
  held_->Set(Held::kResponses, static_cast<int64_t>(answer.body.size()));
  answer_ = std::move(answer);
  ready_ = true;
  WakeLocked();
  self = std::move(self_);
}

void Exchange::BeginAnswer() {
  if (!codec_->streams()) return;
  MutexLock lock(&mutex_);
  if (ready_) return;
  BeginStreamLocked();
  WakeLocked();
}

void Exchange::KeepAlive(absl::Time now) {
  MutexLock lock(&mutex_);
  if (!streams_ || gone_ || finished_ || !pieces_.empty() ||
      answer_.type != kEventStream ||
      now - last_piece_ < environment_->keep_alive) {
    return;
  }
  StreamLocked(kComment);
  WakeLocked();
}

void Exchange::BeginStreamLocked() {
  answer_.type = codec_->stream_type();
  AddLoad(&answer_);
  last_piece_ = environment_->handlers.clock->Now();
  streams_ = true;
  ready_ = true;
}

void Exchange::StreamLocked(const std::string& piece) {
  pieces_.reserve(pieces_.size() + piece.size());
  if (!ready_) BeginStreamLocked();
  last_piece_ = environment_->handlers.clock->Now();
  pieces_ += piece;
  held_->Set(Held::kResponses, static_cast<int64_t>(pieces_.size()));
}

void Exchange::BreakOff() { environment_->connections.Break(connection_); }

// Tells the client why, unless it is slow to take an answer that has begun.
void Exchange::Shed() {
  bool taking = false;
  {
    MutexLock lock(&mutex_);
    taking = ready_ && (!streams_ || !pieces_.empty());
  }
  if (taking) BreakOff();
  shed_ = true;
  handler_->OnCancel();
}

void Exchange::SleepLocked() {
  environment_->connections.Watch(connection_, weak_from_this());
  asleep_ = true;
  sleep_->Sleep();
}

void Exchange::WakeLocked() {
  if (!std::exchange(asleep_, false)) return;
  environment_->connections.Unwatch(connection_);
  sleep_->Wake();
}

bool ExchangeCount::Enter() {
  MutexLock lock(&mutex_);
  if (!stopping_) ++count_;
  return !stopping_;
}

void ExchangeCount::Leave() {
  MutexLock lock(&mutex_);
  --count_;
  changed_.SignalAll();
}

void ExchangeCount::Stop() {
  MutexLock lock(&mutex_);
  stopping_ = true;
  while (count_ > 0) changed_.Wait(&mutex_);
}

}  // namespace trivium
