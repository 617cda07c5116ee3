import { describe, expect, test } from 'bun:test';
import { createAddressMatcher, isNetwork, isPublicAddress } from '../../../src/runtime/address.ts';

const isTrusted = createAddressMatcher(['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1']);

describe('networks', () => {
  test('networks contain the addresses in them, IPv4 written as IPv6 too', () => {
    for (const address of [
      '10.0.0.1',
      '10.255.255.255',
      '127.0.0.1',
      'fd12::1',
      '::1',
      '::ffff:10.1.2.3',
      '::ffff:7f00:1',
    ]) {
      expect([address, isTrusted(address)]).toEqual([address, true]);
    }
    for (const address of [
      '11.0.0.1',
      '127.0.0.2',
      'fe80::1',
      '2001:db8::1',
      '::ffff:11.0.0.1',
      '',
      'unknown',
      'localhost',
    ]) {
      expect([address, isTrusted(address)]).toEqual([address, false]);
    }
  });

  test('matches an IPv4 address that is written as IPv6', () => {
    for (const [network, inside, outside] of [
      ['::ffff:10.0.0.0/104', '10.1.2.3', '11.0.0.1'],
      ['::FFFF:a00:0/104', '::ffff:10.1.2.3', 'fd00::1'],
      ['::ffff:10.1.2.3', '10.1.2.3', '10.1.2.4'],
      ['::ffff:10.1.2.3/128', '10.1.2.3', '10.1.2.4'],
      ['::ffff:0.0.0.0/96', '10.1.2.3', '2001:db8::1'],
      ['FD00:0:0::/8', 'fd12::1', '10.1.2.3'],
    ] as const) {
      const isInside = createAddressMatcher([network]);
      expect([network, isNetwork(network), isInside(inside), isInside(outside)]).toEqual([
        network,
        true,
        true,
        false,
      ]);
    }
  });

  test('an empty list contains no address', () => {
    expect(createAddressMatcher([])('127.0.0.1')).toBe(false);
  });
});

describe('public addresses', () => {
  test('public addresses include those of the internet', () => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '172.15.0.1',
      '172.32.0.1',
      '100.63.0.1',
      '2606:4700::1111',
    ]) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
    for (const address of ['::ffff:8.8.8.8', '64:ff9b::808:808']) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
  });

  test('never takes an address that leads elsewhere for public, however it is written', () => {
    for (const address of [
      '0.0.0.0',
      '10.0.0.1',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.254',
      '169.254.169.254',
      '172.16.0.1',
      '192.0.0.8',
      '192.0.2.1',
      '192.168.0.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::7f00:1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::ffff:0:7f00:1',
      '64:ff9b::7f00:1',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b:1::7f00:1',
      '100::1',
      '2001:0:7f00:1::',
      '2001:db8::1',
      '2002:7f00:1::',
      '2002:808:808::',
      '3fff::1',
      '5f00::1',
      'fc00::1',
      'fd00:ec2::254',
      'fe80::1',
      'fe80::1%eth0',
      'fec0::1',
      'ff02::1',
      '',
      'localhost',
      '2130706433',
    ]) {
      expect([address, isPublicAddress(address)]).toEqual([address, false]);
    }
  });
});
