// The network backend for kernels without netem: drops packets by iptables and limits bandwidth by HTB classes. Source:
// spec/chaos.md 8.3.
//
// H1. One transaction of iptables-restore applies all rules, also when addresses change.
// H2. The undo removes only root queueing disciplines with our handle. Another root discipline is a reason to refuse.
// H3. The classes exist before packets are assigned to them.

import type { Command, Plan, RunCommand, Unsupported } from '../command.ts'
import { NETWORK_CHAIN, ROOT_HANDLE, RULE_COMMENT } from '../marks.ts'
import { filterGroups, type NetworkRequest, networkRefusals } from './filters.ts'
import {
  CHAIN_GONE,
  RULE_GONE,
  classidPlan,
  containerKeys,
  disruptedInterfaces,
  MAX_FILTERS,
  type PacketMatch,
  shapedProblems,
} from './network-spec.ts'

/** The class without a limit and the limited class. */
const UNLIMITED_CLASS = `${ROOT_HANDLE}1`
const LIMITED_CLASS = `${ROOT_HANDLE}4`
/** Faster than any link; HTB requires a rate for each class. */
const MAX_RATE = '100gbit'
const DEFAULT_QLEN = 1000

/** Plans the chain, and the classes when the bandwidth is limited. */
export function planIptables(ask: NetworkRequest): Plan | Unsupported {
  const { spec, common, facts } = ask
  const interfaces = disruptedInterfaces(facts.interfaces, common.level)
  const refused = [...networkRefusals(ask), ...refusals(ask)]
  if (refused.length > 0) return { unsupported: refused }
  const names = interfaces.map(({ name }) => name)
  const classes = spec.bandwidthLimit === 0 ? { apply: [], undo: [] } : limitBandwidth(ask, interfaces)
  const classids = isOfContainers(ask) ? classidPlan(facts.containers) : { apply: [], undo: [] }
  return {
    apply: [
      ...classes.apply,
      ...classids.apply,
      restore([...chainRules(ask), ...names.map((name) => `-I POSTROUTING 1 ${jump(name)}`)]),
    ],
    undo: [
      ...names.map((name) => iptables(`-D POSTROUTING ${jump(name)}`)),
      iptables(`-F ${NETWORK_CHAIN}`),
      iptables(`-X ${NETWORK_CHAIN}`),
      ...classes.undo,
      ...classids.undo,
    ],
  }
}

/**
 * The commands that replace the rules after names resolve to other addresses, in one transaction; empty if none has
 * changed.
 */
export function updateIptables(before: NetworkRequest, ask: NetworkRequest): readonly Command[] | Unsupported {
  const refused = [...networkRefusals(ask), ...tooMany(ask)]
  if (refused.length > 0) return { unsupported: refused }
  const rules = chainRules(ask)
  return rules.join('\n') === chainRules(before).join('\n') ? [] : [restore(rules)]
}

function refusals(ask: NetworkRequest): readonly string[] {
  const { spec, common, facts } = ask
  const effects = { delay: spec.delayMs, duplicate: spec.duplicate, corrupt: spec.corrupt }
  const unsupported = Object.entries(effects).flatMap(([name, value]) => (value > 0 ? [name] : []))
  const shaped = spec.bandwidthLimit > 0 ? disruptedInterfaces(facts.interfaces, common.level) : []
  return [
    ...unsupported.map((name) => `${name} needs the queueing discipline netem, which this kernel does not have`),
    ...shapedProblems(shaped),
    ...tooMany(ask),
  ]
}

function tooMany(ask: NetworkRequest): readonly string[] {
  const count = filterGroups(ask).reduce((sum, { filters }) => sum + filters.length, 0)
  return count > MAX_FILTERS ? [`the disruption needs ${count} filters; expected at most ${MAX_FILTERS}`] : []
}

