/** How long requests of one kind took, in milliseconds, and how many were not 2xx. */
type Watch = { waitsMs: number[]; failures: number };

type WatchOptions = {
  origin: string;
  headers: Record<string, string>;
  /** By kind: returns the path of the request with a number, or sends it; `waitMs` is set if only part of its time counts. */
  requests: Record<string, (number: number) => string | Promise<{ status: number; waitMs?: number }>>;
  everyMs: number;
};

async function read(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; waitMs?: number }> {
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  return response;
}

/** Sends a request of each kind in turn, again and again while work goes on. @returns a watch of each kind. */
export async function watchRequests(
  { origin, headers, requests, everyMs }: WatchOptions,
  work: () => Promise<unknown>,
): Promise<Record<string, Watch>> {
  const watches: Record<string, Watch> = {};
  let isOver = false;
  const send = async () => {
    for (let number = 0; !isOver; number++) {
      for (const [kind, path] of Object.entries(requests)) {
        watches[kind] ??= { waitsMs: [], failures: 0 };
        const startedAt = performance.now();
        const sent = path(number);
        const { status, waitMs } = await (typeof sent === 'string' ? read(origin + sent, headers) : sent);
        watches[kind].waitsMs.push(waitMs ?? performance.now() - startedAt);
        if (status >= 400) watches[kind].failures += 1;
      }
      await Bun.sleep(everyMs);
    }
  };
  const sending = send();
  await work();
  isOver = true;
  await sending;
  return watches;
}
