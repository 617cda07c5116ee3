/** A mutex for each key. */
export type KeyedMutex = {
  /** Takes the key's slot. @returns the function that releases it; undefined when the slot is taken. */
  claim: (key: string) => Promise<(() => void) | undefined>;
};

/** A mutex of this process. */
export function createMemoryMutex(): KeyedMutex {
  const taken = new Set<string>();
  return {
    claim: async (key) => {
      if (taken.has(key)) return undefined;
      taken.add(key);
      return () => taken.delete(key);
    },
  };
}
