FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
# The database driver is patched.
COPY src/db/patches src/db/patches
RUN bun install --frozen-lockfile --production
COPY . .
ENV BUN_JSC_forceRAMSize=268435456 DATA_DIR=/data/db STORAGE_DIR=/data/storage NODE_ENV=production
RUN mkdir -p /data && chown -R bun:bun /data /app
USER bun
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=3s CMD ["bun", "-e", "process.exit((await fetch(`http://127.0.0.1:${process.env.PORT || 3000}/readyz`)).ok ? 0 : 1)"]
CMD ["bun", "src/main.ts"]
