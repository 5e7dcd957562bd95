#include "server/transports/net/connection_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace trivium {

bool ConnectionLimits::IsFull(const std::string& network) const {
  const auto count = of_network_.find(network);
  return count != of_network_.end() && count->second >= max_of_network_;
}

bool ConnectionLimits::HasRoom(const std::string& network) const {
  return size() < max_connections_ && !IsFull(network);
}

std::optional<ConnectionLimits::Id> ConnectionLimits::LongestIdle(
    const std::string& network) const {
  const bool of_network = IsFull(network);
  for (const std::list<Id>* idle : {&unused_, &idle_}) {
    for (const Id id : *idle) {
      if (!of_network || connections_.at(id).network == network) return id;
    }
  }
  return std::nullopt;
}

std::optional<ConnectionLimits::Id> ConnectionLimits::LongestWaiting(
    const std::string& network) const {
  const bool of_network = IsFull(network);
  const std::list<Id>* most = nullptr;
  for (const auto& [client, ids] : waiting_) {
    if (of_network && client.first != network) continue;
    if (most == nullptr || ids.size() > most->size()) most = &ids;
  }
  if (most == nullptr || most->size() <= kFewWaiting) return std::nullopt;
  return most->front();
}

void ConnectionLimits::Add(Id id, const std::string& network) {
  const auto [connection, is_new] = connections_.try_emplace(id);
  try {
    connection->second.network = network;
    ++of_network_[network];
  } catch (...) {
    connections_.erase(connection);
    throw;
  }
}

void ConnectionLimits::Remove(Id id) {
  const auto connection = connections_.find(id);
  if (connection == connections_.end()) return;
  Leave(&connection->second);
  const auto count = of_network_.find(connection->second.network);
  if (--count->second == 0) of_network_.erase(count);
  connections_.erase(connection);
}

void ConnectionLimits::SetIdle(Id id) {
  const auto connection = connections_.find(id);
  if (connection == connections_.end()) return;
  Leave(&connection->second);
  std::list<Id>& idle = connection->second.used ? idle_ : unused_;
  connection->second.idle = idle.insert(idle.end(), id);
}

void ConnectionLimits::SetBusy(Id id) {
  const auto connection = connections_.find(id);
  if (connection == connections_.end()) return;
  Leave(&connection->second);
  connection->second.used = true;
}

void ConnectionLimits::SetWaiting(Id id, uint64_t client) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.waiting) return;
  Connection& connection = found->second;
  Leave(&connection);
  connection.used = true;
  const auto of_client =
      waiting_.try_emplace({connection.network, client}).first;
  try {
    of_client->second.push_back(id);
  } catch (...) {
    if (of_client->second.empty()) waiting_.erase(of_client);
    throw;
  }
  connection.waiting = {of_client, std::prev(of_client->second.end())};
}

void ConnectionLimits::Leave(Connection* connection) {
  if (connection->idle) {
    (connection->used ? idle_ : unused_)
        .erase(*std::exchange(connection->idle, std::nullopt));
  }
  if (connection->waiting) {
    const auto [of_client, place] =
        *std::exchange(connection->waiting, std::nullopt);
    of_client->second.erase(place);
    if (of_client->second.empty()) waiting_.erase(of_client);
  }
}

int ConnectionsWithin(int64_t files, int files_each, int fewest, int wanted) {
  return static_cast<int>(std::clamp<int64_t>(
      files / files_each, std::min(fewest, wanted), wanted));
}

int64_t OpenFilesLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, 1 << 30));
}

}  // namespace trivium
