/** The engine's options that keep its heap small, in the order in which the service's files name them. */
export const HEAP_OPTIONS = [
  'BUN_JSC_forceRAMSize',
  'BUN_JSC_smallHeapGrowthFactor',
  'BUN_JSC_largeHeapSize',
] as const;
