/** The engine's options that keep the service small, in the order in which the service's files name them. */
export const ENGINE_OPTIONS = [
  'BUN_JSC_forceRAMSize',
  'BUN_JSC_smallHeapGrowthFactor',
  'BUN_JSC_largeHeapSize',
  'BUN_JSC_thresholdForOptimizeAfterWarmUp',
  'BUN_JSC_thresholdForFTLOptimizeAfterWarmUp',
  'MIMALLOC_PURGE_HOLES_LARGE_FLOOR',
  'MIMALLOC_PURGE_HOLES_FULL_EVERY',
] as const;
