import { afterAll, expect, test } from 'bun:test';
import { openSourceDatabase } from '../../../../src/import/source/open-source.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { createMariaDbDatabase, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { createMirrors } from '../../../support/import/mirror.ts';
import { waitFor } from '../../../support/wait.ts';

const { startMirror, lines } = createMirrors(await createTestDatabase());

if (await isMariaDbAtHand()) {
  const { url, run, drop } = await createMariaDbDatabase();
  const user = `test_${crypto.randomUUID().slice(0, 8)}`;
  afterAll(async () => {
    await run(`drop user if exists ${user}@'%'`);
    await drop();
  });

  /** The database's address for a new account. */
  async function createAccount(identified: string): Promise<string> {
    await run(
      `create or replace user ${user}@'%' ${identified}; grant all on ${new URL(url).pathname.slice(1)}.* to ${user}@'%'`,
    );
    return Object.assign(new URL(url), { username: user, password: 'secret' }).href;
  }

  test('names the plugin of an account that cannot sign in, and one that can', async () => {
    await run("install plugin if not exists ed25519 soname 'auth_ed25519'");
    const account = await createAccount("identified via ed25519 using password('secret')");
    await expect(openSourceDatabase(account)).rejects.toThrow(
      /: the account uses the plugin client_ed25519, which is not supported: give it mysql_native_password or caching_sha2_password$/,
    );
  });

  test('a mirror whose account may connect once says so in one line without a stack trace', async () => {
    const account = await createAccount("identified by 'secret' with max_user_connections 1");
    const other = await openSourceDatabase(account);
    const { mirror } = startMirror(account);
    await waitFor(() => mirror.health().failures > 0);
    await other.close();
    const [line] = lines.filter(({ level }) => level >= 40);
    expect(line).toMatchObject({
      msg: 'mirroring CS2-SimpleAdmin failed: retrying',
      reason: expect.stringContaining("exceeded the 'max_user_connections' resource (current value: 1)"),
    });
    expect(line).not.toHaveProperty('err');
  });
}
