import { describe } from 'bun:test';
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { atEnd } from '../cleanup.ts';

/** The first is Chromium without windows, which takes half the time. */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Where a Chromium is on this machine. */
export const CHROMIUM_PATH = PLACES.find((path) => existsSync(path));

/** Tests in Chromium, skipped where there is none; except in CI, which installs it. */
export function describeInChromium(name: string, run: () => void): void {
  const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
  if (!isPossible) console.warn(`SKIPPED: ${name}, since there is no Chromium here`);
  describe.skipIf(!isPossible)(name, run);
}

/**
 * A headless Chromium that talks to nobody but the pages it is shown, until the end of the test file.
 * @param hosts the addresses of host names that no name server knows.
 */
export async function launchChromium({
  hosts = {},
}: {
  hosts?: Record<string, string>;
} = {}): Promise<Browser> {
  if (!CHROMIUM_PATH)
    throw new Error(
      `no Chromium at ${PLACES.join(', ')}: install the package chromium-headless-shell or chromium`,
    );
  const browser = await chromium.launch({
    executablePath: CHROMIUM_PATH,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // Fewer processes, since starting them takes much of a short test.
      '--in-process-gpu',
      '--renderer-process-limit=1',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      `--host-resolver-rules=${Object.entries(hosts)
        .map(([name, address]) => `MAP ${name} ${address}`)
        .join(',')}`,
    ],
  });
  atEnd(() => browser.close());
  return browser;
}
