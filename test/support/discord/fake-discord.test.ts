import { expect, test } from 'bun:test';
import { anActor } from './actor.ts';
import type { Exchange } from './exchange.ts';
import { ACKNOWLEDGE_WITHIN_MS } from './fake-discord.ts';
import { createInteractionRoutes } from './interaction-routes.ts';
import { checkMessage, type FakeComponent, type MessageForm } from './message-form.ts';
import { createMessageStore } from './messages.ts';
import type { RestCall } from './rest-call.ts';
import { nextSnowflake } from './snowflake.ts';

const row = (type: number, values: object): FakeComponent => ({ type: 1, components: [{ type, ...values }] });
const aButton = (values: object) => row(2, { style: 2, label: 'x', custom_id: 'x', ...values });
const aLink = (url: string) => row(2, { style: 5, label: 'x', url });
const aMenu = (...values: string[]) =>
  row(3, { custom_id: 'x', options: values.map((value) => ({ label: value, value })) });
const numbers = (amount: number) => Array.from({ length: amount }, (_, at) => String(at));

test.each<[string, MessageForm]>([
  ['a title over 256', { embeds: [{ title: 'x'.repeat(257) }] }],
  ['a field over 1024', { embeds: [{ fields: [{ name: 'x', value: 'x'.repeat(1025) }] }] }],
  ['an empty field', { embeds: [{ fields: [{ name: 'x', value: ' ' }] }] }],
  ['6001 in all embeds', { embeds: [2000, 4001].map((amount) => ({ description: 'x'.repeat(amount) })) }],
  ['a file that is not there', { embeds: [{ image: { url: 'attachment://a.png' } }] }],
  ['a custom_id over 100', { components: [aButton({ custom_id: 'x'.repeat(101) })] }],
  ['a label over 80', { components: [aButton({ label: 'x'.repeat(81) })] }],
  ['steam:// in a button', { components: [aLink('steam://connect/1.2.3.4')] }],
  ['localhost in a button', { components: [aLink('http://localhost:3000')] }],
  ['a button without a custom_id', { components: [aButton({ custom_id: undefined })] }],
  ['26 options', { components: [aMenu(...numbers(26))] }],
  ['the same option twice', { components: [aMenu('x', 'x')] }],
  ['the same custom_id twice', { components: [aButton({}), aMenu('x')] }],
  ['six rows', { components: numbers(6).map((id) => aButton({ custom_id: id })) }],
])('a message is refused for %s', (_, form) => {
  expect(checkMessage(form, [])).toMatchObject({ code: 50035 });
});

test('the fake refuses an empty message', () => {
  expect(checkMessage({}, [])).toMatchObject({ code: 50006 });
  expect(checkMessage({ content: 'x' }, [])).toBeUndefined();
});

const exchanges = new Map<string, Exchange>();
const { acknowledge } = createInteractionRoutes({
  exchanges,
  messages: createMessageStore({}, { keeps: true }),
  state: { acknowledgeWithinMs: ACKNOWLEDGE_WITHIN_MS },
  onAcknowledged: () => {},
});

/** A command that was sent so long ago. */
function sendCommand({ msAgo }: { msAgo: number }): Exchange {
  const [id, token] = [nextSnowflake(), nextSnowflake()];
  const sentAt = Date.now() - msAgo;
  const exchange = { id, token, type: 2, sentAt, followUps: [], actor: anActor(), refusals: [] };
  exchanges.set(token, exchange);
  return exchange;
}

/** The status, and the code of a refusal. */
async function respond({ id, token }: { id: string; token: string }, body: RestCall['body']) {
  const call = { method: 'POST', path: '', query: new URLSearchParams(), body, files: [], authorization: '' };
  const response = acknowledge(call, id, token);
  return [response.status, /"code":(\d+)/.exec(await response.text())?.[1]];
}

test('the fake takes one acknowledgement, and knows no other token', async () => {
  const interaction = sendCommand({ msAgo: 2000 });
  const hello = { type: 4, data: { content: 'x' } };
  expect(await respond({ ...interaction, token: 'other' }, { type: 5 })).toEqual([404, '10062']);
  expect(await respond(interaction, { type: 4, data: {} })).toEqual([400, '50006']);
  expect(await respond(interaction, hello)).toEqual([204, undefined]);
  expect(await respond(interaction, hello)).toEqual([400, '40060']);
});

test('the fake forgets an interaction after three seconds', async () => {
  expect(await respond(sendCommand({ msAgo: 3001 }), { type: 5 })).toEqual([404, '10062']);
});
