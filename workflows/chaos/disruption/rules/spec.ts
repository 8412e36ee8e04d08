// All rules for the spec of a Disruption or a template, for the webhook and for passes without one. They never throw,
// and report all problems together. Source: spec/chaos.md 1.2, 1.4.

import { type Problem, problemText } from '../../../kit/index.ts'
import { INJECTOR_KINDS, type InjectorKindField, kindFieldsOf } from '../../contract.ts'
import {
  fieldsOf,
  has,
  type JsonFields,
  listOf,
  choiceProblems,
  rangeProblems,
  hasValue,
  formatValue,
  textOf,
} from '../../json-fields.ts'
import {
  diskFailureProblems,
  grpcProblems,
  cpuPressureProblems,
  diskPressureProblems,
  memoryPressureProblems,
  podReplacementProblems,
} from './kinds.ts'
import { dnsProblems } from './dns.ts'
import { networkProblems } from './network.ts'
import { targetingProblems } from './targeting.ts'
import { timingProblems } from './timing.ts'
import { EXCLUSIVE_KINDS, WHOLE_POD_KINDS, POD_KINDS, ON_INIT_KINDS } from '../schema/spec.ts'

const KIND_RULES: Readonly<Partial<Record<InjectorKindField, (kind: JsonFields, at: string) => readonly Problem[]>>> = {
  network: networkProblems,
  cpuPressure: cpuPressureProblems,
  memoryPressure: memoryPressureProblems,
  diskPressure: diskPressureProblems,
  diskFailure: diskFailureProblems,
  grpc: grpcProblems,
  dns: dnsProblems,
  podReplacement: podReplacementProblems,
}

export interface SpecRuleOptions {
  /** The path of the spec. Default `spec`. */
  readonly at?: string
  /** The spec is the template of a cron or rollout, which adds the selector of its target. */
  readonly isTemplate?: boolean
}

/** The problems of a spec of any shape. */
export function specProblems(
  value: unknown,
  { at = 'spec', isTemplate = false }: SpecRuleOptions = {},
): readonly Problem[] {
  const spec = fieldsOf(value)
  return [
    ...targetingProblems(spec, at, isTemplate),
    ...combinationProblems(spec, at),
    ...timingProblems(spec, at),
    ...unsafeModeProblems(spec, at),
    ...reportingProblems(spec['reporting'], `${at}.reporting`),
    ...INJECTOR_KINDS.flatMap(({ field }) =>
      has(spec, field) ? (KIND_RULES[field]?.(fieldsOf(spec[field]), `${at}.${field}`) ?? []) : [],
    ),
  ]
}

/** All problems as one text for users, each with its field: `Spec: Network: spec.network: found no effect, …`. */
export function specProblemsText(problems: readonly Problem[]): string {
  return problems.map((problem) => `${prefixOf(problem)}${problemText(problem)}`).join(' | ')
}

function prefixOf({ field }: Problem): string {
  const kind = INJECTOR_KINDS.find((one) => new RegExp(`(?:^|\\.)${one.field}(?:[.[]|$)`).test(field))
  if (kind === undefined) return 'Spec: '
  return `Spec: ${kind.field.charAt(0).toUpperCase()}${kind.field.slice(1)}: `
}

export function combinationProblems(spec: JsonFields, at: string): readonly Problem[] {
  const kinds = kindFieldsOf(spec)
  const containers = listOf(spec['containers']).length > 0
  const isNode = spec['level'] === 'node'
  return [
    ...(kinds.length > 0 ? [] : [{ field: at, found: 'no kind', expected: 'at least one kind, such as network' }]),
    ...aloneProblems(kinds, at),
    ...(isNode ? nodeProblems(kinds, containers, at) : []),
    ...(spec['onInit'] === true ? onInitProblems(kinds, containers, isNode, at) : []),
    ...(containers ? containerProblems(kinds, at) : []),
    ...(has(spec, 'pulse') ? pulseProblems(kinds, at) : []),
  ]
}

function aloneProblems(kinds: readonly InjectorKindField[], at: string): readonly Problem[] {
  return kinds
    .filter((kind) => isOneOf(kind, EXCLUSIVE_KINDS) && kinds.length > 1)
    .map((kind) => ({
      field: `${at}.${kind}`,
      found: `${kinds.filter((one) => one !== kind).join(', ')} beside it`,
      expected: 'no other kind',
    }))
}

