import { rm } from 'node:fs/promises';
import type { Sample } from '../../../api/web/guide/text.tsx';
import { findFreePort } from '../machine/free-port.ts';
import { startProgram } from '../service/program.ts';

/** The code of a sample of the guide. */
export function codeOf(samples: readonly Sample[], id: string): string {
  return samples.find((sample) => sample.id === id)?.code ?? '';
}

/** Starts the server of a sample in TypeScript, inside the project, where its packages are found. */
export async function startSample(samples: readonly Sample[], id: string, env: Record<string, string>) {
  const file = `test/artifacts/${id}-${crypto.randomUUID()}.ts`;
  await Bun.write(file, codeOf(samples, id));
  const port = findFreePort();
  const program = startProgram(file, { ...env, PORT: String(port) });
  return {
    address: `http://127.0.0.1:${port}/`,
    stdout: program.stdout,
    [Symbol.asyncDispose]: async () => {
      program.kill('SIGKILL');
      await program.exited;
      await rm(file);
    },
  };
}
