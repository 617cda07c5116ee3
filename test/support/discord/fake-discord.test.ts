import { afterAll, describe, expect, test } from 'bun:test';
import { anActor } from './actor.ts';
import { checkCommands } from './command-form.ts';
import { startFakeDiscord } from './fake-discord.ts';
import { checkMessage, type MessageForm } from './message-form.ts';

const fake = await startFakeDiscord();
afterAll(() => fake.stop());

const button = (values: object) => ({
  components: [{ type: 1, components: [{ type: 2, style: 2, ...values }] }],
});
const menu = (values: object) => ({
  components: [{ type: 1, components: [{ type: 3, custom_id: 'x', ...values }] }],
});

const anOption = (value: string) => ({ label: value, value });
const aButton = (customId: string) => button({ label: 'x', custom_id: customId }).components;

describe('a message is refused', () => {
  test.each<[string, MessageForm]>([
    ['a title over 256', { embeds: [{ title: 'x'.repeat(257) }] }],
    ['a field over 1024', { embeds: [{ fields: [{ name: 'x', value: 'x'.repeat(1025) }] }] }],
    ['an empty field', { embeds: [{ fields: [{ name: 'x', value: ' ' }] }] }],
    [
      '6001 characters over all embeds',
      { embeds: [{ description: 'x'.repeat(4000) }, { description: 'x'.repeat(2001) }] },
    ],
    ['a file that is not there', { embeds: [{ image: { url: 'attachment://a.png' } }] }],
    ['a custom_id over 100', { components: aButton('x'.repeat(101)) }],
    ['a label over 80', button({ label: 'x'.repeat(81), custom_id: 'x' })],
    ['steam:// in a button', button({ label: 'x', style: 5, url: 'steam://connect/1.2.3.4' })],
    ['localhost in a button', button({ label: 'x', style: 5, url: 'http://localhost:3000' })],
    ['a button without a custom_id', button({ label: 'x' })],
    ['26 options', menu({ options: Array.from({ length: 26 }, (_, at) => anOption(`${at}`)) })],
    ['the same option twice', menu({ options: [anOption('x'), anOption('x')] })],
    [
      'the same custom_id twice',
      { components: [...aButton('x'), ...menu({ options: [anOption('x')] }).components] },
    ],
    ['six rows', { components: ['1', '2', '3', '4', '5', '6'].flatMap(aButton) }],
  ])('a message is refused for %s', (_, form) => {
    expect(checkMessage(form, [])).toMatchObject({ code: 50035 });
  });

  test('the fake refuses an empty message', () => {
    expect(checkMessage({}, [])).toMatchObject({ code: 50006 });
    expect(checkMessage({ content: 'x' }, [])).toBeUndefined();
  });

  test.each<[string, MessageForm]>([
    ['texts', { embeds: [{ title: 'x'.repeat(256), fields: [{ name: 'x', value: 'x'.repeat(1024) }] }] }],
    ['a button', button({ label: 'x'.repeat(80), custom_id: 'x'.repeat(100) })],
    ['a link', button({ label: 'x', style: 5, url: 'https://example.org' })],
    ['a menu', menu({ options: [anOption('x')] })],
  ])('a message with %s within the limits is accepted', (_, form) => {
    expect(checkMessage(form, [])).toBeUndefined();
  });
});

describe('commands are refused', () => {
  const command = { name: 'a', description: 'b' };

  test('the fake accepts commands in which nothing is wrong', () => {
    expect(checkCommands([command], { isGuild: true })).toBeUndefined();
  });

  test.each<[string, Parameters<typeof checkCommands>[0]]>([
    ['the same name twice', [command, command]],
    ['contexts in a guild', [{ ...command, contexts: [0] }]],
    [
      'more than 8000 characters',
      [
        {
          ...command,
          options: Array.from({ length: 25 }, (_, at) => ({
            type: 3,
            name: `o${at}`,
            choices: Array.from({ length: 25 }, () => ({ name: 'x'.repeat(90), value: 'y' })),
          })),
        },
      ],
    ],
  ])('commands are refused for %s', (_, commands) => {
    expect(checkCommands(commands, { isGuild: true })).toMatchObject({ code: 50035 });
  });
});

describe('an interaction', () => {
  const socket = async () => {
    const connection = new WebSocket(`${fake.apiUrl.replace('http', 'ws')}/gateway?v=10&encoding=json`);
    const sent = Promise.withResolvers<{ id: string; token: string }>();
    connection.onmessage = ({ data }) => {
      const { op, t, d } = JSON.parse(String(data));
      if (op === 10)
        connection.send(JSON.stringify({ op: 2, d: { token: fake.token, intents: 0, properties: {} } }));
      if (t === 'READY') void fake.command('server', {}, anActor());
      if (t === 'INTERACTION_CREATE') sent.resolve(d);
    };
    return { interaction: await sent.promise, close: () => connection.close() };
  };
  const respond = async ({ id, token }: { id: string; token: string }, body: object) => {
    const response = await fetch(`${fake.apiUrl}/v10/interactions/${id}/${token}/callback`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, code: text === '' ? undefined : JSON.parse(text).code };
  };

  test('the fake takes one acknowledgement of the right kind, and knows no other token', async () => {
    const { interaction, close } = await socket();
    expect(await respond({ ...interaction, token: 'other' }, { type: 5 })).toEqual({
      status: 404,
      code: 10062,
    });
    expect(await respond(interaction, { type: 7, data: { content: 'x' } })).toEqual({
      status: 400,
      code: 50035,
    });
    expect(await respond(interaction, { type: 4, data: {} })).toEqual({ status: 400, code: 50006 });
    expect(await respond(interaction, { type: 4, data: { content: 'x' } })).toEqual({
      status: 204,
      code: undefined,
    });
    expect(await respond(interaction, { type: 4, data: { content: 'x' } })).toEqual({
      status: 400,
      code: 40060,
    });
    close();
  });

  test('the fake forgets an interaction after three seconds', async () => {
    expect(fake.state.acknowledgeWithinMs).toBe(3000);
    fake.state.acknowledgeWithinMs = 20;
    const { interaction, close } = await socket();
    await Bun.sleep(30);
    expect(await respond(interaction, { type: 5 })).toEqual({ status: 404, code: 10062 });
    close();
  });
});
