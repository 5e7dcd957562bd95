// The public header for programs that call a server: Client and TlsFiles.
// Installed as trivium/client.h; find_package(Trivium COMPONENTS client)
// defines the target Trivium::client.
#ifndef TRIVIUM_LIBRARY_CLIENT_H_
#define TRIVIUM_LIBRARY_CLIENT_H_

#include "client/client.h"
#include "client/tls.h"

#endif  // TRIVIUM_LIBRARY_CLIENT_H_
