// The network backend of the reference design: shapes traffic with a tree of queueing disciplines, including netem.
// Source: spec/chaos.md 3.6 and 8.2.
//
// T1. Commands are ordered by operation, and within an operation by interface.
// T2. The priority of a filter identifies it: unique in the disruption, counted from 1001; lower priorities match
//   first.
// T3. All filters that pass packets have lower priorities than those that disrupt, also after addresses have changed.

import type { Command, GoneAnswer, Plan, RunCommand, Unsupported } from '../command.ts'
import { CONTAINER_MARK, REFERENCE_PRIOMAP, RULE_COMMENT } from '../marks.ts'
import { type FilterGroup, filterGroups, type GroupFilter, type NetworkRequest, networkRefusals } from './filters.ts'
import {
  RULE_GONE,
  classidPlan,
  containerKeys,
  disruptedInterfaces,
  MAX_FILTERS,
  type PacketMatch,
  shapedProblems,
} from './network-spec.ts'

/** The placed filters with their priorities. */
export interface PlacedGroup {
  readonly of: string
  readonly passes: boolean
  readonly placed: readonly (GroupFilter & { readonly priority: number })[]
}

export interface PlacedFilters {
  readonly groups: readonly PlacedGroup[]
  /** The priority of the next filter. */
  readonly next: number
}

export type ReferencePlan = Plan & { readonly placed: PlacedFilters }

const FIRST_PRIORITY = 1001
const FLAT_PRIOMAP = Array.from({ length: 16 }, () => '0').join(' ')
/** tc's exit code if a root or filter does not exist. */
const TC_GONE: readonly GoneAnswer[] = [{ code: 2 }]
const DEFAULT_QLEN = 1000

/** Plans the tree, the filters, and the marking of the container's packets. */
export function planReference(ask: NetworkRequest): ReferencePlan | Unsupported {
  const { common, facts } = ask
  const groups = filterGroups(ask)
  const count = groups.reduce((sum, { filters }) => sum + filters.length, 0)
  const refused = [
    ...networkRefusals(ask),
    // The undo removes the root, even if another program has set it.
    ...shapedProblems(disruptedInterfaces(facts.interfaces, common.level)),
    ...(count > MAX_FILTERS ? [`the disruption needs ${count} filters; expected at most ${MAX_FILTERS}`] : []),
  ]
  if (refused.length > 0) return { unsupported: refused }
  const interfaces = disruptedInterfaces(facts.interfaces, common.level)
  const short = interfaces.filter(({ qlen }) => qlen === 0).map(({ name }) => name)
  const { commands, placed } = place(groups, FIRST_PRIORITY)
  const marking = isOfContainer(ask) ? markContainers(ask) : { apply: [], undo: [] }
  return {
    apply: [
      ...short.map((name) => setQlen(name, DEFAULT_QLEN)),
      ...tree(
        ask,
        interfaces.map(({ name }) => name),
      ),
      ...short.map((name) => setQlen(name, 0)),
      ...commands,
      ...marking.apply,
    ],
    undo: [
      ...interfaces.map(({ name }): Command => tc(`qdisc del dev ${name} root`, TC_GONE)),
      ...short.map((name) => setQlen(name, 0)),
      ...marking.undo,
    ],
    placed,
  }
}

/** The commands that update the filters after names resolve to other addresses; empty if none has changed. */
export function updateReference(
  before: PlacedFilters,
  ask: NetworkRequest,
): { readonly commands: readonly Command[]; readonly placed: PlacedFilters } | Unsupported {
  const newGroups = filterGroups(ask)
  const count = newGroups.reduce((sum, { filters }) => sum + filters.length, 0)
  if (count > MAX_FILTERS)
    return { unsupported: [`the disruption needs ${count} filters; expected at most ${MAX_FILTERS}`] }
  const changed = newGroups.map((group, index) => !isSame(group, before.groups[index]))
  const firstPassing = newGroups.findIndex(({ passes }, index) => passes && changed[index] === true)
  // T3: the following groups need higher priorities.
  const isReplaced = newGroups.map(
    (_, index) => changed[index] === true || (firstPassing !== -1 && index > firstPassing),
  )
  const removed = before.groups.filter((_, index) => isReplaced[index] === true).flatMap(({ placed }) => placed)
  const fresh = place(
    newGroups.filter((_, index) => isReplaced[index] === true),
    before.next,
  )
  const added = [...fresh.placed.groups]
  const groups = newGroups.map((_, index) => (isReplaced[index] === true ? added.shift() : before.groups[index]))
  return {
    commands: [...removed.flatMap(({ interfaces, priority }) => removeFilter(interfaces, priority)), ...fresh.commands],
    placed: { groups: groups.filter((group) => group !== undefined), next: fresh.placed.next },
  }
}

function isSame(group: FilterGroup, placed: PlacedGroup | undefined): boolean {
  const plain = placed?.placed.map(({ match, interfaces }) => ({ match, interfaces }))
  return JSON.stringify(plain) === JSON.stringify(group.filters)
}

function removeFilter(interfaces: readonly string[], priority: number): readonly Command[] {
  return interfaces.map((name) => tc(`filter delete dev ${name} priority ${priority}`, TC_GONE))
}

function place(groups: readonly FilterGroup[], first: number) {
  let next = first
  const placed = groups.map(({ of, passes, filters }) => ({
    of,
    passes,
    placed: filters.map((filter) => ({ ...filter, priority: next++ })),
  }))
  const commands = placed.flatMap(({ passes, placed: filters }) =>
    filters.flatMap(({ match, interfaces, priority }) =>
      interfaces.map((name) => addFilter({ name, priority, match, band: passes ? '1:1' : '1:4' })),
    ),
  )
  return { commands, placed: { groups: placed, next } }
}

