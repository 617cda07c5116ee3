import { InteractionResponseType, InteractionType } from 'discord.js';
import type { FakeDiscord } from '../discord/fake-discord.ts';

const IDENTIFY = { op: 2, d: { token: '', intents: 0, properties: {} } };
const HELLO = 10;

type Interaction = { id: string; token: string; type: number };
type Payload = { op: number; t?: string; d: Interaction };

/**
 * A client of Discord that only acknowledges each interaction at once. It measures how long the fake Discord and the
 * connection to it take by themselves.
 * @returns the function that disconnects it.
 */
export async function startMinimalBot({ apiUrl, token }: FakeDiscord): Promise<() => Promise<void>> {
  const socket = new WebSocket(`${apiUrl.replace('http', 'ws')}/gateway`);
  const ready = Promise.withResolvers<void>();
  const closed = new Promise<void>((resolve) => socket.addEventListener('close', () => resolve()));
  socket.addEventListener('message', ({ data }) => {
    const { op, t, d }: Payload = JSON.parse(String(data));
    if (op === HELLO) socket.send(JSON.stringify({ ...IDENTIFY, d: { ...IDENTIFY.d, token } }));
    if (t === 'READY') ready.resolve();
    if (t === 'INTERACTION_CREATE') void acknowledge(d);
  });

  async function acknowledge({ id, token, type }: Interaction): Promise<void> {
    const body =
      type === InteractionType.ApplicationCommandAutocomplete
        ? { type: InteractionResponseType.ApplicationCommandAutocompleteResult, data: { choices: [] } }
        : { type: InteractionResponseType.DeferredChannelMessageWithSource };
    await fetch(`${apiUrl}/v10/interactions/${id}/${token}/callback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  await ready.promise;
  return async () => {
    socket.close();
    await closed;
  };
}
