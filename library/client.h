// What a program includes that calls a server: Client and TlsFiles. Installed
// as trivium/client.h; find_package(Trivium COMPONENTS client) gives the target
// Trivium::client.
#ifndef TRIVIUM_LIBRARY_CLIENT_H_
#define TRIVIUM_LIBRARY_CLIENT_H_

#include "client/client.h"
#include "client/tls.h"

#endif  // TRIVIUM_LIBRARY_CLIENT_H_
