import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { InvalidInput, Unavailable } from '../../../../src/domain/errors.ts';
import { importSimpleAdmin } from '../../../../src/import/simple-admin/simple-admin.ts';
import { openSourceDatabase } from '../../../../src/import/source/open-source.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { canStartMariaDb, startTlsMariaDb, type TlsMariaDb } from '../../../support/import/mariadb-tls.ts';
import { importDeps } from '../../../support/import/penalty-rows.ts';
import { simpleAdminMysqlSchema } from '../../../support/import/simple-admin-schema.ts';
import { createTestFolder } from '../../../support/service/program.ts';

const PASSWORD = '50%off/?#@:';

describe.if(canStartMariaDb())('a MariaDB that answers over TLS only', () => {
  const folder = createTestFolder();
  let server: TlsMariaDb;
  let ca: string;
  beforeAll(async () => {
    server = await startTlsMariaDb(folder.path, 'DNS:localhost');
    ca = `ssl-ca=${encodeURIComponent(server.caPath)}`;
    await server.run(`create database cs2; use cs2; ${simpleAdminMysqlSchema({ migration: 15 })}`);
    await server.run(`
      insert into cs2.sa_bans (player_steamid, admin_steamid, admin_name, reason, duration) values (0, 0, 'Console', 'Aim', 0);
      create user 'community'@'%' identified by '${PASSWORD}'; grant select on cs2.* to 'community'@'%'`);
  });
  afterAll(async () => {
    await server.stop();
    await folder.remove();
  });

  const address = (query: string, host = 'localhost') =>
    `mysql://community:${encodeURIComponent(PASSWORD)}@${host}:${server.port}/cs2${query}`;

  /** The cipher of the connection, or the message of the error when it fails. */
  async function connect(query: string, host?: string): Promise<string> {
    try {
      const source = await openSourceDatabase(address(query, host));
      const [row] = await source.select("show session status like 'Ssl_cipher'");
      await source.close();
      return row?.Value ?? '';
    } catch (error) {
      expect(error).toBeInstanceOf(error instanceof InvalidInput ? InvalidInput : Unavailable);
      const said = error instanceof Error ? error.message : '';
      expect(said.split('\n')).toHaveLength(1);
      expect(said).not.toContain('50%');
      return said;
    }
  }

  const CIPHER = /^TLS_\w+$/;

  test('is not read without TLS', async () => {
    expect(await connect('')).toMatch(/^Cannot read mysql:.*(Access denied|insecure transport)/);
  });

  test('required encrypts, whoever signed the certificate', async () => {
    expect(await connect('?ssl-mode=required')).toMatch(CIPHER);
    expect(await connect('?ssl-mode=required', '127.0.0.1')).toMatch(CIPHER);
  });

  test('verify-ca asks who signed it, not for whom', async () => {
    expect(await connect(`?ssl-mode=verify-ca&${ca}`)).toMatch(CIPHER);
    expect(await connect(`?ssl-mode=verify-ca&${ca}`, '127.0.0.1')).toMatch(CIPHER);
    // A certificate authority that the system does not know.
    expect(await connect('?ssl-mode=verify-ca')).toContain(': unable to verify the first certificate');
  });

  test('verify-identity asks for whom as well', async () => {
    expect(await connect(`?ssl-mode=verify-identity&${ca}`)).toMatch(CIPHER);
    expect(await connect(`?ssl-mode=verify-identity&${ca}`, '127.0.0.1')).toContain(
      ": Hostname/IP does not match certificate's altnames",
    );
    expect(await connect('?ssl-mode=verify-identity')).toContain(': unable to verify the first certificate');
  });

  test('an ssl-ca that is not there or no certificate is named', async () => {
    const absent = join(folder.path, 'absent.pem');
    expect(await connect(`?ssl-mode=verify-ca&ssl-ca=${absent}`)).toBe(
      `ssl-ca ${JSON.stringify(absent)} cannot be read: give a PEM file of certificates (ENOENT: no such file or directory, open '${absent}')`,
    );
    const junk = join(folder.path, 'junk.pem');
    await Bun.write(junk, 'junk');
    expect(await connect(`?ssl-mode=verify-ca&ssl-ca=${junk}`)).toStartWith(
      `ssl-ca ${JSON.stringify(junk)} cannot be read: give a PEM file of certificates`,
    );
  });

  test('is imported from', async () => {
    const database = await createTestDatabase();
    const url = address(`?ssl-mode=verify-identity&${ca}`);
    expect(await importSimpleAdmin(importDeps(database), { url })).toMatchObject({ added: 1 });
  });

  test('without TLS on its side it is refused by every mode, never read in clear', async () => {
    await server.restart(['--skip-ssl']);
    for (const mode of ['required', `verify-ca&${ca}`, `verify-identity&${ca}`]) {
      expect(await connect(`?ssl-mode=${mode}`)).toContain(': Server does not support secure connection');
    }
    expect(await connect('')).toBe('');
  });
});
