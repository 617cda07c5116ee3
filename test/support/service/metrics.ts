import type { TestService } from './service.ts';

/** Every sample of ours that `/metrics` has, by its name and labels without the prefix. */
export async function readMetrics({ ask }: Pick<TestService, 'ask'>): Promise<Record<string, number>> {
  return parseSamples((await ask('/metrics')).text);
}

export function parseSamples(text: string): Record<string, number> {
  const samples = text.matchAll(/^community_api_(.+) (\S+)$/gm);
  return Object.fromEntries([...samples].map(([, name, value]) => [name ?? '', Number(value)]));
}
