/**
 * Reads a body as UTF-8, and no further than `limitBytes`: its length is what the other side says it is, or nothing.
 * @returns undefined when it is longer.
 */
export async function readBoundedText(
  { body }: { body: ReadableStream<Uint8Array> | null },
  limitBytes: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
