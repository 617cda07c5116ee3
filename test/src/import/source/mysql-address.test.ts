import { expect, test } from 'bun:test';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { parseMysqlAddress } from '../../../../src/import/source/mysql-address.ts';

test('an address is host, port, user, password and database, each percent-decoded', () => {
  expect(parseMysqlAddress('mysql://root@127.0.0.1/cs2')).toEqual({
    host: '127.0.0.1',
    port: 3306,
    user: 'root',
    password: '',
    database: 'cs2',
    tls: undefined,
  });
  expect(parseMysqlAddress('mariadb://b%40b:50%25off%2F%3F%23%40%3A@[::1]:33061/c%C4%85%40s2')).toEqual({
    host: '::1',
    port: 33_061,
    user: 'b@b',
    password: '50%off/?#@:',
    database: 'cą@s2',
    tls: undefined,
  });
  // An unencoded @ is unambiguous as long as it comes before the host.
  expect(parseMysqlAddress('mysql://u:p@ss@db.example/cs2')).toMatchObject({
    host: 'db.example',
    password: 'p@ss',
  });
});

test('ssl-mode and ssl-ca say how the connection is protected', () => {
  const tlsOf = (query: string) => parseMysqlAddress(`mysql://u:p@db.example/cs2?${query}`).tls;
  expect(tlsOf('')).toBeUndefined();
  expect(tlsOf('ssl-mode=required')).toEqual({ mode: 'required', caPath: undefined });
  expect(tlsOf('ssl-mode=verify-ca&ssl-ca=/etc/ssl/ca%20one.pem')).toEqual({
    mode: 'verify-ca',
    caPath: '/etc/ssl/ca one.pem',
  });
  expect(tlsOf('ssl-ca=ca.pem&ssl-mode=VERIFY_IDENTITY')).toEqual({
    mode: 'verify-identity',
    caPath: 'ca.pem',
  });
});

const FORM =
  'the address of a source has the form mysql://user:password@host:port/database; ' +
  'in the user and the password write % as %25, / as %2F, ? as %3F, # as %23, $ as %24 and @ as %40';

test.each([
  ['mysql://', FORM],
  ['mysql://hunter2', FORM],
  ['mysql://u:hunter2@host', FORM],
  ['mysql://u:hunter2@host/', FORM],
  ['mysql://u:hun/ter2@host/db', FORM],
  ['mysql://u:12/hunter2@host', FORM],
  ['mysql://u:12/hunter2@host/db', FORM],
  ['mysql://u:12?hunter2@host/db', FORM],
  ['mysql://u:12/db?hunter2@host/db', FORM],
  ['mysql://u:12#hunter2@host/db', FORM],
  ['mysql://u:12/db#hunter2', FORM],
  ['mysql://u:50%hunter2@host/db', FORM],
  ['mysql://50%off:hunter2@host/db', FORM],
  ['mysql://u:hunter2@host/50%off', FORM],
  ['mysql://u:%ffhunter2@host/db', FORM],
  [
    'mysql://u:hunter2@host/db?ssl=true',
    'unknown parameter "ssl" in the address of a source: use ssl-mode or ssl-ca',
  ],
  [
    'mysql://u@host/db?charset=utf8&password=hunter2',
    'unknown parameter "charset" in the address of a source: use ssl-mode or ssl-ca',
  ],
  ['mysql://u@host/db?hunter2', 'unknown parameter in the address of a source: use ssl-mode or ssl-ca'],
  [
    'mysql://u:hunter2@host/db?ssl-mode=preferred',
    'ssl-mode "preferred" is not known: use required, verify-ca or verify-identity',
  ],
  [
    'mysql://u:hunter2@host/db?ssl-mode=',
    'ssl-mode "" is not known: use required, verify-ca or verify-identity',
  ],
  ['mysql://u:hunter2@host/db?ssl-ca=/ca.pem', 'ssl-ca needs ssl-mode=verify-ca or ssl-mode=verify-identity'],
  [
    'mysql://u:hunter2@host/db?ssl-ca=/ca.pem&ssl-mode=required',
    'ssl-ca needs ssl-mode=verify-ca or ssl-mode=verify-identity',
  ],
])('%s is refused in one line that tells no secret', (address, message) => {
  const parse = () => parseMysqlAddress(address);
  expect(parse).toThrow(InvalidInput);
  try {
    parse();
  } catch (error) {
    const said = error instanceof Error ? error.message : '';
    expect(said).toBe(message);
    expect(said).not.toContain('hunter2');
  }
});