interface AddedFilter {
  readonly name: string
  readonly priority: number
  readonly match: PacketMatch | 'arp'
  readonly band: string
}

function addFilter({ name, priority, match, band }: AddedFilter): Command {
  const protocol = match === 'arp' ? 'arp' : 'ip'
  const keys = match === 'arp' ? '' : `${flowerKeys(match)} `
  return tc(`filter add dev ${name} protocol ${protocol} priority ${priority} parent 1:0 flower ${keys}flowid ${band}`)
}

function flowerKeys({ protocol, flow, ip, port, connState }: PacketMatch): string {
  const side = flow === 'egress' ? 'dst' : 'src'
  return [
    `ip_proto ${protocol}`,
    ...(ip === undefined ? [] : [`${side}_ip ${ip.includes('/') ? ip : `${ip}/32`}`]),
    ...(port === undefined ? [] : [`${side}_port ${port}`]),
    ...(connState === undefined ? [] : [`ct_state +trk+${connState}`]),
  ].join(' ')
}

/** Packets of one container can be distinguished only if the pod's containers already run. */
function isOfContainer({ common }: NetworkRequest): boolean {
  return common.level === 'pod' && !common.onInit
}

function tree(ask: NetworkRequest, names: readonly string[]): readonly Command[] {
  const operations = [
    `root handle 1: prio bands 4 priomap ${REFERENCE_PRIOMAP}`,
    ...(isOfContainer(ask) ? [`parent 1:4 handle 2: prio bands 2 priomap ${FLAT_PRIOMAP}`] : []),
  ].map((what) => (name: string) => tc(`qdisc add dev ${name} ${what}`))
  const filter = ask.facts.hasFwFilter ? 'fw' : 'flower'
  const byMark = (name: string) =>
    tc(`filter add dev ${name} protocol ip parent 2:0 handle ${CONTAINER_MARK} ${filter} flowid 2:2`)
  const all = [...operations, ...(isOfContainer(ask) ? [byMark] : []), ...effects(ask)]
  return all.flatMap((operation) => names.map(operation))
}

function effects(ask: NetworkRequest): readonly ((name: string) => Command)[] {
  const { bandwidthLimit: limit } = ask.spec
  const first = isOfContainer(ask) ? { parent: '2:2', handle: 3 } : { parent: '1:4', handle: 2 }
  const netem = netemArguments(ask)
  const below = netem === '' ? first : { parent: `${first.handle}:`, handle: first.handle + 1 }
  const add =
    ({ parent, handle }: typeof first, what: string) =>
    (name: string) =>
      tc(`qdisc add dev ${name} parent ${parent} handle ${handle}: ${what}`)
  return [
    ...(netem === '' ? [] : [add(first, `netem ${netem}`)]),
    // tc interprets a bare number as bits, so the reference's limit is eight times as strict as specified.
    ...(limit === 0 ? [] : [add(below, `tbf rate ${limit}bps latency 50ms burst ${limit}`)]),
  ]
}

function netemArguments({ spec }: NetworkRequest): string {
  return [
    ...(spec.delayMs === 0 ? [] : [`delay ${spec.delayMs}ms ${jitterMs(spec.delayMs, spec.delayJitter)}ms`]),
    ...(spec.drop === 0 ? [] : [`loss ${spec.drop}%`]),
    ...(spec.duplicate === 0 ? [] : [`duplicate ${spec.duplicate}%`]),
    ...(spec.corrupt === 0 ? [] : [`corrupt ${spec.corrupt}%`]),
  ].join(' ')
}

/** Source: spec/chaos.md 3.6: ten percent by default, and at least 1 ms. */
function jitterMs(delayMs: number, percent: number): number {
  return Math.max(1, Math.floor((delayMs * (percent === 0 ? 10 : percent)) / 100))
}

function markContainers({ facts: { containers } }: NetworkRequest): Plan {
  const rule = (action: string, table: string, what: string): RunCommand => ({
    do: 'run',
    in: 'target',
    argv: ['iptables', '-w', '-t', table, ...action.split(' '), ...what.split(' ')],
    ...(action.startsWith('-D') ? { gone: RULE_GONE } : {}),
  })
  // Enables connection tracking in the namespace, which ct_state needs.
  const tracking = `-m state --state NEW,ESTABLISHED -m comment --comment ${RULE_COMMENT}`
  const keys = containers.length === 0 ? [''] : containerKeys(containers).map((key) => `${key} `)
  const markings = keys.map((key) => `${key}-m comment --comment ${RULE_COMMENT} -j MARK --set-mark ${CONTAINER_MARK}`)
  const classids = classidPlan(containers)
  return {
    apply: [
      rule('-I OUTPUT 1', 'nat', tracking),
      ...classids.apply,
      ...markings.map((marking) => rule('-I POSTROUTING 1', 'mangle', marking)),
    ],
    undo: [
      rule('-D OUTPUT', 'nat', tracking),
      ...markings.map((marking) => rule('-D POSTROUTING', 'mangle', marking)),
      ...classids.undo,
    ],
  }
}

function setQlen(name: string, qlen: number): Command {
  // An interface that was removed with its pod has no queue to restore.
  const gone = [{ code: 1, says: 'Cannot find device' }]
  return { do: 'run', in: 'target', argv: ['ip', 'link', 'set', 'dev', name, 'txqueuelen', String(qlen)], gone }
}

function tc(line: string, gone?: readonly GoneAnswer[]): Command {
  return { do: 'run', in: 'target', argv: ['tc', ...line.split(' ')], ...(gone === undefined ? {} : { gone }) }
}
