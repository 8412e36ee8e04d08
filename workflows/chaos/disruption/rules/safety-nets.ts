// The safety nets of safe mode: limits against Disruptions that affect more than their author may intend. Source:
// spec/chaos.md 2.11.
//
// N1. An author disables a safety net by its flag in unsafeMode, or all of them by disableAll.
// N2. An author cannot allow what the operators forbid: level node and node failures.

import type { Problem } from '../../../kit/index.ts'
import { fieldsOf, has, type JsonFields, listOf, textOf } from '../../json-fields.ts'

export interface SafeMode {
  readonly enable: boolean
  /** Percent. */
  readonly namespaceThreshold: number
  readonly clusterThreshold: number
  readonly allowNodeFailure: boolean
  readonly allowNodeLevel: boolean
}

/** The objects that the Disruption could disturb. */
export interface Population {
  /** The number of targets by count or percentage. */
  readonly targets: number
  /** The pods in the namespace; undefined at level node. */
  readonly inNamespace: number | undefined
  /** The pods in the cluster, at level node the nodes. */
  readonly inCluster: number
}

export function safetyNetProblems(value: unknown, safeMode: SafeMode, population: Population): readonly Problem[] {
  const spec = fieldsOf(value)
  if (!safeMode.enable) return []
  const unsafe = fieldsOf(spec['unsafeMode'])
  return [
    ...forbiddenNodeProblems(spec, safeMode),
    ...(isOn(unsafe, 'disableCountTooLarge') ? countProblems(unsafe, safeMode, population) : []),
    ...shapeProblems(spec, safeMode),
  ]
}

/** The safety nets that depend on the spec alone. */
export function shapeProblems(spec: JsonFields, { enable }: Pick<SafeMode, 'enable'>): readonly Problem[] {
  if (!enable) return []
  const unsafe = fieldsOf(spec['unsafeMode'])
  return [
    ...(isOn(unsafe, 'disableNeitherHostNorPort') ? wholeNetworkProblems(spec) : []),
    ...(isOn(unsafe, 'allowRootDiskFailure') ? rootDiskProblems(spec) : []),
  ]
}

/** N1 */
function isOn(unsafe: JsonFields, flag: string): boolean {
  return unsafe['disableAll'] !== true && unsafe[flag] !== true
}

/** N2 */
export function forbiddenNodeProblems(
  spec: JsonFields,
  { enable, allowNodeFailure, allowNodeLevel }: Pick<SafeMode, 'enable' | 'allowNodeFailure' | 'allowNodeLevel'>,
): readonly Problem[] {
  if (!enable) return []
  return [
    ...(!allowNodeFailure && has(spec, 'nodeFailure')
      ? [
          {
            field: 'spec.nodeFailure',
            found: 'nodeFailure',
            expected: 'another kind, because safe mode forbids node failures',
          },
        ]
      : []),
    ...(!allowNodeLevel && spec['level'] === 'node'
      ? [{ field: 'spec.level', found: 'node', expected: 'pod, because safe mode forbids nodes' }]
      : []),
  ]
}

function countProblems(unsafe: JsonFields, safeMode: SafeMode, population: Population): readonly Problem[] {
  const own = fieldsOf(fieldsOf(unsafe['config'])['countTooLarge'])
  const threshold = (name: 'namespaceThreshold' | 'clusterThreshold') => {
    const given = own[name]
    return typeof given === 'number' ? given : safeMode[name]
  }
  const { targets, inNamespace, inCluster } = population
  return [
    ...(inNamespace === undefined
      ? []
      : tooManyProblems(targets, inNamespace, threshold('namespaceThreshold'), 'in the namespace')),
    ...tooManyProblems(targets, inCluster, threshold('clusterThreshold'), 'in the cluster'),
  ]
}

function tooManyProblems(targets: number, all: number, percent: number, where: string): readonly Problem[] {
  if (targets * 100 <= percent * all) return []
  const expected = `at most ${percent} percent, or unsafeMode.disableCountTooLarge: true`
  return [{ field: 'spec.count', found: `${targets} of ${all} ${where}`, expected }]
}

function wholeNetworkProblems(spec: JsonFields): readonly Problem[] {
  if (!has(spec, 'network')) return []
  const network = fieldsOf(spec['network'])
  const cloud = Object.values(fieldsOf(network['cloud'])).flatMap(listOf)
  if (listOf(network['hosts']).length + listOf(network['services']).length + cloud.length > 0) return []
  const expected = 'hosts or services, or unsafeMode.disableNeitherHostNorPort: true'
  return [{ field: 'spec.network', found: 'neither hosts nor services', expected }]
}

function rootDiskProblems(spec: JsonFields): readonly Problem[] {
  const paths = listOf(fieldsOf(spec['diskFailure'])['paths'])
  if (spec['level'] !== 'node' || !paths.some((path) => /^\/+$/.test(textOf(path).trim()))) return []
  const expected = 'a path below /, or unsafeMode.allowRootDiskFailure: true'
  return [{ field: 'spec.diskFailure.paths', found: 'the root folder of a node', expected }]
}
