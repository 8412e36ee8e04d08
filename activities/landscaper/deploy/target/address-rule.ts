// Where Targets must not lead: to the worker's own machine and to what only that machine can ask (its node, the metadata of a cloud), and nowhere without TLS.
// What the operator lists is let through. Source: docs/security.md "Where Targets lead", docs/adr/0036.
//
//   A1. It is asked with the address that is connected to, not with one that was looked up before.
//   A2. An IPv6 address that stands for an IPv4 address is judged as that one.

import { BlockList, isIP } from 'node:net'

import { type ListedServer, readListedServer } from '../../../../workflows/landscaper/listed-server.ts'

export interface AddressRule {
  /** Why a server must not be spoken to as its URL says; undefined when it may. */
  serverRefusal(server: string): string | undefined
  /** Why a connection to the server must not lead to this address. */
  addressRefusal(server: string, address: string): string | undefined
}

const FLAG = '--target-allow'

/** @param listed entries of the flag. @throws a plain Error (a bug) for one that is none: they are checked before. */
export function createAddressRule(listed: readonly string[]): AddressRule {
  const entries = listed.map((text) => {
    const entry = readListedServer(text)
    if (entry === undefined) throw new Error(`${FLAG} has "${text}", which was not refused before`)
    return entry
  })
  const listedAddresses = new BlockList()
  for (const one of entries) if ('prefix' in one) listedAddresses.addSubnet(one.address, one.prefix, one.family)
  const isListed = (url: URL) => entries.some((one) => 'host' in one && isSameServer(one, url))
  return {
    serverRefusal(server) {
      const url = new URL(server)
      if (url.protocol === 'https:' || isListed(url)) return undefined
      return `its server ${url.origin} is spoken to without TLS; expected https, or ${placeOf(url)} in ${FLAG} of the worker`
    },
    addressRefusal(server, found) {
      const url = new URL(server)
      // A zone says through which of the machine's networks.
      const address = found.split('%')[0] ?? ''
      const what = kindOf(address)
      if (what === undefined || isListed(url) || isIn(listedAddresses, address)) return undefined
      return `its server ${url.origin} is at ${found}, ${what}; expected another address, or ${placeOf(url)} in ${FLAG} of the worker`
    },
  }
}

function isSameServer({ host, port }: Extract<ListedServer, { readonly host: string }>, url: URL): boolean {
  return host === url.hostname && (port === undefined || port === portOf(url))
}

const portOf = ({ port, protocol }: URL) => (port !== '' ? Number(port) : protocol === 'http:' ? 80 : 443)
const placeOf = (url: URL) => `${url.hostname}:${portOf(url)}`

/** What an address that is let through by nobody's default is; undefined of the others. */
function kindOf(address: string): string | undefined {
  if (isIP(address) === 0) return 'which is no address'
  return KINDS.find(([, addresses]) => isIn(addresses, address))?.[0]
}

function isIn(addresses: BlockList, address: string): boolean {
  return addresses.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

// Prefixes of IPv6 behind which an IPv4 address stands in the last 32 bits: compatible, translated (RFC 2765), NAT64 (RFC 6052). Where it stands in the addresses of a
// NAT64 of one's own (RFC 8215) is its operator's choice, so those are refused as a whole. Mapped
// addresses (::ffff:0:0/96) node itself takes for those of IPv4.
const EMBEDDING = ['::', '::ffff:0:', '64:ff9b::']

const KINDS: readonly (readonly [what: string, addresses: BlockList])[] = [
  // Before the next one, which has ::1 among the IPv6 addresses of 0.0.0.0/8.
  ['a loopback address', addressesOf(['127.0.0.0/8'], ['::1/128'])],
  ['an unspecified address', addressesOf(['0.0.0.0/8'], ['::/128'])],
  ['a link-local address', addressesOf(['169.254.0.0/16'], ['fe80::/10'])],
  // RFC 3879: given up, and meant for a site of its own.
  ['a site-local address', addressesOf([], ['fec0::/10'])],
  ['an address that stands for one of IPv4', addressesOf([], ['64:ff9b:1::/48'])],
  // Beside the link-local ones. Sources: documentation of AWS (IPv6), Azure (wire server), Alibaba Cloud, Google Cloud (IPv6), Oracle Cloud
  // (older images), Scaleway (IPv6).
  [
    'an address of the metadata of a cloud',
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

// RFC 3056: the IPv4 address stands behind the first 16 bits.
function sixToFour(subnet: string): [address: string, prefix: number] {
  const [address = '', prefix] = subnet.split('/')
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return [`2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`, 16 + Number(prefix)]
}
