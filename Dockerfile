# The base is pinned by its release, what is installed by hashes: `requirements.lock` and how to renew it.
ARG PYTHON=3.13.7-slim-trixie

FROM python:${PYTHON} AS build
WORKDIR /source
COPY requirements.lock requirements-build.lock ./
RUN pip install --no-cache-dir --no-deps --require-hashes --prefix /install -r requirements.lock \
 && pip install --no-cache-dir --no-deps --require-hashes -r requirements-build.lock
COPY deploy/sbom.py deploy/
RUN mkdir -p /install/share/llm-emulator \
 && python deploy/sbom.py requirements.lock > /install/share/llm-emulator/sbom.cdx.json
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY scenarios scenarios
RUN pip install --no-cache-dir --no-deps --no-build-isolation --prefix /install .

FROM python:${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="llm-emulator" \
      org.opencontainers.image.description="An offline stand-in for LLM-serving vendors" \
      org.opencontainers.image.documentation="https://github.com/OWNER/emulator/blob/main/README.md" \
      org.opencontainers.image.source="https://github.com/OWNER/emulator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /install /usr/local
COPY scenarios /scenarios
RUN useradd --system --uid 10001 --user-group --no-create-home emulator && install -d -o 10001 -g 10001 /tls
ENV EMULATOR_TLS_DIR=/tls \
    EMULATOR_PORT_FILE=/dev/shm/emulator.json
USER 10001:10001
EXPOSE 4010-4015
HEALTHCHECK --interval=5s --timeout=2s --start-period=20s --start-interval=200ms --retries=3 CMD ["emulator", "health"]
ENTRYPOINT ["emulator"]
CMD ["serve", "--host", "0.0.0.0", "/scenarios"]
