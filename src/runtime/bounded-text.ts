type Body = { body: ReadableStream<Uint8Array> | null };

/**
 * Reads a body as UTF-8, up to `limitBytes`, regardless of `Content-Length`.
 * @returns undefined when the body is longer.
 */
export async function readBoundedText(source: Body, limitBytes: number): Promise<string | undefined> {
  const bytes = await readBoundedBytes(source, limitBytes);
  return bytes && Buffer.from(bytes).toString('utf8');
}

/** Like {@link readBoundedText}, but returns bytes. */
export async function readBoundedBytes(
  { body }: Body,
  limitBytes: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
