FROM oven/bun:1.4.5-slim AS packages
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
# The database driver is patched.
COPY src/db/patches src/db/patches
# Without what is never loaded: compilers and types that packages name as peers, ffmpeg's second build, source maps.
RUN bun install --frozen-lockfile --production \
  && cd node_modules \
  && rm -rf typescript @typescript @types bun-types @expo-google-fonts/inter/*_Italic @expo-google-fonts/inter/*/*.png fluent-ffmpeg/coverage fluent-ffmpeg/doc @ffmpeg/core/dist/umd \
    swagger-ui-dist/*.map swagger-ui-dist/*es-bundle*

FROM oven/bun:1.4.5-slim
ARG VERSION=1.1.0-dev
LABEL org.opencontainers.image.title="Community API" \
  org.opencontainers.image.description="API and Discord bot for communities of CS2 game servers" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.licenses="MIT AND GPL-2.0-or-later"
ENV DATA_DIR=/data/db STORAGE_DIR=/data/storage NODE_ENV=production
RUN mkdir -p /data && chown bun:bun /data
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY . .
# Logged at the start: --build-arg COMMIT=$(git rev-parse HEAD)
ARG COMMIT
RUN echo "$COMMIT" > COMMIT
USER bun
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=3s CMD ["bun", "src/health-check.ts"]
CMD ["bun", "--smol", "src/main.ts"]
