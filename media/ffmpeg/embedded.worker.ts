import { fstatSync, readSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FfmpegCore, FileOperations } from '@ffmpeg/core';
import { errorCode } from '../../src/domain/errors.ts';
import type { EmbeddedResult, EmbeddedTask } from './embedded.ts';

/** The limit of ffmpeg's memory; beyond it, allocations fail. */
const MAX_MEMORY_BYTES = 96 * 1024 * 1024;
const WASM_PAGE_BYTES = 65_536;

/**
 * The worker that ffmpeg runs in. Its file system only contains the files of the task, which it reads and writes in
 * place: an upload cannot make ffmpeg open any other file of this machine, and there are no sockets.
 */
// Not awaited here: a message that arrives before the listener below is added would be lost.
const compiling = compileCore();
addEventListener('message', async ({ data }: MessageEvent<EmbeddedTask>) => {
  const result = await runTask(data);
  // Frees the memory of the instance, tens of megabytes, at once; before the result, so as not to take a second core.
  Bun.gc(true);
  postMessage(result);
});

async function runTask(task: EmbeddedTask): Promise<EmbeddedResult> {
  const lastLines: string[] = [];
  try {
    const { core, memory } = await startCore(await compiling, lastLines);
    for (const { name, descriptor } of task.files) {
      exposeFile(core, name, { descriptor, maxBytes: task.fileBytes });
    }
    const status = core.exec(...task.args);
    // ffmpeg may treat this as the end of the input, and report success.
    if (memory.isUsedUp) return { failure: 'crashed', message: 'it needs more memory than it may have' };
    const complaint = lastLines.join(' | ').slice(-400);
    if (status !== 0)
      return { failure: 'rejected', message: `ffmpeg exited with code ${status}: ${complaint}` };
    return {};
  } catch (error) {
    return {
      failure: 'crashed',
      message: error instanceof Error ? error.message : String(error),
      code: errorCode(error) || undefined,
    };
  }
}

/**
 * Gives ffmpeg access to an open file under a name. Bytes are passed through: in memory, an upload and its decoded audio
 * would take several times their size.
 */
function exposeFile(
  core: FfmpegCore,
  name: string,
  { descriptor, maxBytes }: { descriptor: number; maxBytes: number },
): void {
  const stream = core.FS.open(name, 'w');
  core.FS.close(stream);
  const { node } = stream;
  const operations: FileOperations = {
    llseek: node.stream_ops.llseek,
    read: (_stream, buffer, offset, length, position) =>
      readSync(descriptor, buffer, offset, length, position),
    write(_stream, buffer, offset, length, position) {
      if (position + length > maxBytes) throw new Error(`${name} would exceed ${maxBytes} bytes`);
      const byteCount = writeSync(descriptor, buffer, offset, length, position);
      node.usedBytes = Math.max(node.usedBytes, position + byteCount);
      return byteCount;
    },
  };
  Object.assign(node, { usedBytes: fstatSync(descriptor).size, stream_ops: operations });
}

async function compileCore(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve('@ffmpeg/core/wasm'))));
}

/** A new instance for each call (some 10 ms): a call leaves state behind, and uploads must be isolated. */
async function startCore(
  compiled: WebAssembly.Module,
  lastLines: string[],
): Promise<{ core: FfmpegCore; memory: MemoryUse }> {
  // The build is made for a browser's worker, and reads these globals at the start.
  Reflect.set(globalThis, 'self', globalThis);
  Reflect.set(globalThis, 'location', { href: import.meta.url });
  Reflect.set(globalThis, 'importScripts', () => undefined);
  const memory: MemoryUse = { isUsedUp: false };
  const { default: createCore } = await import('@ffmpeg/core');
  const core = await createCore({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(compiled, imports).then((instance) => {
        limitMemory(instance, memory);
        done(instance, compiled);
      });
      return {};
    },
  });
  core.setLogger(({ message }) => {
    lastLines.push(message);
    if (lastLines.length > 5) lastLines.shift();
  });
  return { core, memory };
}

type MemoryUse = { isUsedUp: boolean };

/** The core tries three sizes for each allocation. */
const MAX_REFUSALS = 300;

function limitMemory({ exports }: WebAssembly.Instance, use: MemoryUse): void {
  for (const memory of Object.values(exports)) {
    if (!(memory instanceof WebAssembly.Memory)) continue;
    const grow = memory.grow.bind(memory);
    let refusals = 0;
    memory.grow = (pages) => {
      // Set at every call: after a step that was too large, a smaller one may succeed.
      use.isUsedUp = memory.buffer.byteLength + pages * WASM_PAGE_BYTES > MAX_MEMORY_BYTES;
      if (!use.isUsedUp) return grow(pages);
      if (++refusals < MAX_REFUSALS) throw new RangeError('ffmpeg has all the memory it may have');
      // Some demuxers ask a million times, and the refusals take a gigabyte. The core catches errors thrown here, so this
      // pretends that the memory grew: the core's access to it traps, which ends the call.
      return 0;
    };
  }
}
