# The server with its embedded model, and the client's programs, on x86-64 and on
# 64-bit Arm.
#   docker build -t trivium .
#   docker run --read-only -p 50051:50051 -p 9464:9464 trivium
# Flags go after the image's name, or as TRIVIUM_* into the environment.

FROM debian:bookworm-slim AS build
COPY deploy/packages.txt /tmp/
RUN apt-get update \
 && sed 's/#.*//' /tmp/packages.txt | xargs env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /trivium
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY proto proto
COPY base base
COPY model model
COPY server server
COPY client client
COPY library library
RUN cmake --preset release \
 && cmake --build --preset release \
 && cmake --install build/release --prefix /install --strip --component runtime
COPY deploy/make_root deploy/make_sbom deploy/
RUN deploy/make_root /install /image

# No shell and no packages of a distribution: what the programs load, alone.
FROM scratch
COPY --from=build /image/ /
USER 65532:65532
# All interfaces: a container's loopback is of no use outside. Without
# TLS (TRIVIUM_TLS_CERTIFICATE, docs/operating.md), publish the ports only where
# everybody may call.
ENV TRIVIUM_LISTEN=0.0.0.0:50051 TRIVIUM_METRICS_LISTEN=0.0.0.0:9464
# The health check finds the port here, whatever --listen says; /dev/shm can be
# written to where the rest is read-only.
ENV TRIVIUM_PORT_FILE=/dev/shm/trivium.ports
EXPOSE 50051 9464
LABEL org.opencontainers.image.title=Trivium \
      org.opencontainers.image.description="gRPC and HTTP server for transformer models on CPUs" \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=0.1.0
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s \
  CMD ["/usr/bin/trivium", "health", "--port-file", "/dev/shm/trivium.ports"]
ENTRYPOINT ["/usr/bin/trivium-server"]
