// All rules about the spec of a Disruption, or a template of one: for the webhook, and for passes where there is none. None throws, and all that is wrong
// is told at once. Source: spec/chaos.md 1.4.

import { type Problem, problemText } from '../../../kit/index.ts'
import { INJECTOR_KINDS, type InjectorKindField } from '../../contract.ts'
import { fieldsOf, has, type JsonFields } from '../../json-fields.ts'
import { combinationProblems } from './combinations.ts'
import { diskFailureProblems } from './disk-failure.ts'
import { dnsProblems } from './dns.ts'
import { grpcProblems } from './grpc.ts'
import { networkProblems } from './network.ts'
import {
  cpuPressureProblems,
  diskPressureProblems,
  memoryPressureProblems,
  podReplacementProblems,
} from './pressure.ts'
import { reportingProblems, unsafeModeProblems } from './safety.ts'
import { targetingProblems } from './targeting.ts'
import { timingProblems } from './timing.ts'

const OF_KINDS: Readonly<Partial<Record<InjectorKindField, (kind: JsonFields, at: string) => readonly Problem[]>>> = {
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
  /** Where the spec stands. Default `spec`. */
  readonly at?: string
  /** Of a cron or rollout, which brings a selector in. */
  readonly isTemplate?: boolean
}

/** What is wrong with a spec, whatever it is. */
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
      has(spec, field) ? (OF_KINDS[field]?.(fieldsOf(spec[field]), `${at}.${field}`) ?? []) : [],
    ),
  ]
}

/** All problems as one text for people, each with where it belongs: `Spec: Network: spec.network: found no effect, …`. */
export function specProblemsText(problems: readonly Problem[]): string {
  return problems.map((problem) => `${prefixOf(problem)}${problemText(problem)}`).join('; ')
}

function prefixOf({ field }: Problem): string {
  const kind = INJECTOR_KINDS.find((one) => new RegExp(`(?:^|\\.)${one.field}(?:[.[]|$)`).test(field))
  if (kind === undefined) return 'Spec: '
  return `Spec: ${kind.field.charAt(0).toUpperCase()}${kind.field.slice(1)}: `
}
