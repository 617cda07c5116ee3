import { beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../src/db/schema/accounts.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { hasTerminal, startAtTerminal } from '../../support/machine/terminal.ts';
import { openCli } from '../../support/service/cli.ts';
import { waitForProcess } from '../../support/wait.ts';

const { db, env } = await openCli();
const ID = aSteamId(1);
beforeEach(() => insertUser(db, 1));
const isThere = async () => (await db.select().from(users).where(eq(users.steamId64, ID))).length === 1;

describe.skipIf(!hasTerminal)('users erase at a terminal', () => {
  const question = `Erase ${ID} and make their penalties anonymous? This cannot be undone. [y/N]`;

  async function answer(keys: string) {
    const program = startAtTerminal(`bun src/cli.ts users erase ${ID} --penalties`, env);
    await waitForProcess(() => program.screen().includes(question));
    expect(await isThere()).toBe(true);
    program.type(keys);
    return { code: await program.exited, screen: program.screen() };
  }

  test.each(['y\n', 'YES\n'])('erases after %j', async (keys) => {
    const { code, screen } = await answer(keys);
    expect(code).toBe(0);
    expect(screen).toContain(`Erased ${ID} and made 0 penalties anonymous\n`);
    expect(await isThere()).toBe(false);
  });

  test.each(['n\n', '\n', 'yesterday\n', '\x04', '\x03'])('changes nothing after %j', async (keys) => {
    const { code, screen } = await answer(keys);
    expect(screen).toContain('Nothing was changed');
    expect(code).toBe(1);
    expect(await isThere()).toBe(true);
  });
});
