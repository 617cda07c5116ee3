import { beforeEach, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import type { SoundStart } from '../../../../src/domain/round-sound.ts';
import type { Browser, Page } from '../../../support/web/browser.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';

const { en } = PAGE_TEXTS;

let starts: (SoundStart | undefined)[] = [];
const { signedIn } = await openMemberSite({
  sounds: {
    limits: { maxSeconds: 10, maxUploadBytes: 1024 * 1024, audience: 'everyone' },
    receiveUpload: async (_, bytes) => {
      for await (const _chunk of bytes);
      return 'key';
    },
    queueUpload: async ({ start }) => starts.push(start),
    removeSound: async () => undefined,
  },
});

let browser: Browser;
beforeEach(async () => {
  starts = [];
  browser = await signedIn(1);
});

const fieldOf = (text: string) => /<input[^>]*name="start"[^>]*>/.exec(text)?.[0] ?? '';

test('the start is a field for minutes and seconds without a script', async () => {
  const { text } = await browser.get('/account');
  expect(fieldOf(text)).toContain('value="0:00"');
  expect(text).toContain(`<label for="sound-start">${en.roundSound.start}</label>`);
});

const IN_FILE: SoundStart = { startMs: 67_500, startFrom: 'file' };
const AFTER_SILENCE: SoundStart = { startMs: 12_500, startFrom: 'first_sound' };

test.each([
  ['before the file', { start: '1:07.5' }, true, IN_FILE],
  ['after the file', { start: '67.5' }, false, IN_FILE],
  ['from the first sound', { start_ms: '12500', start: '' }, true, AFTER_SILENCE],
  ['that is empty', { start: '', start_ms: '' }, true, undefined],
  ['that is absent', {}, true, undefined],
])('a start %s is stored with the upload', async (_, fields, isFirst, expected) => {
  expect((await upload(fields, isFirst)).status).toBe(202);
  expect(starts).toEqual([expected]);
});

test.each([true, false])(
  'an invalid start is refused, and nothing is stored (before the file: %p)',
  async (isFirst) => {
    for (const fields of [{ start: '-1' }, { start: '10:01' }, { start_ms: '1.5' }, { start_ms: '600001' }]) {
      const sent = await upload(fields, isFirst);
      expect(sent.status).toBe(400);
      expect(JSON.parse(sent.text)).toEqual({
        success: false,
        message: en.errors['sound-start'],
      });
    }
    expect((await upload({ start: '0:00', start_ms: '0' }, isFirst)).status).toBe(400);
    expect(starts).toEqual([]);
  },
);

test('the form keeps the start that was entered without a script, whatever was wrong', async () => {
  for (const [start, file] of [
    ['1:07.5', new File([], '')],
    ['10:01', new File(['any bytes'], 'fanfare.mp3')],
  ] as const) {
    const refused = await upload({ start }, true, { file, accept: 'text/html' });
    expect([refused.status, fieldOf(refused.text)]).toEqual([
      400,
      expect.stringContaining(`value="${start}"`),
    ]);
  }
});

function upload(
  fields: { start?: string; start_ms?: string },
  isFirst: boolean,
  { file = new File(['any bytes'], 'fanfare.mp3'), accept = 'application/json' } = {},
): Promise<Page> {
  const form = new FormData();
  if (!isFirst) form.append('file', file);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (isFirst) form.append('file', file);
  return browser.post('/account/roundsound', form, { accept });
}
