import { describe, expect, it } from 'vitest'

import {
  addressesOf,
  excludedProcessGroup,
  formatAddress,
  hostOf,
  localityExclusion,
  parseAddress,
  portOf,
  withoutFlags,
} from '../../../../workflows/foundationdb/database/process-address.ts'

describe('the address of a process', () => {
  it.each([
    ['1.2.3.4', ['1.2.3.4', undefined, false, false], '1.2.3.4', '1.2.3.4'],
    ['1.2.3.4:4500:tls', ['1.2.3.4', 4500, true, false], '1.2.3.4:4500', '1.2.3.4'],
    ['[::1]:4501', ['::1', 4501, false, false], '[::1]:4501', '[::1]'],
    ['[2001:db8::1]:4500:tls', ['2001:db8::1', 4500, true, false], '[2001:db8::1]:4500', '[2001:db8::1]'],
    ['[10.1.1.1]:4501', ['10.1.1.1', 4501, false, false], '10.1.1.1:4501', '10.1.1.1'],
    ['name.ns.svc:4501(fromHostname)', ['name.ns.svc', 4501, false, true], 'name.ns.svc:4501', 'name.ns.svc'],
    ['name', ['name', undefined, false, false], 'name', 'name'],
  ] as const)('%s is read', (text, [host, port, isTls, isFromHostname], command, onlyHost) => {
    const address = { host, port, isTls, isFromHostname }
    expect(parseAddress(text)).toEqual(address)
    expect([withoutFlags(address), hostOf(address)]).toEqual([command, onlyHost])
    expect(parseAddress(formatAddress(address))).toEqual({ ...address, isFromHostname: false })
  })

  it.each([
    '',
    ':4501',
    '1.2.3.4:0',
    '1.2.3.4:65536',
    '1.2.3.4:tls',
    '-x',
    '1.2.3.4:4501;kill',
    'a b',
    '::1:4501',
    'a\n',
  ])('%j is rejected', (text) => {
    expect(parseAddress(text)).toBeUndefined()
  })
})

describe('the ports of the processes in a Pod', () => {
  it('are two apart, and TLS has the even ones', () => {
    expect([1, 2, 3].map((process) => [portOf(process, true), portOf(process, false)])).toEqual([
      [4500, 4501],
      [4502, 4503],
      [4504, 4505],
    ])
  })

  it.each([
    [{ tls: true, nonTLS: true }, ['[::1]:4502:tls', '[::1]:4503']],
    [{ tls: false, nonTLS: true }, ['[::1]:4503']],
    [{ tls: true, nonTLS: false }, ['[::1]:4502:tls']],
  ])('belong to the addresses %j', (kinds, expected) => {
    expect(addressesOf('::1', 2, kinds).map((address) => formatAddress(address))).toEqual(expected)
  })
})

describe('an exclusion by locality', () => {
  it('names the process group', () => {
    expect(localityExclusion('dc1-storage-7')).toBe('locality_instance_id:dc1-storage-7')
    expect(excludedProcessGroup('locality_instance_id:dc1-storage-7')).toBe('dc1-storage-7')
    expect(excludedProcessGroup('10.1.1.1')).toBeUndefined()
  })
})