/** The chain for iptables-restore, which empties a chain that the input declares. */
function chainRules(ask: NetworkRequest): readonly string[] {
  const all = disruptedInterfaces(ask.facts.interfaces, ask.common.level).length
  const containers = isOfContainers(ask) ? containerKeys(ask.facts.containers).map((key) => `${key} `) : ['']
  const rules = filterGroups(ask).flatMap(({ passes, filters }) =>
    filters.flatMap(({ match, interfaces }) => {
      if (match === 'arp') return []
      const keys = [...(interfaces.length < all ? interfaces.map((name) => `-o ${name} `) : [''])]
      return keys.flatMap((key) => {
        const packets = `-A ${NETWORK_CHAIN} ${key}${matchKeys(match)}`
        return passes
          ? [`${packets} -j RETURN`]
          : containers.flatMap((container) => disruptionTargets(ask).map((hit) => `${packets} ${container}${hit}`))
      })
    }),
  )
  return [`:${NETWORK_CHAIN} - [0:0]`, ...rules]
}

function disruptionTargets({ spec }: NetworkRequest): readonly string[] {
  const probability = `-m statistic --mode random --probability ${(spec.drop / 100).toFixed(2)} `
  return [
    ...(spec.drop === 0 ? [] : [`${spec.drop === 100 ? '' : probability}-j DROP`]),
    ...(spec.bandwidthLimit === 0 ? [] : [`-j CLASSIFY --set-class ${LIMITED_CLASS}`]),
  ]
}

function isOfContainers({ common, facts }: NetworkRequest): boolean {
  return facts.containers.length > 0 && common.level === 'pod' && !common.onInit
}

/** Ingress is disrupted by its answers: their destination is the client, and their source port is the target's port. */
function matchKeys({ protocol, flow, ip, port, connState }: PacketMatch): string {
  return [
    ...(ip === undefined ? [] : [`-d ${ip}`]),
    `-p ${protocol}`,
    ...(port === undefined ? [] : [`${flow === 'egress' ? '--dport' : '--sport'} ${port}`]),
    ...(connState === undefined ? [] : [`-m conntrack --ctstate ${connState === 'new' ? 'NEW' : 'ESTABLISHED'}`]),
  ].join(' ')
}

function limitBandwidth({ spec }: NetworkRequest, interfaces: readonly { name: string; qlen: number }[]): Plan {
  const limit = `${spec.bandwidthLimit}bps`
  const short = interfaces.filter(({ qlen }) => qlen === 0).map(({ name }) => name)
  const qlen = (name: string, length: number): RunCommand => ({
    do: 'run',
    in: 'target',
    argv: ['ip', 'link', 'set', 'dev', name, 'txqueuelen', String(length)],
    gone: [{ code: 1, says: 'Cannot find device' }],
  })
  const tc = (line: string): RunCommand => ({ do: 'run', in: 'target', argv: ['tc', ...line.split(' ')] })
  return {
    apply: [
      ...short.map((name) => qlen(name, DEFAULT_QLEN)),
      ...interfaces.flatMap(({ name }) => [
        tc(`qdisc add dev ${name} root handle ${ROOT_HANDLE} htb default 1`),
        tc(`class add dev ${name} parent ${ROOT_HANDLE} classid ${UNLIMITED_CLASS} htb rate ${MAX_RATE}`),
        tc(`class add dev ${name} parent ${ROOT_HANDLE} classid ${LIMITED_CLASS} htb rate ${limit} ceil ${limit}`),
      ]),
      ...short.map((name) => qlen(name, 0)),
    ],
    undo: [
      ...interfaces.map(({ name }): Command => ({
        ...tc(`qdisc del dev ${name} root handle ${ROOT_HANDLE}`),
        gone: [{ code: 2 }, { code: 1, says: 'Cannot find device' }],
      })),
      ...short.map((name) => qlen(name, 0)),
    ],
  }
}

function jump(name: string): string {
  return `-o ${name} -m comment --comment ${RULE_COMMENT} -j ${NETWORK_CHAIN}`
}

function restore(rules: readonly string[]): Command {
  const input = ['*mangle', ...rules, 'COMMIT', ''].join('\n')
  return { do: 'run', in: 'target', argv: ['iptables-restore', '--noflush', '-w'], input }
}

function iptables(line: string): Command {
  const gone = line.startsWith('-D') ? RULE_GONE : CHAIN_GONE
  return { do: 'run', in: 'target', argv: ['iptables', '-w', '-t', 'mangle', ...line.split(' ')], gone }
}
