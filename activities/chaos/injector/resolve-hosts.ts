// Resolves host names to IPv4 addresses, with the name servers of the pod, the node, or both. Source: spec/chaos.md
// 3.6.

import { Resolver } from 'node:dns/promises'

import type { NetworkSpec } from '../../../workflows/chaos/injector/invocation.ts'
import type { DnsResolver, HostRule } from '../../../workflows/chaos/host-rule.ts'
import { isAddress } from '../../../workflows/chaos/injector/network/network-spec.ts'
import { textOf } from './log.ts'
import { readText } from './processes.ts'

/** The relevant part of resolv.conf. */
export interface ResolvConf {
  readonly servers: readonly string[]
  readonly search: readonly string[]
  readonly ndots: number
}

export type Lookup = (name: string, servers: readonly string[]) => Promise<readonly string[]>

const TRIES = 3
const TIMEOUT_MS = 2000

/** Queries with retries, and over TCP after a truncated answer. */
export const lookupName: Lookup = async (name, servers) => {
  const resolver = new Resolver({ tries: TRIES, timeout: TIMEOUT_MS })
  resolver.setServers([...servers])
  return await resolver.resolve4(name)
}

/** The addresses by host name; a name without addresses has no entry. */
export async function resolveHosts(
  spec: Pick<NetworkSpec, 'hosts' | 'allowedHosts' | 'dnsPodResolvConf' | 'dnsNodeResolvConf'>,
  lookup: Lookup,
  complain: (host: string, problem: string) => void,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const rules = [...spec.hosts, ...spec.allowedHosts].filter(({ host }) => host !== '' && !isAddress(host))
  const files = { pod: await readConf(spec.dnsPodResolvConf), node: await readConf(spec.dnsNodeResolvConf) }
  const found: Record<string, readonly string[]> = {}
  for (const rule of rules) {
    if (found[rule.host] !== undefined) continue
    const ips = await resolveHost(rule, files, lookup).catch((error: unknown) => {
      complain(rule.host, textOf(error))
      return []
    })
    if (ips.length > 0) found[rule.host] = [...ips].sort()
  }
  return found
}

type Conf = Readonly<Record<'pod' | 'node', ResolvConf | undefined>>

const ORDERS: Readonly<Record<DnsResolver, readonly (keyof Conf)[]>> = {
  pod: ['pod'],
  node: ['node'],
  'pod-fallback-node': ['pod', 'node'],
  'node-fallback-pod': ['node', 'pod'],
}

async function resolveHost({ host, dnsResolver }: HostRule, files: Conf, lookup: Lookup): Promise<readonly string[]> {
  const problems: string[] = []
  const tries = ORDERS[dnsResolver].flatMap((where) => {
    const conf = files[where]
    if (conf === undefined) problems.push(`the resolv.conf of the ${where} cannot be read`)
    return conf === undefined ? [] : candidates(host, conf).map((name) => ({ name, servers: conf.servers }))
  })
  for (const { name, servers } of tries) {
    try {
      const ips = await lookup(name, servers)
      if (ips.length > 0) return ips
    } catch (error) {
      problems.push(textOf(error))
    }
  }
  throw new Error(problems.join('; '))
}

/** A name with at least `ndots` dots is tried unchanged first, other names with the search domains first. */
export function candidates(host: string, { search, ndots }: ResolvConf): readonly string[] {
  if (host.endsWith('.')) return [host]
  const searched = search.map((suffix) => `${host}.${suffix}`)
  return host.split('.').length - 1 >= ndots ? [host, ...searched] : [...searched, host]
}

/** Source: resolv.conf(5): the last `search` line counts. */
export function parseResolvConf(text: string): ResolvConf {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/))
  const option = lines
    .filter(([word]) => word === 'options')
    .flatMap((line) => /^ndots:(\d+)$/.exec(line.find((one) => one.startsWith('ndots:')) ?? '')?.[1] ?? [])
  return {
    servers: lines.flatMap(([word, server]) => (word === 'nameserver' && server !== undefined ? [server] : [])),
    search: lines.findLast(([word]) => word === 'search')?.slice(1) ?? [],
    ndots: Number(option.at(-1) ?? 1),
  }
}

async function readConf(path: string): Promise<ResolvConf | undefined> {
  const text = await readText(path)
  const conf = text === undefined ? undefined : parseResolvConf(text)
  return conf === undefined || conf.servers.length === 0 ? undefined : conf
}
