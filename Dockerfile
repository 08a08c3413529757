FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
RUN pip install --no-cache-dir --prefix /install '.[tls]'

FROM python:3.13-slim
LABEL org.opencontainers.image.title="emulator" \
      org.opencontainers.image.description="An offline stand-in for LLM-serving vendors" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /install /usr/local
COPY scenarios /scenarios
RUN useradd --system --no-create-home emulator && install -d -o emulator /tls
ENV EMULATOR_TLS_DIR=/tls
USER emulator
EXPOSE 4010-4015
HEALTHCHECK --interval=5s --timeout=2s --start-period=20s --start-interval=200ms --retries=3 CMD ["emulator", "health"]
ENTRYPOINT ["emulator"]
CMD ["serve", "--host", "0.0.0.0", "/scenarios"]
