import { describe, expect, it } from 'vitest'

import { createAddressRule } from '../../../../../activities/landscaper/deploy/target/address-rule.ts'

const SERVER = 'https://kube.example'
const refusal = (address: string, listed: readonly string[] = [], server = SERVER) =>
  createAddressRule(listed).addressRefusal(server, address)

describe('an address that a Target leads to', () => {
  it.each([
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.255', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['0:0:0:0:0:0:0:1', 'a loopback address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::ffff:7f00:1', 'a loopback address'],
    ['::127.0.0.1', 'a loopback address'],
    ['::ffff:0:127.0.0.1', 'a loopback address'],
    ['64:ff9b::127.0.0.1', 'a loopback address'],
    ['2002:7f00:1::', 'a loopback address'],
    ['2002:7f12:3456:7::8', 'a loopback address'],
    ['169.254.169.254', 'a link-local address'],
    ['169.254.0.0', 'a link-local address'],
    ['::ffff:169.254.169.254', 'a link-local address'],
    ['64:ff9b::a9fe:a9fe', 'a link-local address'],
    ['2002:a9fe:a9fe::1', 'a link-local address'],
    ['fe80::1', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['febf:ffff::1', 'a link-local address'],
    ['0.0.0.0', 'an unspecified address'],
    ['0.1.2.3', 'an unspecified address'],
    ['::', 'an unspecified address'],
    ['::ffff:0.0.0.0', 'an unspecified address'],
    ['64:ff9b::', 'an unspecified address'],
    ['fd00:ec2::254', 'the address of a metadata service of a cloud'],
    ['fd00:ec2::23', 'the address of a metadata service of a cloud'],
    ['fd20:ce::254', 'the address of a metadata service of a cloud'],
    ['168.63.129.16', 'the address of a metadata service of a cloud'],
    ['::ffff:100.100.100.200', 'the address of a metadata service of a cloud'],
    ['::ffff:192.0.0.192', 'the address of a metadata service of a cloud'],
    ['192.0.0.192', 'the address of a metadata service of a cloud'],
    ['fd00:42::42', 'the address of a metadata service of a cloud'],
    ['fec0::1', 'a site-local address'],
    ['feff:ffff::1', 'a site-local address'],
    ['64:ff9b:1::7f00:1', 'an IPv6 address with an embedded IPv4 address'],
    ['64:ff9b:1:7f:0:100::', 'an IPv6 address with an embedded IPv4 address'],
    ['64:ff9b:1:ffff::a00:1', 'an IPv6 address with an embedded IPv4 address'],
    ['kube.example', 'not an IP address'],
    ['', 'not an IP address'],
  ])('is refused by default: %s', (address, what) => {
    expect(refusal(address)).toBe(
      `server https://kube.example has the address ${address}, ${what}; use another server, or let the operator add kube.example:443 to --target-allow of the worker`,
    )
  })

  it.each([
    ...[
      '10.0.0.1',
      '10.96.0.1',
      '172.16.0.1',
      '192.168.1.1',
      '100.64.0.1',
      '100.100.100.199',
      '1.1.1.1',
      '203.0.113.9',
    ],
    ...['126.255.255.255', '128.0.0.0', '169.253.255.255', '169.255.0.0', '1.0.0.0', '168.63.129.17'],
    ...['fd00::1', 'fd12:3456::1', 'fd00:42::41', 'fe7f::1', '2001:db8::1', '2606:4700::1111', '::ffff:10.0.0.1'],
    ...['64:ff9b:2::1', '192.0.0.191', '64:ff9b::10.0.0.1', '2002:a00:1::', '::2:0:1'],
  ])('is let through by default: %s', (address) => {
    expect(refusal(address)).toBeUndefined()
  })

  it.each([
    ['127.0.0.1', '127.0.0.0/8', true],
    ['::ffff:127.0.0.1', '127.0.0.0/8', true],
    ['127.0.0.1', '127.0.0.2/32', false],
    ['127.0.0.1', '169.254.0.0/16', false],
    ['fe80::1%eth0', 'fe80::/10', true],
    ['::1', '127.0.0.0/8', false],
    ['127.0.0.1', 'kube.example', true],
    ['127.0.0.1', 'kube.example:443', true],
    ['169.254.169.254', 'kube.example', true],
    ['127.0.0.1', 'kube.example:6443', false],
    ['127.0.0.1', 'example', false],
    // An entry without a prefix length permits this host in the URL, not every host that resolves to the address.
    ['127.0.0.1', '127.0.0.1', false],
  ])('%s, where %s is listed: %s', (address, listed, isLetThrough) => {
    expect(refusal(address, ['other.example', listed]) === undefined).toBe(isLetThrough)
  })

  it('is listed by what the URL has for it', () => {
    expect(refusal('127.0.0.1', ['127.0.0.1:6443'], 'https://127.1:6443')).toBeUndefined()
    expect(refusal('127.0.0.1', ['127.0.0.1:6443'], 'https://127.0.0.1:6444')).toContain(
      'add 127.0.0.1:6444 to --target-allow',
    )
    expect(refusal('::1', ['::1'], 'https://[0::1]:6443')).toBeUndefined()
  })
})

describe('a server that is spoken to without TLS', () => {
  const plain = (server: string, ...listed: string[]) => createAddressRule(listed).serverRefusal(server)

  it.each([
    ['https://kube.example', []],
    ['http://kube.example', ['kube.example']],
    ['http://kube.example', ['kube.example:80']],
    ['http://kube.example:8080/prefix', ['kube.example:8080']],
    ['http://127.0.0.1:8080', ['127.0.0.1']],
    ['http://[::1]:8080', ['[::1]:8080']],
  ])('is let through where it is listed: %s, %j', (server, listed) => {
    expect(plain(server, ...listed)).toBeUndefined()
  })

  it.each([
    ['http://kube.example', [], 'http://kube.example', 'kube.example:80'],
    ['http://kube.example', ['kube.example:443'], 'http://kube.example', 'kube.example:80'],
    ['http://10.0.0.1:8080/x', ['10.0.0.0/8'], 'http://10.0.0.1:8080', '10.0.0.1:8080'],
    ['http://[::1]:8080', ['::1/128', '127.0.0.1'], 'http://[::1]:8080', '[::1]:8080'],
  ])('is refused elsewhere: %s, %j', (server, listed, origin, place) => {
    expect(plain(server, ...listed)).toBe(
      `server ${origin} does not use TLS; use https, or let the operator add ${place} to --target-allow of the worker`,
    )
  })
})
