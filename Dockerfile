# The base is pinned by its digest, what is installed by hashes. docs/image.md says how each of them is renewed, and how
# the image is built on Alpine: what both bases have is used here, no bash and no useradd.
ARG PYTHON=python:3.13.7-slim-trixie@sha256:5f55cdf0c5d9dc1a415637a5ccc4a9e18663ad203673173b8cda8f8dcacef689

FROM ${PYTHON} AS build
WORKDIR /source
COPY requirements.lock requirements-build.lock ./
COPY deploy/lock.py deploy/
RUN python deploy/lock.py requirements.lock > installed.lock \
 && pip install --no-cache-dir --no-deps --require-hashes --prefix /install -r installed.lock \
 && pip install --no-cache-dir --no-deps --require-hashes -r requirements-build.lock
COPY deploy/sbom.py deploy/prune.py deploy/
RUN mkdir -p /install/share/llm-emulator \
 && python deploy/sbom.py installed.lock > /install/share/llm-emulator/sbom.cdx.json
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY scenarios scenarios
RUN pip install --no-cache-dir --no-deps --no-build-isolation --prefix /install . \
 && python deploy/prune.py /install

FROM ${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="llm-emulator" \
      org.opencontainers.image.description="An offline stand-in for LLM-serving vendors" \
      org.opencontainers.image.url="https://github.com/llm-emulator/llm-emulator" \
      org.opencontainers.image.documentation="https://github.com/llm-emulator/llm-emulator/blob/main/README.md" \
      org.opencontainers.image.source="https://github.com/llm-emulator/llm-emulator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Nothing is installed at run time: the base's pip and the parts of its Python that serve people at a screen go.
RUN pip uninstall --yes --quiet --root-user-action ignore pip \
 && rm -rf /usr/local/lib/python3.*/ensurepip /usr/local/lib/python3.*/idlelib /usr/local/lib/python3.*/turtledemo \
 && echo emulator:x:10001: >> /etc/group \
 && echo emulator:x:10001:10001::/home/emulator:/bin/false >> /etc/passwd \
 && install -d -o 10001 -g 10001 /tls /tls/authority \
 && install -d -o 10001 -g 10001 -m 0700 /tls/private
COPY --from=build /install /usr/local
COPY scenarios /scenarios
ENV EMULATOR_HOST=0.0.0.0 \
    EMULATOR_TLS_DIR=/tls \
    EMULATOR_PORT_FILE=/dev/shm/emulator.json
USER 10001:10001
EXPOSE 4010-4015
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=200ms --retries=3 CMD ["emulator", "health"]
ENTRYPOINT ["emulator"]
CMD ["serve", "/scenarios"]
