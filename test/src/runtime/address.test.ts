import { describe, expect, test } from 'bun:test';
import { createAddressMatcher, isNetwork, isPublicAddress } from '../../../src/runtime/address.ts';

const isTrusted = createAddressMatcher(['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1']);

describe('networks', () => {
  test.each([
    ['IPv4', true, ['10.0.0.1', '10.255.255.255', '127.0.0.1']],
    ['IPv6', true, ['fd12::1', '::1']],
    ['IPv4 written as IPv6', true, ['::ffff:10.1.2.3', '::ffff:7f00:1']],
    ['other IPv4', false, ['11.0.0.1', '127.0.0.2', '::ffff:11.0.0.1']],
    ['other IPv6', false, ['fe80::1', '2001:db8::1']],
    ['what is no address', false, ['', 'unknown', 'localhost']],
  ])('networks contain %s: %p', (_, isInside, addresses) => {
    for (const address of addresses) expect([address, isTrusted(address)]).toEqual([address, isInside]);
  });

  test.each([
    ['::ffff:10.0.0.0/104', '10.1.2.3', '11.0.0.1'],
    ['::FFFF:a00:0/104', '::ffff:10.1.2.3', 'fd00::1'],
    ['::ffff:10.1.2.3', '10.1.2.3', '10.1.2.4'],
    ['::ffff:10.1.2.3/128', '10.1.2.3', '10.1.2.4'],
    ['::ffff:0.0.0.0/96', '10.1.2.3', '2001:db8::1'],
    ['FD00:0:0::/8', 'fd12::1', '10.1.2.3'],
  ])('the network %s contains %s but not %s', (network, inside, outside) => {
    const isInside = createAddressMatcher([network]);
    expect([isNetwork(network), isInside(inside), isInside(outside)]).toEqual([true, true, false]);
  });

  test('an empty list contains no address', () => {
    expect(createAddressMatcher([])('127.0.0.1')).toBe(false);
  });
});

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '2606:4700::1111',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
])('the address %s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  ['this machine', ['0.0.0.0', '127.0.0.1', '127.255.255.254', '::', '::1']],
  ['a private network', ['10.0.0.1', '172.16.0.1', '192.168.0.1', 'fc00::1', 'fd00:ec2::254', 'fec0::1']],
  ['a link', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0']],
  ['a provider', ['100.64.0.1', '192.0.0.8', '198.18.0.1', '5f00::1', '100::1']],
  ['documentation', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
  ['many or none', ['224.0.0.1', '240.0.0.1', '255.255.255.255', 'ff02::1']],
  ['this machine, written as IPv6', ['::7f00:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:0:7f00:1']],
  ['somewhere through a translator', ['64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::7f00:1']],
  ['somewhere through a tunnel', ['2001:0:7f00:1::', '2002:7f00:1::', '2002:808:808::']],
  ['nowhere', ['', 'localhost', '2130706433']],
])('never takes the address of %s for public: %p', (_, addresses) => {
  for (const address of addresses) expect([address, isPublicAddress(address)]).toEqual([address, false]);
});
