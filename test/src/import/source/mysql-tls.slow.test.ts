import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { InvalidInput, Unavailable } from '../../../../src/domain/errors.ts';
import { openSourceDatabase } from '../../../../src/import/source/open-source.ts';
import { canStartMariaDb, type MariaDb, startMariaDb } from '../../../support/import/mariadb-server.ts';
import { createTestFolder } from '../../../support/service/program.ts';

/**
 * Starts a MariaDB that responds over TLS only, with a certificate for `localhost` signed by a new authority.
 * @returns also the PEM file of that authority.
 */
async function startTlsMariaDb(folder: string): Promise<MariaDb & { caPath: string }> {
  const shell = new $.Shell().cwd(folder);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
  await Bun.write(join(folder, 'names'), 'subjectAltName=DNS:localhost');
  await shell`openssl req -x509 ${newKey} -keyout ca.key -out ca.pem -days 2 -subj /CN=Test`.quiet();
  await shell`openssl req ${newKey} -keyout server.key -out server.csr -subj /CN=server`.quiet();
  await shell`openssl x509 -req -in server.csr ${signer} -out server.pem -days 2 -extfile names`.quiet();
  const [certificate, key] = [join(folder, 'server.pem'), join(folder, 'server.key')];
  const options = [`--ssl-cert=${certificate}`, `--ssl-key=${key}`, '--require-secure-transport=ON'];
  return { ...(await startMariaDb(folder, options)), caPath: join(folder, 'ca.pem') };
}

const PASSWORD = '50%off/?#@:';

describe.if(canStartMariaDb('openssl'))('a MariaDB that answers over TLS only', () => {
  const folder = createTestFolder();
  let server: Awaited<ReturnType<typeof startTlsMariaDb>>;
  let ca: string;
  beforeAll(async () => {
    server = await startTlsMariaDb(folder);
    ca = `ssl-ca=${encodeURIComponent(server.caPath)}`;
    await server.run(`create database cs2;
      create user 'community'@'%' identified by '${PASSWORD}'; grant select on cs2.* to 'community'@'%'`);
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

  test('refuses to read without TLS from a MariaDB that requires it', async () => {
    expect(await connect('')).toMatch(/^Cannot read mysql:.*(Access denied|insecure transport)/);
  });

  test('ssl-mode=required encrypts, and accepts any certificate', async () => {
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
    const absent = join(folder, 'absent.pem');
    expect(await connect(`?ssl-mode=verify-ca&ssl-ca=${absent}`)).toBe(
      `ssl-ca ${JSON.stringify(absent)} cannot be read: give a PEM file of certificates (ENOENT: no such file or directory, open '${absent}')`,
    );
    const junk = join(folder, 'junk.pem');
    await Bun.write(junk, 'junk');
    expect(await connect(`?ssl-mode=verify-ca&ssl-ca=${junk}`)).toStartWith(
      `ssl-ca ${JSON.stringify(junk)} cannot be read: give a PEM file of certificates`,
    );
  });

  test('every mode refuses a server without TLS, and never reads in clear', async () => {
    await server.restart(['--skip-ssl']);
    for (const mode of ['required', `verify-ca&${ca}`, `verify-identity&${ca}`]) {
      expect(await connect(`?ssl-mode=${mode}`)).toContain(': Server does not support secure connection');
    }
    expect(await connect('')).toBe('');
  });
});
