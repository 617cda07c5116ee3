import { expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { generateWebhookSecret } from '../../src/domain/webhook.ts';
import { sendMessage } from '../../src/events/webhooks/message.ts';
import { createPost } from '../../src/events/webhooks/post.ts';
import { readPage } from '../support/docs/pages.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { startProgram } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';

test('the receiver in docs/events.md accepts messages that are signed with its secret, and no others', async () => {
  const [, code = ''] = /```ts\n([\s\S]*?)```/.exec(readPage('docs/events.md')) ?? [];
  // Inside the project, where its package is found.
  const file = `test/artifacts/receiver-${process.pid}.ts`;
  await Bun.write(file, code);
  const secret = generateWebhookSecret();
  const port = findFreePort();
  const receiver = startProgram(file, { WEBHOOK_SECRET: secret, PORT: String(port) });
  const post = createPost({ mayConnect: () => true });
  const message = {
    id: 'msg_1_5f0c9a1b-7',
    type: 'penalty.created',
    text: '{"type":"penalty.created","timestamp":"","data":{"penalty":{"player_name":"Ala"}}}',
  };
  const send = (key: string) =>
    sendMessage(post, { url: `http://127.0.0.1:${port}/`, secret: key }, message, { now: () => new Date() });
  try {
    const taken = await waitFor(async () => {
      const sent = await send(secret);
      return sent.status === null ? undefined : sent;
    });
    expect(taken.status).toBe(204);
    await waitFor(() => receiver.stdout() === 'msg_1_5f0c9a1b-7 penalty.created Ala\n');
    expect((await send(generateWebhookSecret())).status).toBe(400);
  } finally {
    receiver.kill('SIGKILL');
    await receiver.exited;
    await rm(file);
  }
});
