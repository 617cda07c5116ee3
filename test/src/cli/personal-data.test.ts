import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { erasedPeople, users } from '../../../src/db/schema/accounts.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { runCli } from '../../support/service/cli.ts';
import { createTestFolder } from '../../support/service/program.ts';

const { db, url } = await createTestDatabase();
const folder = createTestFolder();
afterAll(folder.remove);
const env = { DATABASE_URL: url, DATA_DIR: folder.path, STORAGE_DIR: `${folder.path}/storage` };
const ID = aSteamId(1);

beforeEach(async () => {
  await db.delete(users);
  await insertUser(db, 1);
});

describe('when the secret of erasures is lost', () => {
  const LOST = (count: string, whatFollows: string) =>
    `warning: ${count} not recognised, since the secret that identifies them is lost: ` +
    `${whatFollows} (docs/privacy.md, "Erased people")\n`;
  const RESTORE_FIRST = 'imports name them again, so restore it before you erase anybody';
  const removeSounds = async () => {};

  async function loseSecretOf(...numbers: number[]): Promise<void> {
    await db.delete(erasedPeople);
    for (const number of numbers) {
      await erasePerson(db, aSteamId(number), { withPenalties: true, actor: 'operator', removeSounds });
    }
    await db.delete(settings).where(eq(settings.key, 'erasure_secret'));
  }
  const run = (...args: string[]) => runCli(args, env);

  test('penalties import warns that those erased by it are not recognised', async () => {
    await loseSecretOf(1);
    const file = `${folder.path}/none.ndjson`;
    await Bun.write(file, '');
    const { code, stderr } = await run('penalties', 'import', 'ndjson', file);
    expect([code, stderr]).toEqual([0, LOST('1 erased person is', 'this import may name them again')]);
  });

  test('users erase warns before it asks, and makes no new secret while it does', async () => {
    await loseSecretOf(2, 3);
    const asked = await run('users', 'erase', ID);
    expect([asked.code, asked.stderr]).toEqual([
      1,
      `${LOST('2 erased people are', RESTORE_FIRST)}Without a terminal this can't be confirmed: use --yes\n`,
    ]);
    expect(await db.select().from(settings).where(eq(settings.key, 'erasure_secret'))).toBeEmpty();
  });

  test('users erase warns beside what it did, and again the next time, though there is a new secret', async () => {
    await loseSecretOf(2, 3);
    await insertUser(db, 4);
    for (const number of [1, 4]) {
      const erased = await run('--json', 'users', 'erase', aSteamId(number), '--penalties', '--yes');
      expect([erased.code, erased.stderr]).toEqual([0, LOST('2 erased people are', RESTORE_FIRST)]);
      expect(JSON.parse(erased.stdout)).toEqual({
        erased: aSteamId(number),
        account: true,
        penalties: 0,
        lostErasures: 2,
      });
    }
  });

  test('users erase says nothing of it where nobody is lost', async () => {
    await db.delete(erasedPeople);
    await insertPenalties(db, [{ playerSteamId: ID }]);
    const stdout = `Erased ${ID} and made 1 penalty anonymous\n`;
    expect(await run('users', 'erase', ID, '--penalties', '--yes')).toEqual({ code: 0, stdout, stderr: '' });
  });
});
