import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FfmpegCore } from '@ffmpeg/core';
import type { EmbeddedAnswer, EmbeddedTask } from './ffmpeg-embedded.ts';

/**
 * The thread ffmpeg runs in. Its files live in memory: only the ones named in the task are copied in and out, so what
 * an upload makes ffmpeg open is never a file of this machine, and there are no sockets.
 */
// Not awaited here: a message that comes before the listener below would be lost.
const compiling = compileCore();
addEventListener('message', async ({ data }: MessageEvent<EmbeddedTask>) => {
  postMessage(await answer(data));
  // The memory of the instance, tens of megabytes, would wait for the next collection.
  Bun.gc(true);
});

async function answer(task: EmbeddedTask): Promise<EmbeddedAnswer> {
  const lastLines: string[] = [];
  try {
    const core = await startCore(await compiling, lastLines);
    // Handed over, not copied: an upload may be large.
    core.FS.writeFile(task.input.name, await readFile(task.input.path), { canOwn: true });
    const status = core.exec(...task.args);
    const complaint = lastLines.join(' | ').slice(-400);
    if (status !== 0)
      return { failure: 'rejected', message: `ffmpeg exited with code ${status}: ${complaint}` };
    for (const { name, path } of task.outputs) await writeFile(path, core.FS.readFile(name));
    return {};
  } catch (error) {
    return {
      failure: 'crashed',
      message: error instanceof Error ? error.message : String(error),
      code: codeOf(error),
    };
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

async function compileCore(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve('@ffmpeg/core/wasm'))));
}

/** A fresh one each time (some 10 ms): a call leaves its stack and globals behind, and uploads must not meet. */
async function startCore(compiled: WebAssembly.Module, lastLines: string[]): Promise<FfmpegCore> {
  // The build is made for a browser's worker: it reads these names while it starts.
  Reflect.set(globalThis, 'self', globalThis);
  Reflect.set(globalThis, 'location', { href: import.meta.url });
  Reflect.set(globalThis, 'importScripts', () => undefined);
  const { default: createCore } = await import('@ffmpeg/core');
  const core = await createCore({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(compiled, imports).then((instance) => done(instance, compiled));
      return {};
    },
  });
  core.setLogger(({ message }) => {
    lastLines.push(message);
    if (lastLines.length > 5) lastLines.shift();
  });
  return core;
}
