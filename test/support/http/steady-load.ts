/** One request of a load. */
type LoadResponse = {
  status: number;
  path: string;
  /** Of an error, which tells who sent it; empty otherwise. */
  text: string;
};

type LoadOptions = {
  paths: readonly string[];
  /** Of every request, or of each by its number. */
  init?: RequestInit | ((number: number) => RequestInit);
  perSecond?: number;
};

/** Sends requests at a steady rate, whether or not those before have come back. A connection that fails is status 0. */
export function startLoad(origin: string, { paths, init, perSecond = 40 }: LoadOptions) {
  const responses: Promise<LoadResponse>[] = [];
  const ask = async (number: number): Promise<LoadResponse> => {
    const path = paths[number % paths.length] ?? '/';
    const { status, text } = await fetch(
      origin + path,
      typeof init === 'function' ? init(number) : init,
    ).then(
      async (response) => {
        const body = await response.text();
        return { status: response.status, text: response.ok ? '' : body.slice(0, 200) };
      },
      (error: unknown) => ({ status: 0, text: String(error) }),
    );
    return { status, path, text };
  };
  const timer = setInterval(() => {
    responses.push(ask(responses.length));
  }, 1000 / perSecond);
  return {
    /** Ends it. @returns every response, the last one included. */
    stop: (): Promise<LoadResponse[]> => {
      clearInterval(timer);
      return Promise.all(responses);
    },
  };
}

/** How often each status came. */
export function countStatuses(responses: readonly Pick<LoadResponse, 'status'>[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
