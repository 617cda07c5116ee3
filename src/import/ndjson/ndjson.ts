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
import { tryParse } from '../source/values.ts';
import { parseNdjsonLine, parseObject } from './rows.ts';

/** A batch ends at whichever comes first. */
const BATCH_LINES = 10_000;
const BATCH_BYTES = 8_388_608;

type NdjsonOptions = ImportOptions & {
  /** The bytes of the file or of standard input. */
  chunks: AsyncIterable<Uint8Array>;
  /** Its size, to show progress; undefined when it is unknown. */
  totalBytes?: number | undefined;
  /** Names the source when several systems export lines; `ndjson` by default. */
  source?: string | undefined;
  /** Imports penalties without their servers: the lines are of another service, whose ids mean other servers. */
  withoutServers?: boolean | undefined;
};

/**
 * Imports penalties from a stream of newline-delimited JSON. A bad line is set aside and reported by its number; blank
 * lines and the last line of our own exports are ignored. A repeated import changes nothing; missing penalties stay.
 */
export async function importNdjson(
  deps: ImportDeps,
  { chunks, totalBytes, source = 'ndjson', withoutServers = false, ...options }: NdjsonOptions,
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
        const penalty = parseNdjsonLine(text, warn);
        return withoutServers ? { ...penalty, serverId: 0 } : penalty;
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
const FORMAT_BYTES = 64;

/** The last line of `/penalties/export`. */
const END_OF_EXPORT = /^\s*\{"end":true,/;

/** How other formats begin, and what to do with such a file. */
const OTHER_FORMATS: readonly [start: RegExp, advice: string][] = [
  [/^(\xff\xfe|\xfe\xff|\0|.\0)/s, 'UTF-16: convert it to UTF-8 with `iconv -f UTF-16 -t UTF-8`'],
  [/^\[/, "a JSON array, not one object a line: convert it with `jq -c '.[]'`"],
  [/^.\x8b/s, 'compressed: import it with `gunzip -c FILE | bun run cli penalties import ndjson -`'],
  [/^(PK|BZh|\xfd7zXZ|7z\xbc\xaf|\x28\xb5\x2f\xfd)/, 'an archive: unpack it first'],
  [
    /^SQLite format 3/,
    'an SQLite database: import it with `bun run cli penalties import simpleadmin --url sqlite:PATH`',
  ],
  [
    /^(--|\/\*|PGDMP|(create|drop|insert|set|use)\s)/i,
    'a dump of a database: load it into one, and import that',
  ],
  [/^</, 'XML or HTML, not one JSON object a line'],
];
/** How many lines, not counting blank ones, are searched for a JSON object before a file is refused as not NDJSON. */
const FORMAT_LINES = 20;

/** @throws {InvalidInput} for a file of another format, by its first characters. */
function refuseOtherFormats(start: string): void {
  const advice = OTHER_FORMATS.find(([pattern]) => pattern.test(start))?.[1];
  if (advice !== undefined) throw new InvalidInput(`the file is ${advice}`);
}

/** The message for a file without a JSON object in its first lines. */
const NOT_NDJSON =
  'the file is not NDJSON, since none of its first lines is a JSON object: write one object a line, ' +
  'such as {"penalty_type":"ban",…} (`jq -c .` writes those of a JSON file so)';

function isJsonObject(text: string | undefined): boolean {
  return text !== undefined && tryParse(() => parseObject(text)) !== undefined;
}

/**
 * Splits bytes into batches of lines at LF or CRLF. Blank lines, and a byte order mark at the beginning, are left out.
 * @param onChunk called with the size of each chunk.
 * @throws {InvalidInput} for a file of another format.
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
  /** The first bytes that are not blank, each as a character. */
  let beginning = '';
  /** Lines that are not blank, until one of them is a JSON object. */
  let otherLines = 0;
  let isNdjson = false;
  for await (const chunk of chunks) {
    onChunk(chunk.length);
    if (beginning.length < FORMAT_BYTES) {
      const bytes = Buffer.from(chunk.subarray(0, FORMAT_BYTES));
      beginning = (beginning + bytes.toString('latin1')).replace(/^(\xef\xbb\xbf)?\s*/, '');
      refuseOtherFormats(beginning);
    }
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      endLine(chunk.subarray(start, end));
      start = end + 1;
      if (!isNdjson) continue;
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
  if (!isNdjson && otherLines > 0) throw new InvalidInput(NOT_NDJSON);
  if (batch.length > 0) yield batch;

  function endLine(rest: Uint8Array): void {
    number += 1;
    const bytes = Buffer.concat([...pending, rest]);
    const isText = pendingBytes + rest.length <= MAX_LINE_BYTES && isUtf8(bytes);
    const text = isText ? bytes.toString().replace(/^\ufeff|\r$/g, '') : undefined;
    if (text?.trim() !== '') {
      if (!END_OF_EXPORT.test(text ?? '')) batch.push({ number, text });
      isNdjson ||= isJsonObject(text);
      if (!isNdjson) otherLines += 1;
      if (!isNdjson && otherLines === FORMAT_LINES) throw new InvalidInput(NOT_NDJSON);
    }
    batchBytes += bytes.length;
    pending = [];
    pendingBytes = 0;
  }
}
