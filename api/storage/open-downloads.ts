export type OpenDownloads = {
  /**
   * Counts a download until it is no longer open.
   * @param isOpen whether the response is still being sent and the client still there.
   * @returns false, without counting it, when the client has the maximum number open.
   */
  begin: (client: string, isOpen: () => boolean) => boolean;
};

/** The number of clients at which finished downloads are first swept. */
const FIRST_SWEEP = 1024;

/**
 * Bounds the open downloads of each client. Bun has no event for a response that was sent, so open downloads are
 * recounted at the client's next download, and those of all clients whenever the number of clients has doubled.
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
