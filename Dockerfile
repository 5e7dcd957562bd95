# An image with the server, its embedded model and the client's programs, for
# x86-64 and 64-bit Arm.
#   docker build -t trivium .
#   docker run -p 8080:8080 -p 50051:50051 trivium
# A page to try it is on http://127.0.0.1:8080/. Flags go after the image's
# name, or into the environment as TRIVIUM_*. A model of the Hugging Face Hub,
# kept in a volume:
#   docker run -p 8080:8080 -p 50051:50051 -v trivium-cache:/cache \
#     -e TRIVIUM_MODEL=hf:OWNER/NAME trivium
# --read-only works with all of these.

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
COPY docs/openapi.json docs/
RUN cmake --preset release \
 && cmake --build --preset release \
 && cmake --install build/release --prefix /install --strip --component runtime
COPY deploy/make_root deploy/make_sbom deploy/
RUN deploy/make_root /install /image && mkdir -p /volumes/cache

# Contains only the files that the programs load: no shell and no packages of a
# distribution.
FROM scratch
COPY --from=build /image/ /
# A new volume at /cache belongs to the user, as this folder does.
COPY --from=build --chown=65532:65532 /volumes/ /
USER 65532:65532
# All interfaces, since a container's loopback cannot be reached from outside.
# Without TLS (TRIVIUM_TLS_CERTIFICATE, docs/operating.md), publish the ports
# only where everybody may call.
ENV TRIVIUM_LISTEN=0.0.0.0:50051 TRIVIUM_HTTP_LISTEN=0.0.0.0:8080 \
    TRIVIUM_METRICS_LISTEN=0.0.0.0:9464
# Models that are fetched by name.
ENV HF_HOME=/cache
# The health check reads the port from this file, whatever --listen says.
# /dev/shm is writable even if the rest is read-only.
ENV TRIVIUM_PORT_FILE=/dev/shm/trivium.ports
EXPOSE 50051 8080 9464
LABEL org.opencontainers.image.title=Trivium \
      org.opencontainers.image.description="gRPC and HTTP server for transformer models on CPUs" \
      org.opencontainers.image.licenses=Apache-2.0 \
      org.opencontainers.image.version=0.1.0
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s \
  CMD ["/usr/bin/trivium", "health", "--port-file", "/dev/shm/trivium.ports"]
ENTRYPOINT ["/usr/bin/trivium-server"]
