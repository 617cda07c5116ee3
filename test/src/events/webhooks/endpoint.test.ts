import { describe, expect, test } from 'bun:test';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { createEndpointRules } from '../../../../src/events/webhooks/endpoint.ts';

describe('without WEBHOOK_ALLOW', () => {
  const { parseUrl, mayConnect } = createEndpointRules([]);

  test('https addresses on the internet are taken, as browsers write them', () => {
    expect(parseUrl(' https://Hooks.example.org:443/a?b=c#d ')).toBe('https://hooks.example.org/a?b=c');
    expect(parseUrl('https://1.1.1.1/')).toBe('https://1.1.1.1/');
    expect(parseUrl('https://[2606:4700::1111]:8443/')).toBe('https://[2606:4700::1111]:8443/');
  });

  test('an address of a Discord webhook leads to the bot', () => {
    for (const host of ['discord.com', 'canary.discord.com', 'discordapp.com']) {
      for (const path of ['api/webhooks/1/x', 'api/v10/webhooks/1/x'])
        expect(() => parseUrl(`https://${host}/${path}`)).toThrow(/use the bot's command \/feed there$/);
    }
    expect(parseUrl('https://discord.com.example.org/api/webhooks/1/x')).toContain('example.org');
  });

  for (const text of [
    '',
    'hooks.example.org',
    '//hooks.example.org/',
    'http://hooks.example.org/',
    'ftp://hooks.example.org/',
    'file:///etc/passwd',
    'https://',
    'https://user@hooks.example.org/',
    'https://user:password@hooks.example.org/',
    `https://hooks.example.org/${'x'.repeat(2048)}`,
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.0.0.1./',
    'https://%31%32%37.0.0.1/',
    'https://１２７.0.0.1/',
    'https://0/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00:ec2::254]/',
  ]) {
    test(`${JSON.stringify(text.slice(0, 60))} is refused`, () => {
      expect(() => parseUrl(text)).toThrow(InvalidInput);
    });
  }

  test('a password is not shown', () => {
    expect(() => parseUrl('https://user:password@hooks.example.org/')).toThrow(
      'The webhook address "https://…@hooks.example.org/" isn\'t valid: use one without user and password',
    );
  });

  test('a connection is made only to public addresses, and only with TLS', () => {
    expect(mayConnect('1.1.1.1', 'https:')).toBe(true);
    expect(mayConnect('1.1.1.1', 'http:')).toBe(false);
    expect(mayConnect('127.0.0.1', 'https:')).toBe(false);
    expect(mayConnect('::ffff:127.0.0.1', 'https:')).toBe(false);
  });
});

describe('with WEBHOOK_ALLOW', () => {
  const { parseUrl, mayConnect } = createEndpointRules(['10.1.0.0/16', 'fd00::/8']);

  test('addresses inside its networks are taken, plain http too', () => {
    expect(parseUrl('http://10.1.2.3:8080/hook')).toBe('http://10.1.2.3:8080/hook');
    expect(parseUrl('https://[fd00::1]/')).toBe('https://[fd00::1]/');
    expect(parseUrl('http://website.internal/hook')).toBe('http://website.internal/hook');
    expect(mayConnect('::ffff:10.1.2.3', 'http:')).toBe(true);
  });

  test('addresses outside are refused as before', () => {
    for (const text of ['http://10.2.0.1/', 'https://10.2.0.1/', 'http://1.1.1.1/', 'http://127.0.0.1/']) {
      expect(() => parseUrl(text)).toThrow(InvalidInput);
    }
    expect(mayConnect('1.1.1.1', 'http:')).toBe(false);
    expect(mayConnect('10.2.0.1', 'https:')).toBe(false);
  });
});
