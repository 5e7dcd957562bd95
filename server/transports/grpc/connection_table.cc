// Invariant: limits_ knows all connections without an open call as idle, in the
// order of their last_active(). Nothing is sorted for that: time moves on, and
// a connection that was active goes to the end.
#include "server/transports/grpc/connection_table.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/exceptions.h"
#include "base/random_bits.h"

namespace trivium {

void ConnectionTable::Watch(int operation, int fd, uint32_t events,
                            uint64_t tag) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  epoll_ctl(epoll_, operation, fd, &event);
}

void ConnectionTable::Add(uint64_t id,
                          std::unique_ptr<RelayedConnection> connection,
                          absl::Time now) {
  Entry entry;
  entry.leaves = now + Spread(age_);
  entry.connection = std::move(connection);
  entry.client_events = entry.connection->client_events();
  entry.grpc_events = entry.connection->grpc_events();
  Watch(EPOLL_CTL_ADD, entry.connection->client(), entry.client_events, 2 * id);
  Watch(EPOLL_CTL_ADD, entry.connection->grpc(), entry.grpc_events, 2 * id + 1);
  const auto added = entries_.emplace(id, std::move(entry)).first;
  const absl::Status status = CatchExceptions([&] {
    limits_.Add(id);
    UpdateIdle(id, &added->second);
    ages_.emplace(added->second.leaves, id);
  });
  if (!status.ok()) return Erase(id);
  metrics_->OnConnections(size());
}

bool ConnectionTable::MakeRoom() {
  return limits_.HasRoom() || EndLongestIdle();
}

void ConnectionTable::Shrink(int max_connections) {
  limits_.set_max_connections(max_connections);
  while (size() > max_connections && EndLongestIdle()) {
  }
}

bool ConnectionTable::EndLongestIdle() {
  const auto id = limits_.LongestIdle();
  if (!id) return false;
  if (entries_.at(*id).gone) {
    EraseGone(*id);
  } else {
    metrics_->OnConnectionEnded("evicted");
    Erase(*id);
  }
  return true;
}

void ConnectionTable::GoAway(absl::Time now) {
  std::vector<uint64_t> ids;
  for (const auto& [id, entry] : entries_) {
    if (!entry.gone) ids.push_back(id);
  }
  for (const uint64_t id : ids) {
    entries_.at(id).connection->GoAway();
    Move(id, false, true, now);
  }
}

void ConnectionTable::OnEvent(const epoll_event& event, absl::Time now) {
  const uint64_t tag = event.data.u64;
  const uint64_t id = tag / 2;
  const auto entry = entries_.find(id);
  // An earlier event may have ended it.
  if (entry == entries_.end() || entry->second.gone) return;
  const bool in = (event.events & (EPOLLIN | EPOLLRDHUP)) != 0;
  const bool out = (event.events & EPOLLOUT) != 0;
  const bool closed = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
  if (tag % 2 == 0) {
    if (closed) return End(id, now);
    return Move(id, in, out, now);
  }
  if (closed && entry->second.grpc_watched) {
    // Else epoll would report it again and again.
    RelayedConnection& connection = *entry->second.connection;
    connection.OnGrpcClosed();
    Watch(EPOLL_CTL_DEL, connection.grpc(), 0, tag);
    entry->second.grpc_watched = false;
    return Move(id, true, true, now);
  }
  Move(id, out, in, now);
}

absl::Time ConnectionTable::next_due(absl::Time now) const {
  absl::Time next =
      ages_.empty() ? absl::InfiniteFuture() : ages_.begin()->first;
  if (!gone_.empty()) next = std::min(next, bare_calls_->ready_at());
  for (const uint64_t id : resting_) {
    next = std::min(next, entries_.at(id).connection->resume().value_or(now));
  }
  return next;
}

void ConnectionTable::MoveDue(absl::Time now) {
  std::vector<uint64_t> rested;
  for (const uint64_t id : resting_) {
    const auto resume = entries_.at(id).connection->resume();
    if (!resume || *resume <= now) rested.push_back(id);
  }
  for (const uint64_t id : rested) Move(id, true, false, now);
  EndOld(now);
  EndGone(now);
}

void ConnectionTable::GiveTurns(absl::Time now) {
  while (const std::optional<uint64_t> id = turns_->Next(now)) {
    const auto entry = entries_.find(*id);
    if (entry == entries_.end() || entry->second.gone) continue;
    Move(*id, true, false, now);
  }
}

