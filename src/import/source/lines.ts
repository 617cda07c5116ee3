/** A line and its number, from 1; `text` is undefined if it is invalid UTF-8 or longer than {@link MAX_LINE_LENGTH}. */
export type Line = { number: number; text: string | undefined; bytesRead: number };

/** In bytes. No penalty needs more, and a file without line ends must not fill the memory. */
const MAX_LINE_LENGTH = 1_048_576;

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/** Splits bytes into batches of lines at LF or CRLF; a byte order mark at the beginning is removed. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { batchLines }: { batchLines: number },
): AsyncGenerator<Line[]> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let number = 0;
  let bytesRead = 0;
  let batch: Line[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      takeLine(chunk.subarray(start, end));
      bytesRead += end + 1 - start;
      start = end + 1;
      if (batch.length >= batchLines) {
        yield batch;
        batch = [];
      }
    }
    const rest = chunk.subarray(start);
    bytesRead += rest.length;
    pendingBytes += rest.length;
    // Of a line that is too long only the length is kept.
    if (pendingBytes > MAX_LINE_LENGTH) pending = [];
    else pending.push(rest.slice());
  }
  if (pendingBytes > 0) takeLine(new Uint8Array());
  if (batch.length > 0) yield batch;

  function takeLine(rest: Uint8Array): void {
    number += 1;
    pendingBytes += rest.length;
    const bytes =
      pendingBytes > MAX_LINE_LENGTH
        ? undefined
        : pending.length === 0
          ? rest
          : Buffer.concat([...pending, rest]);
    pending = [];
    pendingBytes = 0;
    batch.push({ number, text: bytes && decode(bytes), bytesRead });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Uint8Array): string | undefined {
  const hasReturn = bytes[bytes.length - 1] === CARRIAGE_RETURN;
  try {
    return utf8.decode(hasReturn ? bytes.subarray(0, -1) : bytes);
  } catch {
    return undefined;
  }
}
