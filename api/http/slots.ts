/** A mutex for each key. */
export type Slots = {
  /** Takes the key's slot. @returns the function that releases it; undefined when the slot is taken. */
  claim: (key: string) => Promise<(() => void) | undefined>;
};

/** Slots of this process. */
export function createMemorySlots(): Slots {
  const taken = new Set<string>();
  return {
    claim: async (key) => {
      if (taken.has(key)) return undefined;
      taken.add(key);
      return () => taken.delete(key);
    },
  };
}
