/** An event as a client of server-sent events reads it. */
export type ReceivedEvent = { id: string | undefined; type: string; data: unknown };

export type EventStreamClient = {
  status: number;
  headers: Headers;
  /** All that came so far. */
  events: ReceivedEvent[];
  /** The cursor that a reconnecting browser would send. */
  lastEventId: () => string | undefined;
  /** Settles when the service ends the stream. */
  closed: Promise<void>;
  /** Leaves. */
  leave: () => void;
};

/** Reads a stream of server-sent events as the HTML standard says. */
export async function openEventStream(
  url: string,
  headers: Record<string, string> = {},
): Promise<EventStreamClient> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  const events: ReceivedEvent[] = [];
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
    events,
    lastEventId: () => lastEventId,
    closed,
    leave: () => leaving.abort(),
  };
}
