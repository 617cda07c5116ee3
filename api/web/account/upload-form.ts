import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { parseStart, parseStartMs, type SoundStart } from '../../../src/domain/round-sound.ts';
import { withNewDeadline } from '../../../src/runtime/request.ts';
import { CSRF_FIELD } from '../request/forms/form.ts';
import { PageError } from '../request/page-error.ts';

type Options = {
  /** The largest allowed file. */
  maxBytes: number;
  /** How long receiving the form may take. */
  limitMs: number;
  /** Throws unless the CSRF token is valid. Called before the file is read if the field comes first, and at the end. */
  requireToken: (field: string | undefined) => void;
  /** Receives the field that the form shows again when it is refused. */
  values: Map<string, string>;
  /** Called once the form has been received; throws when the session has ended. */
  identifyAgain: () => Promise<unknown>;
  /** Stores the file as it arrives, unless its bytes fail. @returns its key. */
  receive: (bytes: AsyncIterable<Uint8Array>) => Promise<string>;
};

/** The parser reads each piece to its end, even one that exceeds a limit at its beginning. */
const PIECE_BYTES = 64 * 1024;

/** A form that was received. */
type UploadForm = { uploadKey: string; fileName: string; start: SoundStart | undefined };

type OpenedFile = { part: BusboyFileStream; fileName: string };

const FILE_FIELD = 'file';
/** Minutes and seconds from the start of the file. */
export const START_FIELD = 'start';
/** Milliseconds from the first sound, for programs. */
const START_MS_FIELD = 'start_ms';
/** The page's own form has two fields besides the file. Each part takes far more processor time than its bytes. */
const LIMITS = { parts: 16, fields: 8, fieldSize: 1024, headerPairs: 32, headerSize: 16_384 };

/**
 * Reads a multipart form with one `file` and streams its bytes to `receive`. The rest of a rejected form is not read.
 * @throws {InvalidInput} when it is not a multipart form, ends early, or has two files, two starts or too many parts.
 * @throws {PageError} 400 `sound-missing`, `sound-empty` or `sound-start`, 408 `sound-too-slow`, 413 `sound-too-large`.
 * @throws what `requireToken`, `identifyAgain` and `receive` throw.
 */
export async function readUploadForm(request: Request, options: Options): Promise<UploadForm> {
  const { maxBytes, limitMs, requireToken, values, identifyAgain, receive } = options;
  const parser = openParser(request, maxBytes);
  const controller = new AbortController();
  // Not withTimeLimit: the received data has to be cleaned up before the visitor gets a response.
  const timer = setTimeout(() => controller.abort(new PageError('sound-too-slow', 408)), limitMs);
  const firstFile = Promise.withResolvers<OpenedFile | undefined>();
  let filePart: BusboyFileStream | undefined;
  let tokenField: string | undefined;
  parser.on('field', (name, value) => {
    if (name === CSRF_FIELD) tokenField = value;
    if (name === START_FIELD || name === START_MS_FIELD) values.set(name, value);
  });
  parser.on('file', (name, part, fileName) => {
    // Without a listener, a form that ends before the file is read would crash the process with an unhandled 'error'.
    part.on('error', () => {});
    if (name !== FILE_FIELD) {
      part.resume();
    } else if (filePart) {
      parser.destroy(new InvalidInput('the form has two files'));
    } else {
      filePart = part;
      firstFile.resolve({ part, fileName });
    }
  });
  parser.on('partsLimit', () => parser.destroy(new InvalidInput('the form has too many parts')));
  // Convert to a Readable: a pipeline that reads the web stream directly does not end when aborted (Bun 1.4.5).
  const source = request.body ? Readable.fromWeb(request.body) : Readable.from([]);
  const arrival = pipeline(source, inPieces, parser, { signal: controller.signal }).catch(
    (cause: unknown) => {
      const failure = toFailure(cause);
      filePart?.destroy(failure);
      throw failure;
    },
  );
  arrival.then(() => firstFile.resolve(undefined), firstFile.reject);

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
    readStart(values);
    // When no file is selected, browsers send a part with an empty file name.
    if (sizeBytes === 0) throw new PageError(fileName === '' ? 'sound-missing' : 'sound-empty', 400);
    if (part.truncated) throw tooLarge(maxBytes);
    await withNewDeadline(identifyAgain);
  }

  try {
    const file = await firstFile.promise;
    if (!file || tokenField !== undefined) requireToken(tokenField);
    if (!file) throw new PageError('sound-missing', 400);
    readStart(values);
    const uploadKey = await withNewDeadline(() => receive(readFile(file)));
    return { uploadKey, fileName: decodeFileName(file.fileName), start: readStart(values) };
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

/** Cuts a body, which may arrive in pieces of megabytes, into small ones. */
async function* inPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }
}

/** @throws {PageError} 400 `sound-start` · {InvalidInput} when both fields have values. */
function readStart(values: ReadonlyMap<string, string>): SoundStart | undefined {
  const start = values.get(START_FIELD)?.trim() ?? '';
  const startMs = values.get(START_MS_FIELD)?.trim() ?? '';
  if (start !== '' && startMs !== '') throw new InvalidInput('the form has both start and start_ms');
  try {
    if (start !== '') return { startMs: parseStart(start), startFrom: 'file' };
    return startMs === '' ? undefined : { startMs: parseStartMs(startMs), startFrom: 'first_sound' };
  } catch (cause) {
    throw new PageError('sound-start', 400, { cause });
  }
}

/** The error for a file larger than `maxBytes`. */
export function tooLarge(maxBytes: number): PageError {
  return new PageError('sound-too-large', 413, { limit: toMegabytes(maxBytes) });
}

/** Converts to whole megabytes, rounded down, for messages. */
export function toMegabytes(bytes: number): number {
  return Math.floor(bytes / (1024 * 1024));
}

/** Decodes the characters that browsers percent-encode in form file names: `"`, CR and LF (HTML, section 4.10.21.8). */
function decodeFileName(name: string): string {
  return name.replaceAll('%22', '"').replace(/%0[AD]/g, ' ');
}

function openParser(request: Request, maxBytes: number): BusboyInstance {
  const type = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\b/i.test(type)) throw new InvalidInput('the upload is not a multipart form');
  try {
    return new Busboy({
      headers: { 'content-type': type },
      limits: { ...LIMITS, fileSize: maxBytes },
      isPartAFile: (_name, _type, fileName) => fileName !== undefined,
    });
  } catch (cause) {
    throw new InvalidInput('the upload is not a multipart form', { cause });
  }
}

function toFailure(cause: unknown): Error {
  if (cause instanceof InvalidInput) return cause;
  if (cause instanceof Error && cause.cause instanceof PageError) return cause.cause;
  return new InvalidInput('the upload is not a complete multipart form', { cause });
}
