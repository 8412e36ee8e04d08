// The destinations that Targets must not use: the worker's own machine, destinations that only that machine can reach (its node, the metadata service
// of a cloud), and servers without TLS. Destinations that the operator lists are allowed. Source: docs/concepts/security.md "Where Targets lead",
// docs/adr/0036.
//
//   A1. The rule checks the address of the connection, not the result of an earlier DNS lookup.
//   A2. An IPv6 address that embeds an IPv4 address is checked like that IPv4 address.

import { BlockList, isIP } from 'node:net'
import { type ListedServer, readListedServer } from '../../../../workflows/landscaper/flag-values.ts'

export interface AddressRule {
  /** The reason why the server's URL is not allowed; undefined if it is. */
  serverRefusal(server: string): string | undefined
  /** The reason why a connection to the server must not use this address; undefined if it may. */
  addressRefusal(server: string, address: string): string | undefined
}

const FLAG = '--target-allow'

/** @param listed entries of the flag. @throws a plain Error (a bug) for an invalid entry, because the flag is validated before. */
export function createAddressRule(listed: readonly string[]): AddressRule {
  const entries = listed.map((text) => {
    const entry = readListedServer(text)
    if (entry === undefined) throw new Error(`${FLAG} has "${text}", which is invalid`)
    return entry
  })
  const listedAddresses = new BlockList()
  for (const one of entries) if ('prefix' in one) listedAddresses.addSubnet(one.address, one.prefix, one.family)
  const isListed = (url: URL) => entries.some((one) => 'host' in one && isSameServer(one, url))
  return {
    serverRefusal(server) {
      const url = new URL(server)
      if (url.protocol === 'https:' || isListed(url)) return undefined
      return `server ${url.origin} does not use TLS; use https, or let the operator add ${placeOf(url)} to ${FLAG} of the worker`
    },
    addressRefusal(server, found) {
      const url = new URL(server)
      // The zone of a scoped address.
      const address = found.split('%')[0] ?? ''
      const what = forbiddenRange(address)
      if (what === undefined || isListed(url) || isIn(listedAddresses, address)) return undefined
      return `server ${url.origin} has the address ${found}, ${what}; use another server, or let the operator add ${placeOf(url)} to ${FLAG} of the worker`
    },
  }
}

function isSameServer({ host, port }: Extract<ListedServer, { readonly host: string }>, url: URL): boolean {
  return host === url.hostname && (port === undefined || port === portOf(url))
}

const defaultPort = ({ protocol }: URL) => (protocol === 'http:' ? 80 : 443)
const portOf = (url: URL) => (url.port === '' ? defaultPort(url) : Number(url.port))
const placeOf = (url: URL) => `${url.hostname}:${portOf(url)}`

/** The name of the forbidden range that contains the address; undefined for other addresses. */
function forbiddenRange(address: string): string | undefined {
  if (isIP(address) === 0) return 'not an IP address'
  return KINDS.find(([, addresses]) => isIn(addresses, address))?.[0]
}

function isIn(addresses: BlockList, address: string): boolean {
  return addresses.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

// Prefixes of IPv6 addresses with an IPv4 address in the last 32 bits: compatible, translated (RFC 2765), NAT64 (RFC 6052). In the addresses of a
// local-use NAT64 (RFC 8215) the operator chooses the position, so the whole range is forbidden. Node handles mapped addresses (::ffff:0:0/96) as IPv4.
const EMBEDDING = ['::', '::ffff:0:', '64:ff9b::']

const KINDS: readonly (readonly [what: string, addresses: BlockList])[] = [
  // Before the next entry, whose embedded form of 0.0.0.0/8 contains ::1.
  ['a loopback address', addressesOf(['127.0.0.0/8'], ['::1/128'])],
  ['an unspecified address', addressesOf(['0.0.0.0/8'], ['::/128'])],
  ['a link-local address', addressesOf(['169.254.0.0/16'], ['fe80::/10'])],
  // RFC 3879: deprecated, and meant for one site only.
  ['a site-local address', addressesOf([], ['fec0::/10'])],
  ['an IPv6 address with an embedded IPv4 address', addressesOf([], ['64:ff9b:1::/48'])],
  // In addition to the link-local addresses. Sources: documentation of AWS (IPv6), Azure (wire server), Alibaba Cloud, Google Cloud (IPv6), Oracle
  // Cloud (older images), Scaleway (IPv6).
  [
    'the address of a metadata service of a cloud',
    addressesOf(
      ['168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
      ['fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'],
    ),
  ],
]

function addressesOf(ipv4: readonly string[], ipv6: readonly string[]): BlockList {
  const addresses = new BlockList()
  const add = (subnet: string, family: 'ipv4' | 'ipv6', before = '', bits = 0) => {
    const [address = '', prefix] = subnet.split('/')
    addresses.addSubnet(`${before}${address}`, bits + Number(prefix), family)
  }
  for (const subnet of ipv6) add(subnet, 'ipv6')
  for (const subnet of ipv4) {
    add(subnet, 'ipv4')
    for (const before of EMBEDDING) add(subnet, 'ipv6', before, 96)
    addresses.addSubnet(...sixToFour(subnet), 'ipv6')
  }
  return addresses
}

// RFC 3056: the IPv4 address follows the first 16 bits.
function sixToFour(subnet: string): [address: string, prefix: number] {
  const [address = '', prefix] = subnet.split('/')
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return [`2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`, 16 + Number(prefix)]
}