void ConnectionTable::EndOld(absl::Time now) {
  while (!ages_.empty() && ages_.begin()->first <= now) {
    const uint64_t id = ages_.begin()->second;
    Entry& entry = entries_.at(id);
    if (entry.told_to_go) {
      End(id, now);
      continue;
    }
    metrics_->OnConnectionEnded("old");
    entry.told_to_go = true;
    auto node = ages_.extract(ages_.begin());
    entry.leaves = now + grace_;
    node.value().first = entry.leaves;
    ages_.insert(std::move(node));
    entry.connection->GoAway();
    Move(id, false, true, now);
  }
}

// If memory ends in between, bytes are lost, so the connection ends.
void ConnectionTable::Move(uint64_t id, bool from_client, bool from_grpc,
                           absl::Time now) {
  const absl::Status status =
      CatchExceptions([&] { MoveBytes(id, from_client, from_grpc, now); });
  if (!status.ok() && entries_.contains(id)) End(id, now);
}

void ConnectionTable::MoveBytes(uint64_t id, bool from_client, bool from_grpc,
                                absl::Time now) {
  Entry& entry = entries_.at(id);
  RelayedConnection& connection = *entry.connection;
  absl::Status status;
  if (from_client) status = connection.MoveFromClient(now);
  if (status.ok() && from_grpc) status = connection.MoveFromGrpc(now);
  if (!status.ok()) {
    if (!absl::IsCancelled(status)) {
      metrics_->OnConnectionEnded("abuse");
      abuse_log_.Log(spdlog::level::warn, "a connection was ended",
                     {{"peer", connection.peer()},
                      {"reason", std::string(status.message())}});
    }
    return End(id, now);
  }
  if (const uint32_t events = connection.client_events();
      events != entry.client_events) {
    Watch(EPOLL_CTL_MOD, connection.client(), events, 2 * id);
    entry.client_events = events;
  }
  if (const uint32_t events = connection.grpc_events();
      entry.grpc_watched && events != entry.grpc_events) {
    Watch(EPOLL_CTL_MOD, connection.grpc(), events, 2 * id + 1);
    entry.grpc_events = events;
  }
  if (connection.resume()) {
    resting_.insert(id);
  } else {
    resting_.erase(id);
  }
  UpdateIdle(id, &entry);
}

void ConnectionTable::UpdateIdle(uint64_t id, Entry* entry) {
  const RelayedConnection& connection = *entry->connection;
  if (!connection.idle()) {
    limits_.SetBusy(id);
    entry->idle_since.reset();
  } else if (entry->idle_since != connection.last_active()) {
    limits_.SetIdle(id);
    entry->idle_since = connection.last_active();
  }
}

void ConnectionTable::End(uint64_t id, absl::Time now) {
  Entry& entry = entries_.at(id);
  if (entry.gone) return;
  const size_t calls = entry.connection->open_calls();
  if (calls <= BareCalls::kFree) return Erase(id);
  const absl::Status status = CatchExceptions([&] {
    gone_.push_back(id);
    limits_.SetIdle(id);  // so that it makes room
  });
  if (!status.ok()) return Erase(id);
  entry.gone = true;
  if (entry.grpc_watched) {
    Watch(EPOLL_CTL_DEL, entry.connection->grpc(), 0, 2 * id + 1);
  }
  entry.connection->CloseClient();  // which removes it from epoll
  resting_.erase(id);
  ages_.erase({entry.leaves, id});
  EndGone(now);
}

void ConnectionTable::EndGone(absl::Time now) {
  while (!gone_.empty() && bare_calls_->Ready(now)) {
    const uint64_t id = gone_.front();
    gone_.pop_front();
    if (entries_.contains(id)) EraseGone(id);  // else it made room
  }
}

void ConnectionTable::EraseGone(uint64_t id) {
  bare_calls_->Spend(
      static_cast<double>(entries_.at(id).connection->open_calls()));
  Erase(id);
}

void ConnectionTable::EndAllGone() {
  for (const uint64_t id : std::exchange(gone_, {})) {
    if (entries_.contains(id)) Erase(id);
  }
}

void ConnectionTable::Erase(uint64_t id) {
  const auto entry = entries_.find(id);
  limits_.Remove(id);
  resting_.erase(id);
  ages_.erase({entry->second.leaves, id});
  entries_.erase(entry);  // closes its sockets, which removes them from epoll
  metrics_->OnConnections(size());
}

}  // namespace trivium
