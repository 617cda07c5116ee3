import { expect, test } from 'bun:test';
import { parsePostgresAddress } from '../../../src/runtime/database-address.ts';

const parse = (address: string) => parsePostgresAddress(address, 'DATABASE_URL');

test('decodes user, password and database', () => {
  expect(parse('postgresql://us%40er:p%24%23%40ss@db.example:5433/my%20data')).toEqual({
    server: 'db.example:5433',
    database: 'my data',
    options: {
      host: ['db.example'],
      port: [5433],
      user: 'us@er',
      password: 'p$#@ss',
      database: 'my data',
      ssl: false,
    },
  });
});

test('fills in host and port', () => {
  expect(parse('postgres://').options).toEqual({ host: ['localhost'], port: [5432], ssl: false });
});

test('reads IPv6 and several hosts', () => {
  expect(parse('postgres://[::1]:6000/x')).toMatchObject({
    server: '[::1]:6000',
    options: { host: ['::1'], port: [6000] },
  });
  expect(parse('postgres://one,two/x')).toMatchObject({
    server: 'one,two',
    options: { host: ['one', 'two'], port: [5432, 5432] },
  });
});

test.each([
  ['postgres:///x?host=/run/pg', '/run/pg', '/run/pg/.s.PGSQL.5432'],
  ['postgres://user:secret@/x?host=%2Frun%2Fpg', '/run/pg', '/run/pg/.s.PGSQL.5432'],
  ['postgres://user@localhost:6000/x?host=/run/pg&sslmode=require', '/run/pg:6000', '/run/pg/.s.PGSQL.6000'],
])('%s is a Unix socket, which has no TLS', (address, server, path) => {
  expect(parse(address)).toMatchObject({ server, database: 'x', options: { path, ssl: false } });
});

test('drops what other clients need, and settings of the session', () => {
  const dropped = [
    'schema=public&connection_limit=5&pool_timeout=10&pgbouncer=true&channel_binding=require',
    'keepalives=1&keepalives_idle=30&keepalives_interval=10&keepalives_count=3&gssencmode=disable',
    'target_session_attrs=any&application_name=x&fallback_application_name=x&connect_timeout=60',
    'statement_timeout=0&options=-csearch_path%3Dx&search_path=x&TimeZone=x&DateStyle=SQL&client_encoding=x',
  ];
  expect(parse(`postgres://db/x?${dropped.join('&')}`)).toEqual(parse('postgres://db/x'));
});

test.each([
  ['', false],
  ['?sslmode=disable&sslrootcert=/none', false],
  ['?sslmode=allow', 'prefer'],
  ['?sslmode=prefer', 'prefer'],
  ['?sslmode=require', { rejectUnauthorized: false, checkServerIdentity: expect.any(Function) }],
  ['?sslmode=verify-ca', { rejectUnauthorized: true, checkServerIdentity: expect.any(Function) }],
  ['?sslmode=verify-full', { rejectUnauthorized: true }],
  ['?sslrootcert=system', { rejectUnauthorized: true }],
  ['?sslmode=require&sslrootcert=system', { rejectUnauthorized: true }],
] as const)('postgres://db/x%s has the TLS of libpq', (parameters, tls) => {
  expect(parse(`postgres://db/x${parameters}`).options.ssl).toEqual(tls);
});
