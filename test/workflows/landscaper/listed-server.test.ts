import { describe, expect, it } from 'vitest'
import { type ListedServer, readListedServer } from '../../../workflows/landscaper/flag-values.ts'

const server = (host: string, port?: number): ListedServer => ({ host, port })
const ipv4 = (address: string, prefix: number): ListedServer => ({ address, prefix, family: 'ipv4' })
const ipv6 = (address: string, prefix: number): ListedServer => ({ address, prefix, family: 'ipv6' })

describe('an entry of --target-allow', () => {
  it.each([
    ['kube.example', server('kube.example')],
    ['Kube.Example:6443', server('kube.example', 6443)],
    ['kube.example:443', server('kube.example', 443)],
    ['localhost', server('localhost')],
    ['127.0.0.1', server('127.0.0.1')],
    ['127.1:80', server('127.0.0.1', 80)],
    ['::1', server('[::1]')],
    ['[::1]', server('[::1]')],
    ['[0:0::1]:6443', server('[::1]', 6443)],
    ['127.0.0.0/8', ipv4('127.0.0.0', 8)],
    ['169.254.1.2/32', ipv4('169.254.1.2', 32)],
    ['0.0.0.0/0', ipv4('0.0.0.0', 0)],
    ['fe80::/10', ipv6('fe80::', 10)],
    ['::1/128', ipv6('::1', 128)],
  ])('is a server or a range of addresses: %s', (text, expected) => {
    expect(readListedServer(text)).toEqual(expected)
  })

  it.each([
    ...['', ' ', '*', ':', ':6443', 'kube.example:', 'kube.example:0', 'kube.example:65536', 'kube.example:x', 'a b'],
    ...[
      'https://kube.example',
      'kube.example/',
      'kube.example/path',
      'user@kube.example',
      '*.example',
      'kube.example?a',
    ],
    ...[
      '127.0.0.0/33',
      '127.0.0.0/',
      '127.0.0.0/-1',
      '127.1/8',
      '256.0.0.1/8',
      '127.0.0/8',
      '256.0.0.1',
      '1.2.3.4/8/8',
    ],
    ...[
      'fe80::/129',
      '[fe80::]/10',
      'fe80::%eth0/10',
      '[::1',
      '[::1]6443',
      '[kube.example]:1',
      ':::',
      'kube.example/8',
    ],
  ])('is nothing else: %j', (text) => {
    expect(readListedServer(text)).toBeUndefined()
  })
})
