import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { InvalidInput } from '../../src/errors.ts';
import { CSRF_FIELD } from './form.ts';
import { PageError } from './page-error.ts';
import type { UploadSlot } from './upload-slots.ts';

/** The file of a form that is still arriving. */
export type ArrivingFile = {
  /** As the file is called where it comes from, without folders. */
  fileName: string;
  /** Ends when the whole form has come and is found right; fails otherwise, and then nothing it gave may be kept. */
  bytes: AsyncIterable<Uint8Array>;
};

type Options<T> = {
  /** The largest file. */
  maxBytes: number;
  /** How long the form may take to arrive. */
  limitMs: number;
  /** Where the form arrives; its signal's reason is what reading fails with. */
  slot: UploadSlot;
  /** Throws unless the CSRF field is right. Asked before the file is touched where the field comes first, and at the end. */
  requireToken: (field: string | undefined) => void;
  store: (file: ArrivingFile) => Promise<T>;
};

type OpenedFile = { part: BusboyFileStream; fileName: string };

const FILE_FIELD = 'file';
/** The page's own form has one field beside the file. */
const LIMITS = { fields: 8, fieldSize: 1024, headerPairs: 32, headerSize: 16_384 };

/**
 * Reads a multipart form with one `file`, whose bytes go to `store` as they come: only pieces of it are ever in memory.
 * What is left of a form that is refused is not read.
 * @returns what `store` returns.
 * @throws {InvalidInput} when it is no multipart form, breaks off, or has two files.
 * @throws {PageError} 400 `sound-missing` or `sound-empty`, 408 `sound-too-slow`, 413 `sound-too-large`.
 * @throws the reason of the slot's signal.
 * @throws what `requireToken` and `store` throw.
 */
export async function readUploadForm<T>(request: Request, options: Options<T>): Promise<T> {
  const { maxBytes, limitMs, slot, requireToken, store } = options;
  const parser = openParser(request, maxBytes);
  const reading = new AbortController();
  const timer = setTimeout(() => reading.abort(new PageError('sound-too-slow', 408)), limitMs);
  slot.signal.addEventListener('abort', () => reading.abort(slot.signal.reason));
  const opened = Promise.withResolvers<OpenedFile | undefined>();
  let file: BusboyFileStream | undefined;
  let tokenField: string | undefined;
  parser.on('field', (name, value) => {
    if (name === CSRF_FIELD) tokenField = value;
  });
  parser.on('file', (name, part, fileName) => {
    // A form that breaks off before anybody reads the file would end the process.
    part.on('error', () => {});
    if (name !== FILE_FIELD) {
      part.resume();
    } else if (file) {
      parser.destroy(new InvalidInput('the form has two files'));
    } else {
      file = part;
      opened.resolve({ part, fileName });
    }
  });
  // As a Readable: a pipeline that is given the body itself does not end when it is aborted (Bun 1.4.5).
  const source = request.body ? Readable.fromWeb(request.body) : Readable.from([]);
  const arrival = pipeline(source, parser, { signal: reading.signal }).then(
    slot.complete,
    (cause: unknown) => {
      const failure = toFailure(cause);
      file?.destroy(failure);
      throw failure;
    },
  );
  source.on('data', (chunk: Uint8Array) => slot.note(chunk.byteLength));
  arrival.then(() => opened.resolve(undefined), opened.reject);

  async function* readFile({ part, fileName }: OpenedFile): AsyncGenerator<Uint8Array> {
    let sizeBytes = 0;
    try {
      for await (const chunk of part) {
        sizeBytes += chunk.byteLength;
        yield chunk;
      }
    } catch (error) {
      await arrival;
      throw error;
    }
    await arrival;
    requireToken(tokenField);
    // A browser sends a part without a name for a file nobody chose.
    if (sizeBytes === 0) throw new PageError(fileName === '' ? 'sound-missing' : 'sound-empty', 400);
    if (part.truncated) throw tooLarge(maxBytes);
  }

  try {
    const found = await opened.promise;
    if (!found || tokenField !== undefined) requireToken(tokenField);
    if (!found) throw new PageError('sound-missing', 400);
    return await store({ fileName: decodeFileName(found.fileName), bytes: readFile(found) });
  } finally {
    clearTimeout(timer);
    reading.abort();
  }
}

/** The refusal of a file larger than this. */
export function tooLarge(maxBytes: number): PageError {
  return new PageError('sound-too-large', 413, { limit: toMegabytes(maxBytes) });
}

/** Whole megabytes, as visitors are told them. */
export function toMegabytes(bytes: number): number {
  return Math.floor(bytes / (1024 * 1024));
}

/** Undoes what browsers do to three characters of a file name in a form (HTML, section 4.10.21.8); `%` they leave. */
function decodeFileName(name: string): string {
  return name.replaceAll('%22', '"').replace(/%0[AD]/g, ' ');
}

function openParser(request: Request, maxBytes: number): BusboyInstance {
  const type = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\b/i.test(type)) throw new InvalidInput('the upload is no multipart form');
  try {
    return new Busboy({
      headers: { 'content-type': type },
      limits: { ...LIMITS, fileSize: maxBytes },
      isPartAFile: (_name, _type, fileName) => fileName !== undefined,
    });
  } catch (cause) {
    throw new InvalidInput('the upload is no multipart form', { cause });
  }
}

function toFailure(cause: unknown): Error {
  if (cause instanceof InvalidInput) return cause;
  if (cause instanceof Error && cause.cause instanceof PageError) return cause.cause;
  return new InvalidInput('the upload is no whole multipart form', { cause });
}
