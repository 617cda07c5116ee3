FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
# The database driver is patched.
COPY src/db/patches src/db/patches
RUN bun install --frozen-lockfile --production
COPY . .
ENV BUN_JSC_forceRAMSize=268435456 BUN_JSC_smallHeapGrowthFactor=1.2 BUN_JSC_largeHeapSize=33554432 \
    BUN_JSC_thresholdForOptimizeAfterWarmUp=50000 BUN_JSC_thresholdForFTLOptimizeAfterWarmUp=2000000 \
    MIMALLOC_PURGE_HOLES_LARGE_FLOOR=0 MIMALLOC_PURGE_HOLES_FULL_EVERY=4
ENV DATA_DIR=/data/db STORAGE_DIR=/data/storage NODE_ENV=production
# Bun ends at once on an engine option that it does not know: then the build fails here, and no container does.
# `src/install.ts` installs nothing here; it notes that all is installed, so that `bun run cli` in a container needs no network.
RUN bun -e 0 && bun src/install.ts --production && mkdir -p /data && chown -R bun:bun /data /app
USER bun
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=3s CMD ["bun", "src/health-check.ts"]
CMD ["bun", "src/main.ts"]
