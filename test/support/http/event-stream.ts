export type EventStreamClient = Awaited<ReturnType<typeof openEventStream>>;

/** Reads a stream of server-sent events as the HTML standard says. */
export async function openEventStream(url: string, headers: Record<string, string> = {}) {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  const events: { id: string | undefined; type: string; data: unknown }[] = [];
  let lastEventId: string | undefined;

  function readBlock(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''));
    }
    lastEventId = fields.get('id') ?? lastEventId;
    const data = fields.get('data');
    if (data === undefined) return;
    events.push({ id: fields.get('id'), type: fields.get('event') ?? 'message', data: JSON.parse(data) });
  }

  async function read(): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      blocks.forEach(readBlock);
    }
  }

  const closed = read().catch(() => {});
  return {
    status: response.status,
    headers: response.headers,
    /** All that came so far. */
    events,
    /** The cursor that a reconnecting browser would send. */
    lastEventId: () => lastEventId,
    /** Settles when the service ends the stream. */
    closed,
    leave: () => leaving.abort(),
  };
}
