import { expect, test } from 'bun:test';
import { readUploadForm } from '../../../../api/web/account/upload-form.ts';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { asRequest, currentRequest } from '../../../../src/runtime/request.ts';

const TOKEN = '--x\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\nright\r\n';
const FILE = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
const CONTENT = 'bytes\r\n--\r\n--y'.repeat(3);
const END = '--x--\r\n';

const FORMS = {
  'token first': `${TOKEN}${FILE}${CONTENT}\r\n`,
  'file first': `${FILE}${CONTENT}\r\n${TOKEN}`,
};

for (const [order, form] of Object.entries(FORMS)) {
  test.each([5, 1000])(
    `a form, ${order}, in pieces of %i bytes is refused wherever it ends early`,
    async (size) => {
      for (let length = 0; length <= form.length; length++) {
        for (const isBroken of [true, false]) {
          const reading = read(streamOf(form.slice(0, length), { size, isBroken }));
          await expect(reading).rejects.toBeInstanceOf(InvalidInput);
        }
      }
      expect(await read(streamOf(form + END, { size, isBroken: false }))).toBe(CONTENT);
      expect(await read(streamOf(`${form}${END}after the end`, { size, isBroken: false }))).toBe(CONTENT);
    },
  );
}

test.each([
  ['without headers', '--x\r\n\r\n'],
  ['of another name', '--x\r\nContent-Disposition: form-data; name="other"; filename=""\r\n\r\n\r\n'],
  ['that are fields', '--x\r\nContent-Disposition: form-data; name="other"\r\n\r\n\r\n'],
])('a form of endless parts %s is refused without being read on', async (_, part) => {
  let sentBytes = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sentBytes > 4_000_000) return controller.close();
      const piece = Buffer.from(part.repeat(1000));
      sentBytes += piece.byteLength;
      controller.enqueue(piece);
    },
  });
  await expect(read(body)).rejects.toBeInstanceOf(InvalidInput);
  expect(sentBytes).toBeLessThan(1_000_000);
});

test('a form of endless parts in one piece is not read on either', async () => {
  const form = '--x\r\n\r\n'.repeat(2_000_000);
  const { user: before } = process.cpuUsage();
  await expect(read(streamOf(form, { size: form.length, isBroken: false }))).rejects.toBeInstanceOf(
    InvalidInput,
  );
  // To its end it takes five seconds.
  expect(process.cpuUsage().user - before).toBeLessThan(1_500_000);
});

test('a form that does not arrive in time is 408', async () => {
  const endless = new ReadableStream<Uint8Array>();
  await expect(read(endless, { limitMs: 1 })).rejects.toMatchObject({ key: 'sound-too-slow', status: 408 });
});

test('an upload that starts late and takes long gets a new deadline for the database before and after it', async () => {
  const leftMs: number[] = [];
  const note = async () => void leftMs.push(currentRequest().deadlineMs - performance.now());
  const body = streamOf(FORMS['token first'] + END, { size: 1000, isBroken: false });
  await asRequest('user 1', () => read(body, { onReceive: note, identifyAgain: note }), { limitMs: -1 });
  expect(leftMs.map((ms) => ms > 0)).toEqual([true, true]);
});

/** Reads a form while storing the file is slow: an error in the meantime must not be lost. */
async function read(
  body: ReadableStream<Uint8Array>,
  { limitMs = 5000, onReceive = async () => {}, identifyAgain = async () => {} } = {},
): Promise<string> {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  let text = '';
  await readUploadForm(new Request('http://localhost/', { method: 'POST', headers, body }), {
    maxBytes: 1000,
    limitMs,
    requireToken: (field) => expect(field).toBe('right'),
    values: new Map(),
    identifyAgain,
    receive: async (bytes) => {
      await onReceive();
      await Bun.sleep(1);
      for await (const chunk of bytes) text += Buffer.from(chunk).toString();
      return 'key';
    },
  });
  return text;
}

/** @param isBroken whether it ends like a lost connection. */
function streamOf(text: string, { size, isBroken }: { size: number; isBroken: boolean }) {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = text.slice(at, at + size);
      at += size;
      if (piece !== '') controller.enqueue(Buffer.from(piece));
      else if (isBroken) controller.error(new Error('the connection was lost'));
      else controller.close();
    },
  });
}
