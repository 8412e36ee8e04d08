// The backend for kernels without netem: drops by iptables, bandwidth by classes of HTB. Source: spec/chaos.md 8.3.
//
//   H1. All rules come in one transaction of iptables-restore: all, or none; also when addresses change.
//   H2. Of root queueing disciplines only one with our handle is removed; one of somebody else is a reason to refuse.
//   H3. The classes are there before packets are sent to them.

import type { Command, Plan, RunCommand, Unsupported } from '../command.ts'
import { NETWORK_CHAIN, ROOT_HANDLE, RULE_COMMENT } from '../marks.ts'
import { filterGroups, type NetworkAsk, networkRefusals } from './filters.ts'
import { CHAIN_GONE, RULE_GONE } from './iptables.ts'
import { classidPlan, containerKeys, disrupted, MAX_FILTERS, type PacketMatch, shapedAlready } from './network-spec.ts'

/** Of the classes: what is not limited, and what is. */
const FREE = `${ROOT_HANDLE}1`
const LIMITED = `${ROOT_HANDLE}4`
/** Beyond any link; HTB has no class without a rate. */
const UNLIMITED = '100gbit'
const USUAL_QLEN = 1000

/** Plans the chain, and the classes when the bandwidth is limited. */
export function planIptables(ask: NetworkAsk): Plan | Unsupported {
  const { spec, common, facts } = ask
  const interfaces = disrupted(facts.interfaces, common.level)
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

/** Replaces the rules after names have got other addresses, in one transaction. Nothing when none has. */
export function updateIptables(before: NetworkAsk, ask: NetworkAsk): readonly Command[] | Unsupported {
  const refused = [...networkRefusals(ask), ...tooMany(ask)]
  if (refused.length > 0) return { unsupported: refused }
  const rules = chainRules(ask)
  return rules.join('\n') === chainRules(before).join('\n') ? [] : [restore(rules)]
}

function refusals(ask: NetworkAsk): readonly string[] {
  const { spec, common, facts } = ask
  const effects = { delay: spec.delayMs, duplicate: spec.duplicate, corrupt: spec.corrupt }
  const asked = Object.entries(effects).flatMap(([name, value]) => (value > 0 ? [name] : []))
  const taken = spec.bandwidthLimit > 0 ? disrupted(facts.interfaces, common.level) : []
  return [
    ...asked.map((name) => `${name} needs the queueing discipline netem, which this kernel does not have`),
    ...shapedAlready(taken),
    ...tooMany(ask),
  ]
}

function tooMany(ask: NetworkAsk): readonly string[] {
  const count = filterGroups(ask).reduce((sum, { filters }) => sum + filters.length, 0)
  return count > MAX_FILTERS ? [`the disruption needs ${count} filters; at most ${MAX_FILTERS} are placed`] : []
}

/** The chain, as iptables-restore takes it: naming it empties it. */
function chainRules(ask: NetworkAsk): readonly string[] {
  const all = disrupted(ask.facts.interfaces, ask.common.level).length
  const containers = isOfContainers(ask) ? containerKeys(ask.facts.containers).map((key) => `${key} `) : ['']
  const rules = filterGroups(ask).flatMap(({ passes, filters }) =>
    filters.flatMap(({ match, interfaces }) => {
      if (match === 'arp') return []
      const keys = [...(interfaces.length < all ? interfaces.map((name) => `-o ${name} `) : [''])]
      return keys.flatMap((key) => {
        const packets = `-A ${NETWORK_CHAIN} ${key}${matchKeys(match)}`
        return passes
          ? [`${packets} -j RETURN`]
          : containers.flatMap((container) => hits(ask).map((hit) => `${packets} ${container}${hit}`))
      })
    }),
  )
  return [`:${NETWORK_CHAIN} - [0:0]`, ...rules]
}

function hits({ spec }: NetworkAsk): readonly string[] {
  return [
    ...(spec.drop === 0
      ? []
      : spec.drop === 100
        ? ['-j DROP']
        : [`-m statistic --mode random --probability ${(spec.drop / 100).toFixed(2)} -j DROP`]),
    ...(spec.bandwidthLimit === 0 ? [] : [`-j CLASSIFY --set-class ${LIMITED}`]),
  ]
}

function isOfContainers({ common, facts }: NetworkAsk): boolean {
  return facts.containers.length > 0 && common.level === 'pod' && !common.onInit
}

/** Answers go to who has asked: of ingress the address is that of the client, the port is the target's own. */
function matchKeys({ protocol, flow, ip, port, connState }: PacketMatch): string {
  return [
    ...(ip === undefined ? [] : [`-d ${ip}`]),
    `-p ${protocol}`,
    ...(port === undefined ? [] : [`${flow === 'egress' ? '--dport' : '--sport'} ${port}`]),
    ...(connState === undefined ? [] : [`-m conntrack --ctstate ${connState === 'new' ? 'NEW' : 'ESTABLISHED'}`]),
  ].join(' ')
}

function limitBandwidth({ spec }: NetworkAsk, interfaces: readonly { name: string; qlen: number }[]): Plan {
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
      ...short.map((name) => qlen(name, USUAL_QLEN)),
      ...interfaces.flatMap(({ name }) => [
        tc(`qdisc add dev ${name} root handle ${ROOT_HANDLE} htb default 1`),
        tc(`class add dev ${name} parent ${ROOT_HANDLE} classid ${FREE} htb rate ${UNLIMITED}`),
        tc(`class add dev ${name} parent ${ROOT_HANDLE} classid ${LIMITED} htb rate ${limit} ceil ${limit}`),
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
