FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
# The database driver is patched.
COPY src/db/patches src/db/patches
RUN bun install --frozen-lockfile --production
COPY . .
ENV DATA_DIR=/data/db STORAGE_DIR=/data/storage NODE_ENV=production
RUN mkdir -p /data && chown -R bun:bun /data /app
USER bun
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=3s CMD ["bun", "src/health-check.ts"]
CMD ["bun", "--smol", "src/main.ts"]