function nodeProblems(kinds: readonly InjectorKindField[], containers: boolean, at: string): readonly Problem[] {
  return [
    ...(containers ? [containersWith('level node', at)] : []),
    ...kinds
      .filter((kind) => isOneOf(kind, POD_KINDS))
      .map((kind) => ({ field: `${at}.${kind}`, found: 'level node', expected: 'level pod' })),
  ]
}

function onInitProblems(
  kinds: readonly InjectorKindField[],
  containers: boolean,
  isNode: boolean,
  at: string,
): readonly Problem[] {
  return [
    ...kinds
      .filter((kind) => !isOneOf(kind, ON_INIT_KINDS))
      .map((kind) => ({
        field: `${at}.${kind}`,
        found: 'onInit',
        expected: `only ${ON_INIT_KINDS.join(', ')} with onInit`,
      })),
    ...(isNode ? [{ field: `${at}.level`, found: 'node', expected: 'pod with onInit' }] : []),
    ...(containers ? [containersWith('onInit', at)] : []),
  ]
}

function containerProblems(kinds: readonly InjectorKindField[], at: string): readonly Problem[] {
  return kinds.filter((kind) => isOneOf(kind, WHOLE_POD_KINDS)).map((kind) => containersWith(kind, at))
}

function pulseProblems(kinds: readonly InjectorKindField[], at: string): readonly Problem[] {
  return kinds
    .filter((kind) => isOneOf(kind, EXCLUSIVE_KINDS))
    .map((kind) => ({ field: `${at}.pulse`, found: kind, expected: `no pulse with ${kind}, which happens once` }))
}

function containersWith(other: string, at: string): Problem {
  return { field: `${at}.containers`, found: `containers and ${other}`, expected: `no containers with ${other}` }
}

function isOneOf(kind: InjectorKindField, kinds: readonly InjectorKindField[]): boolean {
  return kinds.includes(kind)
}

const CHANNEL = /^(?:[a-z0-9_-]+|C[A-Z0-9]+)$/
const [LONGEST_CHANNEL, LONGEST_ADDRESS, SHORTEST_PURPOSE] = [80, 320, 10]

export function unsafeModeProblems(spec: JsonFields, at: string): readonly Problem[] {
  const config = fieldsOf(fieldsOf(spec['unsafeMode'])['config'])
  if (!has(config, 'countTooLarge')) return []
  const thresholds = fieldsOf(config['countTooLarge'])
  const field = `${at}.unsafeMode.config.countTooLarge`
  const isEmpty = !has(thresholds, 'namespaceThreshold') && !has(thresholds, 'clusterThreshold')
  return [
    ...(isEmpty ? [{ field, found: 'neither', expected: 'namespaceThreshold or clusterThreshold' }] : []),
    ...rangeProblems(thresholds, field, { namespaceThreshold: [1, 100], clusterThreshold: [1, 100] }),
  ]
}

/** @param at the path of the field `reporting`. */
export function reportingProblems(value: unknown, at: string): readonly Problem[] {
  const reporting = fieldsOf(value)
  const [channel, address] = [textOf(reporting['slackChannel']), textOf(reporting['slackUserEmail'])]
  const purpose = textOf(reporting['purpose'])
  return [
    ...(hasValue(reporting, 'slackChannel') && (channel.length > LONGEST_CHANNEL || !CHANNEL.test(channel))
      ? [{ field: `${at}.slackChannel`, found: formatValue(channel), expected: 'the name or the ID of a channel' }]
      : []),
    ...(address.length > LONGEST_ADDRESS
      ? [
          {
            field: `${at}.slackUserEmail`,
            found: `${address.length} characters`,
            expected: `at most ${LONGEST_ADDRESS}`,
          },
        ]
      : []),
    ...(has(reporting, 'purpose') && purpose.length < SHORTEST_PURPOSE
      ? [{ field: `${at}.purpose`, found: formatValue(purpose), expected: `at least ${SHORTEST_PURPOSE} characters` }]
      : []),
    ...choiceProblems(reporting, at, { minNotificationType: ['Info', 'Success', 'Completion', 'Warning', 'Error'] }),
  ]
}
