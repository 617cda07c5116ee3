import { isUtf8 } from 'node:buffer';
import { InvalidInput } from '../../domain/errors.ts';
import type { ImportSummary } from '../import-report.ts';
import {
  type ImportDeps,
  type ImportOptions,
  type ItemParser,
  importPages,
  runImport,
} from '../import-run.ts';
import { parseNdjsonLine } from './rows.ts';

/** A batch ends with either. */
const BATCH_LINES = 10_000;
const BATCH_BYTES = 8_388_608;

type NdjsonOptions = ImportOptions & {
  /** The bytes of the file or of standard input. */
  chunks: AsyncIterable<Uint8Array>;
  /** Its size, to show progress; undefined when it is unknown. */
  totalBytes?: number | undefined;
  /** Names the source when several systems export lines; `ndjson` by default. */
  source?: string | undefined;
};

/**
 * Imports penalties from a stream of newline-delimited JSON. A bad line is set aside and reported by its number; blank
 * lines are ignored. A repeated import changes nothing; penalties that a later file lacks stay.
 */
export async function importNdjson(
  deps: ImportDeps,
  { chunks, totalBytes, source = 'ndjson', ...options }: NdjsonOptions,
): Promise<ImportSummary> {
  return runImport(deps, { name: source, kind: 'ndjson', address: '', prefix: '' }, options, async (run) => {
    let bytesRead = 0;
    const pages = readLines(chunks, (bytes) => {
      bytesRead += bytes;
    });
    const parser: ItemParser<Line> = {
      table: 'line',
      idsOf: (line) => [String(line.number)],
      parse: ({ text }, { warn }) => {
        if (text === undefined) throw new InvalidInput('it is not UTF-8, or longer than 1 MiB');
        return parseNdjsonLine(text, warn);
      },
    };
    await importPages(run, pages, parser, () => totalBytes && bytesRead / totalBytes);
  });
}

/** A line and its number, from 1; `text` is undefined if it is invalid UTF-8 or longer than {@link MAX_LINE_BYTES}. */
type Line = { number: number; text: string | undefined };

/** No penalty needs more, and a file without line ends must not fill the memory. */
const MAX_LINE_BYTES = 1_048_576;

const NEWLINE = 10;

/**
 * Splits bytes into batches of lines at LF or CRLF. Blank lines, and a byte order mark at the beginning, are left out.
 * @param onChunk called with the size of each chunk.
 */
async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  onChunk: (bytes: number) => void,
): AsyncGenerator<Line[]> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let number = 0;
  let batch: Line[] = [];
  let batchBytes = 0;
  for await (const chunk of chunks) {
    onChunk(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      endLine(chunk.subarray(start, end));
      start = end + 1;
      if (batch.length >= BATCH_LINES || batchBytes >= BATCH_BYTES) {
        yield batch;
        batch = [];
        batchBytes = 0;
      }
    }
    const rest = chunk.subarray(start);
    pendingBytes += rest.length;
    // Of a line that is too long only the length is kept.
    if (pendingBytes > MAX_LINE_BYTES) pending = [];
    else pending.push(rest.slice());
  }
  if (pendingBytes > 0) endLine(new Uint8Array());
  if (batch.length > 0) yield batch;

  function endLine(rest: Uint8Array): void {
    number += 1;
    const bytes = Buffer.concat([...pending, rest]);
    const isText = pendingBytes + rest.length <= MAX_LINE_BYTES && isUtf8(bytes);
    const text = isText ? bytes.toString().replace(/^\ufeff|\r$/g, '') : undefined;
    if (text?.trim() !== '') batch.push({ number, text });
    batchBytes += bytes.length;
    pending = [];
    pendingBytes = 0;
  }
}
