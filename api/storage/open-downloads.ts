export type OpenDownloads = {
  /**
   * Counts a download until it is no longer open.
   * @param isOpen whether the response is still being sent and the client still there.
   * @returns false, and counts nothing, when the client has as many open as they may.
   */
  begin: (client: string, isOpen: () => boolean) => boolean;
};

/** Clients remembered before the downloads that have ended are looked for. */
const FIRST_SWEEP = 1024;

/**
 * Bounds the downloads that a client has open. Bun says nothing when a response has been sent, so whether one is open is
 * asked when it matters: at the client's next download, and of everybody whenever the number of clients has doubled.
 */
export function createOpenDownloads(maxPerClient: number): OpenDownloads {
  const byClient = new Map<string, (() => boolean)[]>();
  let sweepAt = FIRST_SWEEP;

  function sweep(): void {
    for (const [client, downloads] of byClient) {
      const open = downloads.filter((isOpen) => isOpen());
      if (open.length === 0) byClient.delete(client);
      else byClient.set(client, open);
    }
    sweepAt = Math.max(2 * byClient.size, FIRST_SWEEP);
  }

  return {
    begin: (client, isOpen) => {
      const open = (byClient.get(client) ?? []).filter((isStillOpen) => isStillOpen());
      const hasRoom = open.length < maxPerClient;
      byClient.set(client, hasRoom ? [...open, isOpen] : open);
      if (byClient.size >= sweepAt) sweep();
      return hasRoom;
    },
  };
}
