// Which fields of a Disruption go together. Source: spec/chaos.md 1.4 (2 to 7, 9).

import type { Problem } from '../../../kit/index.ts'
import { type InjectorKindField, kindFieldsOf } from '../../contract.ts'
import { has, type JsonFields, listOf } from '../../json-fields.ts'
import { ALONE, OF_ALL_CONTAINERS, OF_PODS, ON_INIT } from '../schema/spec.ts'

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
    .filter((kind) => isOneOf(kind, ALONE) && kinds.length > 1)
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
      .filter((kind) => isOneOf(kind, OF_PODS))
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
      .filter((kind) => !isOneOf(kind, ON_INIT))
      .map((kind) => ({ field: `${at}.${kind}`, found: 'onInit', expected: `with onInit only ${ON_INIT.join(', ')}` })),
    ...(isNode ? [{ field: `${at}.level`, found: 'node', expected: 'pod with onInit' }] : []),
    ...(containers ? [containersWith('onInit', at)] : []),
  ]
}

function containerProblems(kinds: readonly InjectorKindField[], at: string): readonly Problem[] {
  return kinds.filter((kind) => isOneOf(kind, OF_ALL_CONTAINERS)).map((kind) => containersWith(kind, at))
}

function pulseProblems(kinds: readonly InjectorKindField[], at: string): readonly Problem[] {
  return kinds
    .filter((kind) => isOneOf(kind, ALONE))
    .map((kind) => ({ field: `${at}.pulse`, found: kind, expected: `none beside ${kind}, which is done once` }))
}

function containersWith(other: string, at: string): Problem {
  return { field: `${at}.containers`, found: `some, and ${other}`, expected: `none with ${other}` }
}

function isOneOf(kind: InjectorKindField, kinds: readonly InjectorKindField[]): boolean {
  return kinds.includes(kind)
}
