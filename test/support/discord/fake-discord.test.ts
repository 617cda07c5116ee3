import { expect, test } from 'bun:test';
import { anActor } from './actor.ts';
import { startFakeDiscord } from './fake-discord.ts';
import { checkMessage, type FakeComponent, type MessageForm } from './message-form.ts';

const fake = await startFakeDiscord();

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

/** An interaction, as a client receives it. */
async function receiveInteraction(): Promise<{ id: string; token: string }> {
  const connection = new WebSocket(`${fake.apiUrl.replace('http', 'ws')}/gateway?v=10&encoding=json`);
  const { promise, resolve } = Promise.withResolvers<{ id: string; token: string }>();
  connection.onmessage = ({ data }) => {
    const { op, t, d } = JSON.parse(String(data));
    if (op === 10) connection.send(JSON.stringify({ op: 2, d: { token: fake.token } }));
    if (t === 'READY') void fake.command('server', {}, anActor());
    if (t === 'INTERACTION_CREATE') resolve(d);
  };
  const interaction = await promise;
  connection.close();
  return interaction;
}

async function respond({ id, token }: { id: string; token: string }, body: object) {
  const url = `${fake.apiUrl}/v10/interactions/${id}/${token}/callback`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  const text = await response.text();
  return [response.status, ...(text === '' ? [] : [JSON.parse(text).code])];
}

test('the fake takes one acknowledgement, and knows no other token', async () => {
  const interaction = await receiveInteraction();
  const hello = { type: 4, data: { content: 'x' } };
  expect(await respond({ ...interaction, token: 'other' }, { type: 5 })).toEqual([404, 10062]);
  expect(await respond(interaction, { type: 4, data: {} })).toEqual([400, 50006]);
  expect(await respond(interaction, hello)).toEqual([204]);
  expect(await respond(interaction, hello)).toEqual([400, 40060]);
});

test('the fake forgets an interaction after three seconds', async () => {
  expect(fake.state.acknowledgeWithinMs).toBe(3000);
  fake.state.acknowledgeWithinMs = 20;
  const interaction = await receiveInteraction();
  await Bun.sleep(30);
  expect(await respond(interaction, { type: 5 })).toEqual([404, 10062]);
});
